// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <list>
#include <map>
#include <string>

#include "core/checks.h"
#include "core/copy_rows.h"
#include "partition/partition.h"

namespace parallax {
namespace {

ImageFormat format_of_tiles(const TilePlan& plan) {
  partition::check_tiles(plan);
  return {plan.tiles.front().around.size, plan.format.depth};
}

// Remembered tuning is not used if it needs more memory than was planned.
PlanLimits limits_of_matcher(const TilePlan& plan) {
  const std::size_t beside = partition::bytes_beside_matcher(format_of_tiles(plan));
  return {plan.tile_memory_bytes > beside ? plan.tile_memory_bytes - beside : 0, plan.configuration};
}

template <class T>
View<T> part_of(const View<T>& view, const Rectangle& part) {
  return {view.row(part.y) + part.x, part.size, view.stride_bytes};
}

View<const std::uint8_t> part_of_mask(const View<const std::uint8_t>& mask, const Rectangle& part) {
  return mask.empty() ? mask : part_of(mask, part);
}

ImageView part_of(const ImageView& image, const Rectangle& part) {
  const int pixel_bytes = image.channels * static_cast<int>(bytes_per_sample(image.format.depth));
  return {
      static_cast<const std::byte*>(image.row(part.y)) + static_cast<std::ptrdiff_t>(part.x) * pixel_bytes,
      {part.size, image.format.depth},
      image.channels,
      image.stride_bytes};
}

StereoPair part_of(const StereoPair& pair, const Rectangle& part) {
  return {part_of(pair.left, part), part_of(pair.right, part), part_of_mask(pair.left_mask, part),
          part_of_mask(pair.right_mask, part), pair.costs};
}

DisparityMap part_of(const DisparityMap& map, const Rectangle& part) {
  return {part_of(map.disparity, part), part_of(map.status, part)};
}

// The part that a tile decides, within the map of its surroundings.
Rectangle inside_of(const Tile& tile) {
  return {tile.inside.x - tile.around.x, tile.inside.y - tile.around.y, tile.inside.size};
}

template <class T>
void copy(const View<T>& from, const View<T>& to, const Workers& workers) {
  copy_rows(const_rows_of(from), rows_of(to), static_cast<std::size_t>(from.size.width) * sizeof(T),
            from.size.height, workers);
}

void copy(const DisparityMap& from, const DisparityMap& to, const Workers& workers) {
  copy(from.disparity, to.disparity, workers);
  copy(from.status, to.status, workers);
}

void check_no_confidence(const DisparityMap& map) {
  if (map.confidence.empty()) return;
  throw Error(ErrorCategory::argument, "tiles do not report confidence: leave out that map");
}

void check_all(const TilePlan& plan, const StereoPair& pair, const DisparityMap& map) {
  const auto check = [&](const char* which, const ImageView& image) {
    check_image(which, image);
    if (image.format != plan.format)
      throw Error(ErrorCategory::argument,
                  std::string(which) + " is " + text(image.format.size) + " with " +
                      std::to_string(static_cast<int>(image.format.depth)) + " bits, tiles are planned for " +
                      text(plan.format.size) + " with " +
                      std::to_string(static_cast<int>(plan.format.depth)) + ": plan again");
  };
  check("left image", pair.left);
  check("right image", pair.right);
  check_mask("left mask", pair.left_mask, plan.format.size);
  check_mask("right mask", pair.right_mask, plan.format.size);
  check_view("disparity map", map.disparity, plan.format.size);
  check_view("status map", map.status, plan.format.size);
  check_no_confidence(map);
}

}  // namespace

TileMatcher::TileMatcher(const TilePlan& plan)
    : matcher_(partition::tile_parameters(plan.parameters), plan.device, format_of_tiles(plan),
               limits_of_matcher(plan)),
      tiles_(plan.tiles),
      threads_(plan.device.threads),
      disparity_(plan.tiles.front().around.size),
      status_(plan.tiles.front().around.size) {}

void TileMatcher::run(const Tile& tile, const StereoPair& around, const DisparityMap& inside) {
  const auto number = static_cast<std::size_t>(tile.number);
  if (number >= tiles_.size() || tiles_[number] != tile)
    throw Error(ErrorCategory::argument,
                "tile " + std::to_string(tile.number) + " is not in the plan: give one of its tiles");
  check_view("disparity map", inside.disparity, tile.inside.size);
  check_view("status map", inside.status, tile.inside.size);
  check_no_confidence(inside);
  const DisparityMap map{disparity_.view(), status_.view()};
  matcher_.run(around, map);
  copy(part_of(map, inside_of(tile)), inside, Workers(threads_));
}

namespace {

// Stitches the map of which every tile has its part, in place.
void stitch_in_place(const TilePlan& plan, const StereoPair& pair, const DisparityMap& map) {
  const Workers workers(1);
  Strips strips;
  strips.read_tile = [&](const Tile& tile, int first_row, const DisparityMap& rows) {
    copy(part_of(map, {tile.inside.x, first_row, rows.disparity.size}), rows, workers);
  };
  strips.read_left = [&](int first_row, int rows) {
    return part_of(pair.left, {0, first_row, {plan.format.size.width, rows}});
  };
  // stitch() writes no row that it has yet to read.
  strips.write_rows = [&](int first_row, const DisparityMap& rows) {
    copy(rows, part_of(map, {0, first_row, rows.disparity.size}), workers);
  };
  // Uses at most the memory of a tile, but stitches at least one row, which plan_tiles() found to fit.
  stitch(plan, std::max(1, most_rows_to_stitch(plan, plan.tile_memory_bytes)), strips);
}

// Matches the tiles of a pair on several devices.
class TilePool {
 public:
  TilePool(const TilePlan& plan, const std::vector<Device>& devices, const StereoPair& pair,
           const DisparityMap& map)
      : plan_(plan),
        pair_(pair),
        map_(map),
        pool_(partition::tile_parameters(plan.parameters), devices, limits_of_pool(plan)) {
    // One for each that is being matched, and one that is ready when a device gets free.
    const auto count = static_cast<std::size_t>(pool_.matchers(format_of_tiles(plan))) + 1;
    for (std::size_t i = 0; i < std::min(count, plan.tiles.size()); ++i)
      free_.emplace_back(plan.tiles.front().around.size);
  }

