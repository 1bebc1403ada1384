// SPDX-License-Identifier: Apache-2.0
// 'parallax match --plan FILE --tile K': tiles of a plan, for any scheduler.

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>

#include <sys/prctl.h>
#include <unistd.h>

#include "tools/parallax/file_errors.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/options.h"
#include "tools/parallax/tile_folder.h"
#include "tools/parallax/tile_results.h"
#include "tools/parallax/tile_workers.h"

namespace parallax::tool {
namespace {

// Everything that tiles of a job are matched with.
class TileRunner {
 public:
  explicit TileRunner(const TileJob& job)
      : job_(job),
        left_(job.request.left),
        right_(job.request.right),
        matcher_(job.plan),
        disparity_(job.plan.tiles.front().around.size),
        status_(disparity_.size()) {
    open_mask(job.request.left_mask, left_mask_);
    open_mask(job.request.right_mask, right_mask_);
  }

  void run(const Tile& tile) {
    const DisparityMap map{part_of(disparity_, tile), part_of(status_, tile)};
    const StereoPair pair{left_.part(tile.around), right_.part(tile.around), mask_part(left_mask_, tile),
                          mask_part(right_mask_, tile)};
    matcher_.run(tile, pair, map);
    write_tile(job_, tile, map.disparity, map.status);
  }

 private:
  void open_mask(const std::string& path, std::optional<PictureParts>& mask) {
    if (!path.empty()) mask.emplace(path);
  }

  static View<const std::uint8_t> mask_part(std::optional<PictureParts>& mask, const Tile& tile) {
    if (!mask) return {};
    const ImageView part = mask->part(tile.around);
    return {static_cast<const std::uint8_t*>(part.data), part.format.size, part.stride_bytes};
  }

  // As large as what the tile decides.
  template <class T>
  static View<T> part_of(Plane<T>& plane, const Tile& tile) {
    return {plane.row(0), tile.inside.size, plane.view().stride};
  }

  const TileJob& job_;
  PictureParts left_, right_;
  std::optional<PictureParts> left_mask_, right_mask_;
  TileMatcher matcher_;
  Plane<float> disparity_;  // of any tile
  Plane<std::uint8_t> status_;
};

const Tile& find_tile(const TileJob& job, const std::string& text) {
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number < 0 || number >= job.count())
    throw UsageError("--tile is '" + text + "': this plan has tiles 0 to " + std::to_string(job.count() - 1) +
                     "; - reads numbers from standard input");
  return job.plan.tiles[static_cast<std::size_t>(number)];
}

void answer(const Tile& tile, TileRunner& runner) {
  const auto begin = std::chrono::steady_clock::now();
  runner.run(tile);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  std::cout << to_line({tile.number, time.count(), peak_memory_bytes()}) << std::flush;
}

// A process that another one started ends with it: a later match may begin in the same folder.
void end_with_parent(int parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    throw Error(ErrorCategory::internal, std::string("prctl: ") + std::strerror(errno));
  // It may have ended before.
  if (::getppid() != parent) ::raise(SIGKILL);
}

}  // namespace

int match_planned_tiles(const Arguments& arguments) {
  std::string path, number;
  int parent = 0;
  Options options("match", "Match tiles of a plan, which says what they are matched by.");
  options.add("--plan FILE", path, "Plan that 'parallax plan' wrote").required();
  options
      .add("--tile N", number,
           "Number of a tile; - = numbers from standard input, one a line. A line of JSON on standard output "
           "follows each tile that is written")
      .required();
  options.add("--parent N", parent, "");
  options.hide({"--parent"});
  options.read(arguments);

  if (parent > 0) end_with_parent(parent);
  const TileJob job = read_job(path);
  check_inputs_unchanged(job, path);
  if (number != "-") find_tile(job, number);
  OutputFolders folders;
  folders.make(job.folder);
  // A process that another one started works under that one's lock.
  std::optional<TileFolderLock> lock;
  if (parent == 0) lock.emplace(job.folder, TileFolderLock::Use::shared);
  TileRunner runner(job);
  if (number != "-") {
    answer(find_tile(job, number), runner);
    return done;
  }
  // Who asked may be gone: then nobody waits for more.
  for (std::string line; std::cout && std::getline(std::cin, line);) answer(find_tile(job, line), runner);
  return done;
}

}  // namespace parallax::tool
