// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/tiles/merge.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <future>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/parallax/command_files.h"
#include "tools/parallax/file_errors.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/options.h"
#include "tools/parallax/output_files.h"
#include "tools/parallax/tiff.h"
#include "tools/parallax/tiles/folder.h"
#include "tools/parallax/tiles/plan.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// A disparity map that is written row by row.
class MapWriter {
 public:
  virtual ~MapWriter() = default;
  // Rows are written from first to last. \throws Error (file)
  virtual void write_rows(int first_row, View<const float> rows) = 0;
  // Syncs everything to disk. \throws Error (file)
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

// A writer for the format of the extension. \throws Error (file)
std::unique_ptr<MapWriter> write_map(const std::string& path, Size size) {
  if (has_extension(path, {".pfm"})) return std::make_unique<PfmMap>(path, size);
  return std::make_unique<TiffMap>(path, size);
}

// As many rows as fit in memory beside the left picture: at least one, or there would be no plan. More than
// this maximum do not make it faster.
int rows_of_strips(const TileJob& job, std::size_t held_for_left) {
  const std::size_t limit = memory_limit(job.request), taken = program_bytes(job.plan.device) + held_for_left;
  const int rows = most_rows_to_stitch(job.plan, limit > taken ? limit - taken : 0);
  return std::clamp(rows, 1, 1024);
}

class MapStitcher {
 public:
  MapStitcher(const TileJob& job, const std::string& plan_path, const std::string& path)
      : job_(job), plan_path_(plan_path), map_(write_map(path, job.plan.format.size)) {}

  PixelShares run() {
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
      counted.wait();
      const int done = first_row + rows.disparity.size.height;
      show_progress("row " + std::to_string(done) + " of " + std::to_string(size().height) + " merged",
                    static_cast<double>(done) / size().height);
    };
    // First, so that the memory needed to open the picture is free again for the strips.
    if (job_.plan.parameters.refine().is_guided()) open_left();
    stitch(job_.plan, rows_of_strips(job_, left_ ? left_->memory().held : 0), strips);
    map_->close();
    show_progress("");
    return counter_.shares();
  }

 private:
  Size size() const { return job_.plan.format.size; }

  void open_left() {
    check_inputs_unchanged(job_, plan_path_);
    left_.emplace(job_.request.left);
  }

  const TileJob& job_;
  const std::string& plan_path_;
  std::unique_ptr<MapWriter> map_;
  std::optional<PictureParts> left_;
  Picture left_rows_;
  PixelCounter counter_;
};

// From a file that is replaced.
void pass_permissions_on(const std::string& target, const std::string& path) {
  struct stat about {};
  const bool exists = ::stat(target.c_str(), &about) == 0;
  if (exists && ::chmod(path.c_str(), about.st_mode & 07777) != 0) fail_file("write", path, errno);
}

// "3, 7 to 12", of numbers in order
std::string text_of_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

// \throws Error (file) naming the tiles to match again
void check_all_done(const TileJob& job) {
  std::map<TileState, std::vector<int>> tiles;
  for (const Tile& tile : job.plan.tiles) tiles[state_of(job, tile)].push_back(tile.number);
  std::string message;
  for (const auto& [state, what] : {std::pair{TileState::missing, "missing"},
                                    {TileState::damaged, "damaged"},
                                    {TileState::foreign, "from another plan"}}) {
    const std::vector<int>& numbers = tiles[state];
    if (numbers.empty()) continue;
    message += (message.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "tile " : "tiles ") +
               text_of_numbers(numbers) + (numbers.size() == 1 ? " is " : " are ") + what;
  }
  if (!message.empty())
    throw Error(ErrorCategory::file, "in " + job.folder + ", " + message +
                                         ": match them again with 'parallax match --plan FILE --tile K'");
}

// Paths in a plan may have become the same file since.
void check_files(const TileJob& job, const std::string& plan_path) {
  const MatchRequest& request = job.request;
  CommandFiles files;
  for (const std::string& path : {request.left, request.right, request.left_mask, request.right_mask})
    files.reads(path);
  files.reads_once(plan_path);
  files.writes(request.output);
}

}  // namespace

StitchedMap stitch_tiles(const TileJob& job, const std::string& plan_path) {
  const std::string& output = job.request.output;
  const bool is_written_by_rows = has_extension(output, {".pfm", ".tif", ".tiff"});
  const std::string extension = is_written_by_rows ? fs::path(output).extension().string() : ".tiff";
  // Two processes may merge the same tiles: each writes its own file.
  const std::string map = (fs::path(job.folder) / ("map." + std::to_string(::getpid()) + extension)).string();
  TemporaryFile temporary(map);
  const PixelShares shares = MapStitcher(job, plan_path, map).run();
  if (!is_written_by_rows) {
    write_output(output, encode_disparity(output, read_disparity(map).view()));
    temporary.forget();
    return {map, shares};
  }
  pass_permissions_on(output, map);
  temporary.rename_to(output);
  return {output, shares};
}

int merge_command(const Arguments& arguments) {
  std::string path;
  bool keep = false;
  Options options("merge", "Merge the tiles of a plan into one map, once all are matched.");
  options.add("PLAN", path, "Plan written by 'parallax plan'").required();
  options.add_flag("--keep", keep, "Keep the folder of the tiles");
  options.read(arguments);

  const TileJob job = read_job(path);
  check_files(job, path);
  // Without a folder all tiles are missing.
  std::optional<TileFolderLock> lock;
  if (fs::is_directory(job.folder)) lock.emplace(job.folder, TileFolderLock::Use::shared);
  check_all_done(job);
  const StitchedMap map = stitch_tiles(job, path);
  // Other processes still need the folder: the last one removes it.
  if (!keep && lock->take_alone())
    remove_tile_folder(job.folder);
  else if (map.path != job.request.output)
    remove_file(map.path);
  std::cerr << std::fixed << std::setprecision(1) << job.count() << " tiles make "
            << printable(job.request.output) << ", " << 100 * map.shares.valid
            << " % of pixels have a disparity\n";
  return done;
}

}  // namespace parallax::tool
