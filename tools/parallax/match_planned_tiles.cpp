// 'parallax match --plan FILE --tile K': tiles of a plan, for any scheduler.

#include <charconv>
#include <chrono>
#include <functional>
#include <iostream>

#include "tools/parallax/command_line.h"
#include "tools/parallax/memory.h"
#include "tools/parallax/tile_results.h"
#include "tools/parallax/tile_workers.h"

namespace parallax::tool {
namespace {

// Everything that tiles of a job are matched with.
class TileRunner {
 public:
  explicit TileRunner(const TileJob& job)
      : job_(job), left_(job.request.left), right_(job.request.right), matcher_(job.plan) {
    open_mask(job.request.left_mask, left_mask_);
    open_mask(job.request.right_mask, right_mask_);
  }

  void run(const Tile& tile) {
    const Size size = tile.inside.size;
    if (disparity_.size() != size) {
      disparity_ = Plane<float>(size);
      status_ = Plane<std::uint8_t>(size);
    }
    const StereoPair pair{left_.part(tile.around), right_.part(tile.around), mask_part(left_mask_, tile),
                          mask_part(right_mask_, tile)};
    matcher_.run(tile, pair, {disparity_.view(), status_.view()});
    write_tile(job_, tile, disparity_.view(), status_.view());
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

  const TileJob& job_;
  PictureParts left_, right_;
  std::optional<PictureParts> left_mask_, right_mask_;
  TileMatcher matcher_;
  Plane<float> disparity_;
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

}  // namespace

int match_planned_tiles(const Arguments& arguments) {
  std::string path, number;
  CommandLine app("match", "Match tiles of a plan; what a tile is matched by, the plan says");
  app.add_option("--plan", path, "What 'parallax plan' wrote")->required();
  app.add_option(
         "--tile", number,
         "Number of a tile; - = numbers from standard input, a line each, until it ends. Of each tile "
         "that is on the disk, a line of JSON says so")
      ->required();
  app.read(arguments);

  const TileJob job = read_job(path);
  check_inputs_unchanged(job, path);
  if (number != "-") find_tile(job, number);
  make_folder(job.folder);
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
