// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/merge.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <future>
#include <iomanip>
#include <iostream>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/files/content_hash.h"
#include "tools/files/tiff.h"
#include "tools/jobs/tiles/results.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// A map that is written row by row.
class MapWriter {
 public:
  virtual ~MapWriter() = default;
  // Rows are written from first to last.
  // \throws Error (file)
  virtual void write_rows(int first_row, View<const float> rows) = 0;
  // Syncs everything to disk.
  // \throws Error (file)
  virtual void close() = 0;
};

class TiffMap : public MapWriter {
 public:
  TiffMap(const std::string& path, Size size) : file_(path, size.pixels() * sizeof(float)) {
    file_.begin({size, 1, 32});
  }
  void write_rows(int, View<const float> rows) override {
    file_.write_rows(rows.data, rows.size.height, rows.stride_bytes);
  }
  void close() override {
    file_.end();
    file_.close();
  }

 private:
  TiffWriter file_;
};

// The last row comes first in the file.
class PfmMap : public MapWriter {
 public:
  PfmMap(const std::string& path, Size size)
      : path_(path),
        size_(size),
        header_("Pf\n" + std::to_string(size.width) + " " + std::to_string(size.height) + "\n-1.0\n"),
        file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    static_assert(std::endian::native == std::endian::little, "rows are copied as they are");
    if (file_ < 0) fail_file("write", path_, errno);
    write_at(0, header_.data(), header_.size());
  }
  ~PfmMap() override {
    if (file_ >= 0) ::close(file_);
  }

  void write_rows(int first_row, View<const float> rows) override {
    const std::size_t row_bytes = static_cast<std::size_t>(size_.width) * sizeof(float);
    for (int y = 0; y < rows.size.height; ++y) {
      const auto below = static_cast<std::size_t>(size_.height - 1 - (first_row + y));
      write_at(header_.size() + below * row_bytes, rows.row(y), row_bytes);
    }
  }
  void close() override {
    if (::fsync(file_) != 0) fail_file("write", path_, errno);
    if (::close(std::exchange(file_, -1)) != 0) fail_file("write", path_, errno);
  }

 private:
  void write_at(std::size_t offset, const void* bytes, std::size_t count) {
    const auto* from = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t written = ::pwrite(file_, from, count, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_file("write", path_, errno);
      from += written;
      offset += static_cast<std::size_t>(written);
      count -= static_cast<std::size_t>(written);
    }
  }

  std::string path_;
  Size size_;
  std::string header_;
  int file_;
};

bool is_written_by_rows(const std::string& path) {
  return has_extension(path, {".pfm", ".tif", ".tiff"});
}

std::unique_ptr<MapWriter> write_map(const std::string& path, Size size) {
  if (has_extension(path, {".pfm"})) return std::make_unique<PfmMap>(path, size);
  return std::make_unique<TiffMap>(path, size);
}

// As many rows as fit beside the left picture, at least one; more than the maximum are not faster.
int rows_of_strips(const PairJob& job, std::size_t held_for_left) {
  const std::size_t limit = memory_limit(job.head->search.max_memory),
                    taken = program_bytes(job.plan().device) + held_for_left;
  const int rows = max_rows_to_stitch(job.plan(), limit > taken ? limit - taken : 0);
  return std::clamp(rows, 1, 1024);
}

class MapStitcher {
 public:
  // Writes row offsets only where the plan has them.
  MapStitcher(const PairJob& job, const std::string& path, const std::string& rows_off)
      : job_(job), map_(write_map(path, size())) {
    if (!job.plan().row_offsets) return;
    rows_off_ = write_map(rows_off, size());
    sampler_.emplace(size());
  }

  StitchedMap run(const std::string& path) {
    Strips strips;
    strips.read_tile = [&](const Tile& tile, int first_row, const DisparityMap& rows) {
      read_tile(job_, tile, first_row, rows);
    };
    strips.read_left = [&](int first_row, int rows) {
      left_->read({0, first_row, {size().width, rows}}, left_rows_);
      return left_rows_.view();
    };
    strips.write_rows = [&](int first_row, const DisparityMap& rows) {
      const std::future<void> counted =
          std::async(std::launch::async, [&] { counter_.add(rows.disparity, rows.status); });
      map_->write_rows(first_row, rows.disparity);
      if (rows_off_) {
        rows_off_->write_rows(first_row, rows.row_offset);
        sampler_->add(first_row, rows.disparity, rows.row_offset);
      }
      counted.wait();
      const int done = first_row + rows.disparity.size.height;
      show_progress("row " + std::to_string(done) + " of " + std::to_string(size().height) + " merged",
                    static_cast<double>(done) / size().height);
    };
    // First, so that the memory needed to open the picture is free again for the strips.
    if (job_.plan().parameters.refine().is_guided()) {
      for (std::size_t i = 0; i < 2; ++i) check_unchanged(job_.files[i], job_.head->path, false);
      left_.emplace(job_.files[0].path, job_.options());
      PictureParts right(job_.files[1].path, job_.options());
      left_->stretch_from(value_range(*left_, right));
    }
    stitch(job_.plan(), rows_of_strips(job_, left_ ? left_->memory().held : 0), strips);
    map_->close();
    if (rows_off_) rows_off_->close();
    show_progress("");
    return {path, counter_.shares(), sampler_ ? std::optional(sampler_->summary()) : std::nullopt};
  }

 private:
  Size size() const { return job_.plan().format.size; }