  void run(const TileProgress& progress) {
    std::size_t done = 0;
    const auto finish_one = [&] {
      finish_any();
      if (progress) progress(++done, plan_.tiles.size());
    };
    for (const Tile& tile : plan_.tiles) {
      if (free_.empty()) finish_one();
      begin(tile);
    }
    while (!running_.empty()) finish_one();
  }

 private:
  struct Buffer {
    explicit Buffer(Size size) : disparity(size), status(size) {}
    DisparityMap map() { return {disparity.view(), status.view()}; }
    Plane<float> disparity;
    Plane<std::uint8_t> status;
  };
  using Buffers = std::list<Buffer>;

  static PoolLimits limits_of_pool(const TilePlan& plan) {
    const PlanLimits limits = limits_of_matcher(plan);
    return {.max_memory_bytes = limits.max_memory_bytes,
            .matchers_per_gpu = 1,
            .configuration = limits.configuration};
  }

  void begin(const Tile& tile) {
    Buffers& buffer = running_[pool_.submit(part_of(pair_, tile.around), free_.front().map())];
    buffer.splice(buffer.end(), free_, free_.begin());
  }

  // Pairs are numbered as tiles.
  void finish_any() {
    try {
      const std::uint64_t number = pool_.wait_any().value().number;
      const Tile& tile = plan_.tiles[number];
      auto running = running_.extract(number);
      Buffer& buffer = running.mapped().front();
      copy(part_of(buffer.map(), inside_of(tile)), part_of(map_, tile.inside), Workers(1));
      free_.splice(free_.end(), running.mapped());
    } catch (const PairError& error) {
      throw Error(error.category(), "tile " + std::to_string(error.number()) + ": " + error.reason(),
                  error.may_pass());
    }
  }

  const TilePlan& plan_;
  const StereoPair& pair_;
  const DisparityMap& map_;
  Buffers free_;
  std::map<std::uint64_t, Buffers> running_;
  MatcherPool pool_;  // destroyed first
};

}  // namespace

void match_in_tiles(const TilePlan& plan, const StereoPair& pair, const DisparityMap& map,
                    const TileProgress& progress) {
  check_all(plan, pair, map);
  {
    TileMatcher matcher(plan);
    for (std::size_t i = 0; i < plan.tiles.size(); ++i) {
      const Tile& tile = plan.tiles[i];
      matcher.run(tile, part_of(pair, tile.around), part_of(map, tile.inside));
      if (progress) progress(i + 1, plan.tiles.size());
    }
  }
  stitch_in_place(plan, pair, map);
}

void match_in_tiles(const TilePlan& plan, const std::vector<Device>& devices, const StereoPair& pair,
                    const DisparityMap& map, const TileProgress& progress) {
  partition::check_tiles(plan);
  check_all(plan, pair, map);
  TilePool(plan, devices, pair, map).run(progress);
  stitch_in_place(plan, pair, map);
}

}  // namespace parallax
