#include "tools/parallax/tile_stitch.h"

#include <cerrno>
#include <cmath>
#include <filesystem>

#include <sys/stat.h>

#include "parallax/formats.h"

#include "tools/parallax/file_errors.h"
#include "tools/parallax/map_file.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/tile_results.h"

namespace parallax::tool {
namespace {

namespace fs = std::filesystem;

bool strips_fit(const TileJob& job, int rows, std::size_t room) {
  try {
    return stitch_memory_bytes(job.plan, rows) <= room;
  } catch (const Error&) {
    return false;  // too many pixels for a step
  }
}

// As many as there is room for; more than this many do not make it faster.
int rows_of_strips(const TileJob& job, std::size_t room) {
  int rows = 1024;
  while (rows > 1 && !strips_fit(job, rows, room)) rows /= 2;
  return rows;
}

// Half of what the program itself leaves; the other half is for rows of the left image.
std::size_t room_for_strips(const TileJob& job, std::size_t held_for_left) {
  const std::size_t limit = memory_limit(job.request), taken = program_bytes(job.plan.device) + held_for_left;
  return limit > taken ? (limit - taken) / 2 : 0;
}

bool is_guided(const TileJob& job) {
  return std::visit([](const auto& p) { return p.refine.weighted_median > 0 || p.refine.bilateral > 0; },
                    job.plan.parameters);
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
      show_progress("row " + std::to_string(first_row + rows.disparity.size.height) + " of " +
                    std::to_string(size().height) + " put together");
    };
    // First: what opening a picture holds for a while is free again for the strips.
    if (is_guided(job_)) open_left();
    const std::size_t room = room_for_strips(job_, left_ ? left_->memory().held : 0);
    stitch(job_.plan, rows_of_strips(job_, room), strips);
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

// A file that is replaced passes its permissions on.
void take_place(const std::string& path, const std::string& target) {
  struct stat about {};
  const bool exists = ::stat(target.c_str(), &about) == 0;
  if (exists && ::chmod(path.c_str(), about.st_mode & 07777) != 0) fail_file("write", path, errno);
  if (::rename(path.c_str(), target.c_str()) != 0) fail_file("write", target, errno);
}

}  // namespace

PixelShares stitch_tiles(const TileJob& job, const std::string& plan_path) {
  const std::string& output = job.request.output;
  const bool rows_can_be_written = has_extension(output, {".pfm", ".tif", ".tiff"});
  const std::string extension = rows_can_be_written ? fs::path(output).extension().string() : ".tiff";
  const std::string map = (fs::path(job.folder) / ("map" + extension)).string();
  const PixelShares shares = MapStitcher(job, plan_path, map).run();
  if (rows_can_be_written)
    take_place(map, output);
  else
    write_file(output, encode_disparity(output, read_disparity(map).view()));
  return shares;
}

}  // namespace parallax::tool