  const PairJob& job_;
  std::unique_ptr<MapWriter> map_, rows_off_;
  std::optional<RowOffsetSampler> sampler_;
  std::optional<PictureParts> left_;
  Picture left_rows_;
  PixelCounter counter_;
};

class Merge {
 public:
  Merge(const JobFile& file, bool keep) : file_(file), results_(file.head()), log_(file.head()), keep_(keep) {
    // Without a folder all tiles are missing.
    if (fs::is_directory(file.head().folder)) lock_.emplace(file.head().folder, TileFolderLock::Use::shared);
  }

  // The pairs from first to last. Returns an exit status.
  int run(int first, int last) {
    for (int number = first; number <= last; ++number) {
      try {
        merge(file_.pair(number));
      } catch (...) {
        const CommandFailure failure = current_failure();
        status_ = worse(status_, failure.status);
        show_progress("");
        if (++undone_ > max_named) continue;
        complain((file_.head().pairs > 1 ? "pair " + std::to_string(number) + ": " : "") + failure.message);
      }
    }
    if (undone_ > max_named) complain("and " + std::to_string(undone_ - max_named) + " more pairs");
    remove_results();
    return status_;
  }

 private:
  static constexpr int max_named = 20;

  void merge(const PairJob& job) {
    // The map of an untiled pair is not this command's.
    if (results_.is_written(job, !job.cut->untiled)) {
      written_.push_back(job.number);
      return;
    }
    job.check_names();
    if (job.plan().row_offsets)
      throw Error(
          ErrorCategory::argument,
          "the tiles in " + job.head->folder +
              " have row offsets, which this command does not write: finish with 'parallax match', the "
              "same options, --rows-off FILE and --resume");
    check_all_done(job);
    make_folder_of(job.output);
    const std::string start = time_text();
    const Clock::time_point begin = Clock::now();
    const StitchedMap map = stitch_tiles(job);
    ordered_json line{{"milliseconds", milliseconds_since(begin)}, {"host", host_name()}, {"start", start}};
    add_map(line, job.number, fs::file_size(job.output), file_hash(job.output));
    log_.add(line);
    if (map.path != job.output) remove_file(map.path);
    written_.push_back(job.number);
    std::cerr << std::fixed << std::setprecision(1) << job.tiles() << " tiles make " << printable(job.output)
              << ", " << 100 * map.shares.valid << " % of pixels have a disparity\n";
  }

  // \throws Error (file) naming the tiles to match again
  void check_all_done(const PairJob& job) {
    std::map<TileState, std::vector<int>> tiles;
    for (const Tile& tile : job.plan().tiles)
      tiles[results_.state(job, tile, true)].push_back(job.number_of(tile));
    const std::string undone = describe_undone(tiles);
    if (!undone.empty())
      throw Error(ErrorCategory::file, "in " + job.head->folder + ", " + undone +
                                           ": match them again with 'parallax match --plan FILE --tile K'");
  }

  // Other processes may still need them: the last one removes them.
  void remove_results() {
    if (keep_ || written_.empty() || !lock_ || !lock_->take_alone()) return;
    for (const int number : written_) remove_tiles(file_.pair(number));
    remove_leftovers(file_.head().folder);
  }

  const JobFile& file_;
  JobResults results_;
  JobLog log_;
  bool keep_;
  std::optional<TileFolderLock> lock_;
  std::vector<int> written_;
  int status_ = done, undone_ = 0;
};

// A map that takes the place of `target`. Two processes may merge the same tiles: each writes its own file,
// in the output's own folder of tiles, or beside `target`, as another folder may lie on another disk.
class MapFile {
 public:
  MapFile(const PairJob& job, const std::string& output, const std::string& target, const std::string& name)
      : target_(target), temporary_(temporary_path(job, output, target, name)) {}

  const std::string& path() const { return temporary_.path(); }
  void take_place() {
    struct stat about {};
    const bool exists = ::stat(target_.c_str(), &about) == 0;
    if (exists && ::chmod(path().c_str(), about.st_mode & 07777) != 0) fail_file("write", path(), errno);
    temporary_.rename_to(target_);
  }
  void stay() { temporary_.forget(); }

 private:
  static std::string temporary_path(const PairJob& job, const std::string& output, const std::string& target,
                                    const std::string& name) {
    const fs::path folder(job.head->folder), there = fs::path(target).parent_path();
    const std::string extension =
        is_written_by_rows(target) ? fs::path(target).extension().string() : ".tiff";
    const bool is_own = folder == output + ".tiles" && there == fs::path(output).parent_path();
    return ((is_own ? folder / "map." : there / ".parallax-").string() + name + process_name()) + extension;
  }

  std::string target_;
  TemporaryFile temporary_;
};

}  // namespace

StitchedMap stitch_tiles(const PairJob& job, const std::string& rows_off) {
  // The target of a link is replaced, not the link.
  const std::string output = behind_links(job.output);
  MapFile disparities(job, output, output, "");
  std::optional<MapFile> rows;
  if (!rows_off.empty())
    rows.emplace(job, output, behind_links(fs::absolute(rows_off).lexically_normal().string()), "rows.");
  const std::string path = disparities.path();
  StitchedMap stitched = MapStitcher(job, path, rows ? rows->path() : "").run(path);
  if (rows) rows->take_place();
  if (is_written_by_rows(output)) {
    disparities.take_place();
    stitched.path = job.output;
  } else {
    write_output(output, encode_disparity(output, read_disparity(path).view()));
    disparities.stay();
  }
  return stitched;
}

int merge_pairs(const JobFile& file, int first, int last, bool keep) {
  return Merge(file, keep).run(first, last);
}

}  // namespace parallax::tool
