// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/tile_stitch.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "parallax/formats.h"

#include "tools/parallax/file_errors.h"
#include "tools/parallax/map_file.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/output_files.h"
#include "tools/parallax/tile_results.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

// As many as there is room for beside the left picture: one at least, or there would be no plan. More than
// this many do not make it faster.
int rows_of_strips(const TileJob& job, std::size_t held_for_left) {
  const std::size_t limit = memory_limit(job.request), taken = program_bytes(job.plan.device) + held_for_left;
  const int rows = most_rows_to_stitch(job.plan, limit > taken ? limit - taken : 0);
  return std::clamp(rows, 1, 1024);
}

bool is_guided(const TileJob& job) {
  const RefineParameters& refine = job.plan.parameters.refine();
  return refine.weighted_median > 0 || refine.bilateral > 0;
}

class MapStitcher {
 public:
  MapStitcher(const TileJob& job, const std::string& plan_path, const std::string& path)
      : job_(job), plan_path_(plan_path), map_(write_map(path, path, job.plan.format.size)) {}

  PixelShares run() {
    Strips strips;
    strips.read_tile = [&](const Tile& tile, int first_row, const DisparityMap& rows) {
      read_tile(job_, tile, first_row, rows);
    };
    strips.read_left = [&](int first_row, int rows) {
      return left_->part({0, first_row, {size().width, rows}});
    };
    strips.write_rows = [&](int first_row, const DisparityMap& rows) {
      map_->write_rows(first_row, rows.disparity);
      counter_.add(rows.disparity, rows.status);
      const int done = first_row + rows.disparity.size.height;
      show_progress("row " + std::to_string(done) + " of " + std::to_string(size().height) + " put together",
                    static_cast<double>(done) / size().height);
    };
    // First: what opening a picture holds for a while is free again for the strips.
    if (is_guided(job_)) open_left();
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
  PixelCounter counter_;
};

// From a file that is replaced.
void pass_permissions_on(const std::string& target, const std::string& path) {
  struct stat about {};
  const bool exists = ::stat(target.c_str(), &about) == 0;
  if (exists && ::chmod(path.c_str(), about.st_mode & 07777) != 0) fail_file("write", path, errno);
}

}  // namespace

StitchedMap stitch_tiles(const TileJob& job, const std::string& plan_path) {
  const std::string& output = job.request.output;
  const bool is_written_by_rows = has_extension(output, {".pfm", ".tif", ".tiff"});
  const std::string extension = is_written_by_rows ? fs::path(output).extension().string() : ".tiff";
  // Two processes may put the same tiles together: each writes a file of its own.
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

}  // namespace parallax::tool
