// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "core/checks.h"
#include "core/copy_rows.h"
#include "tiles/tiles.h"

namespace parallax {
namespace {

ImageFormat format_of_tiles(const TilePlan& plan) {
  tiles::check_tiles(plan);
  return {plan.tiles.front().around.size, plan.format.depth};
}

// Remembered tuning is not used if it needs more memory than was planned.
PlanOptions limits_of_matcher(const TilePlan& plan) {
  const std::size_t beside = tiles::bytes_beside_matcher(format_of_tiles(plan), plan.row_offsets);
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
  return {part_of(map.disparity, part),
          part_of(map.status, part),
          {},
          map.row_offset.empty() ? map.row_offset : part_of(map.row_offset, part)};
}

// The part of its surroundings' map that a tile decides.
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
  if (!from.row_offset.empty()) copy(from.row_offset, to.row_offset, workers);
}

void check_maps(const DisparityMap& map, Size size, bool row_offsets) {
  check_view("disparity map", map.disparity, size);
  check_view("status map", map.status, size);
  if (!map.confidence.empty())
    throw Error(ErrorCategory::argument, "tiles do not report confidence: leave out that map");
  if (!map.right.empty())
    throw Error(ErrorCategory::argument, "tiles have no map of the right image: leave out that map");
  if (row_offsets)
    check_view("map of row offsets", map.row_offset, size);
  else if (!map.row_offset.empty())
    throw Error(
        ErrorCategory::argument,
        "the plan has no row offsets: set TileOptions::row_offsets when planning, or leave out that map");
}

void check_tile(const Tile& tile, const std::vector<Tile>& tiles, const DisparityMap& inside,
                bool row_offsets) {
  const auto number = static_cast<std::size_t>(tile.number);
  if (number >= tiles.size() || tiles[number] != tile)
    throw Error(ErrorCategory::argument,
                "tile " + std::to_string(tile.number) + " is not in the plan: give one of its tiles");
  check_maps(inside, tile.inside.size, row_offsets);
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
  check_maps(map, plan.format.size, plan.row_offsets);
}

}  // namespace

TileMatcher::TileMatcher(const TilePlan& plan)
    : matcher_(tiles::tile_parameters(plan.parameters), plan.device, format_of_tiles(plan),
               limits_of_matcher(plan)),
      tiles_(plan.tiles),
      threads_(plan.device.threads),
      disparity_(plan.tiles.front().around.size),
      status_(plan.tiles.front().around.size),
      row_offset_(plan.row_offsets ? plan.tiles.front().around.size : Size{}) {}

void TileMatcher::run(const Tile& tile, const StereoPair& around, const DisparityMap& inside) {
  check_tile(tile, tiles_, inside, row_offset_.width() > 0);
  const DisparityMap map{disparity_.view(), status_.view(), {}, row_offset_.view()};
  matcher_.run(around, map);
  copy(part_of(map, inside_of(tile)), inside, Workers(threads_));
}

// Each tile is matched into a map of its surroundings, from which its part is copied.
class TilePool::State {
 public:
  State(const TilePlan& plan, const std::vector<Device>& devices)
      : format_(format_of_tiles(plan)),
        tiles_(plan.tiles),
        row_offsets_(plan.row_offsets),
        pool_(tiles::tile_parameters(plan.parameters), devices, limits_of_pool(plan)) {}

  std::uint64_t submit(const Tile& tile, const StereoPair& around, const DisparityMap& inside) {
    check_tile(tile, tiles_, inside, row_offsets_);
    std::list<Running> running = take(tile, inside);
    const std::uint64_t number = pool_.submit(around, running.front().map());
    const std::lock_guard lock(mutex_);
    running_[number] = std::move(running);
    submitted_.notify_all();
    return number;
  }

  MatchedPair finish(MatchedPair matched) {
    std::list<Running> done = extract(matched.number);
    Running& running = done.front();
    copy(part_of(running.map(), inside_of(running.tile)), running.inside, Workers(1));
    give_back(done);
    return matched;
  }

  // Also returns the memory of a tile that failed.
  template <class Wait>
  auto wait(const Wait& wait) {
    try {
      return wait(pool_);
    } catch (const PairError& error) {
      std::list<Running> failed = extract(error.number());
      give_back(failed);
      throw;
    }
  }

  std::vector<LostDevice> lost_devices() const { return pool_.lost_devices(); }
  int matchers() const { return pool_.matchers(format_); }

 private:
  struct Running {
    Running(Size size, bool row_offsets)
        : disparity(size), status(size), row_offset(row_offsets ? size : Size{}) {}
    DisparityMap map() { return {disparity.view(), status.view(), {}, row_offset.view()}; }
    Plane<float> disparity;
    Plane<std::uint8_t> status;
    Plane<float> row_offset;
    Tile tile;
    DisparityMap inside;
  };

  // Tiles are as large as memory allows: each device matches one at a time, and one more is ready for the
  // next device that becomes free.
  static PoolOptions limits_of_pool(const TilePlan& plan) {
    const PlanOptions limits = limits_of_matcher(plan);
    return {.max_memory_bytes = limits.max_memory_bytes,
            .matchers_per_gpu = 1,
            .configuration = limits.configuration};
  }

  std::list<Running> take(const Tile& tile, const DisparityMap& inside) {
    std::list<Running> taken;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) taken.splice(taken.end(), free_, free_.begin());
    }
    if (taken.empty()) taken.emplace_back(format_.size, row_offsets_);
    taken.front().tile = tile;
    taken.front().inside = inside;
    return taken;
  }

  // It may have been matched before submit() has returned to another thread.
  std::list<Running> extract(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    submitted_.wait(lock, [&] { return running_.count(number) > 0; });
    return std::move(running_.extract(number).mapped());
  }

  void give_back(std::list<Running>& done) {
    const std::lock_guard lock(mutex_);
    free_.splice(free_.end(), done);
  }

  ImageFormat format_;
  std::vector<Tile> tiles_;
  bool row_offsets_;
  std::mutex mutex_;
  std::condition_variable submitted_;
  std::list<Running> free_;
  std::map<std::uint64_t, std::list<Running>> running_;
  MatcherPool pool_;  // destroyed before the maps that it writes
};

TilePool::TilePool(const TilePlan& plan, const std::vector<Device>& devices)
    : state_(std::make_unique<State>(plan, devices)) {}

TilePool::~TilePool() = default;

std::uint64_t TilePool::submit(const Tile& tile, const StereoPair& around, const DisparityMap& inside) {
  return state_->submit(tile, around, inside);
}

MatchedPair TilePool::wait(std::uint64_t number) {
  return state_->finish(state_->wait([&](MatcherPool& pool) { return pool.wait(number); }));
}

std::optional<MatchedPair> TilePool::wait_any() {
  std::optional<MatchedPair> matched = state_->wait([](MatcherPool& pool) { return pool.wait_any(); });
  if (matched) matched = state_->finish(*std::move(matched));
  return matched;
}

std::vector<LostDevice> TilePool::lost_devices() const {
  return state_->lost_devices();
}

int TilePool::matchers() const {
  return state_->matchers();
}

namespace {

// Stitches in place a map that has every tile's part.
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
  stitch(plan, std::max(1, max_rows_to_stitch(plan, plan.tile_memory_bytes)), strips);
}

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
  check_all(plan, pair, map);
  {
    TilePool pool(plan, devices);
    std::size_t begun = 0, done = 0;
    const auto finish_one = [&] {
      try {
        pool.wait_any();
      } catch (const PairError& error) {  // pairs have the numbers of tiles
        throw Error(error.category(), "tile " + std::to_string(error.number()) + ": " + error.reason(),
                    error.is_transient());
      }
      ++done;
      if (progress) progress(done, plan.tiles.size());
    };
    for (const Tile& tile : plan.tiles) {
      // One more tile than are matched is ready when a device becomes free.
      if (begun > done + static_cast<std::size_t>(pool.matchers())) finish_one();
      pool.submit(tile, part_of(pair, tile.around), part_of(map, tile.inside));
      ++begun;
    }
    while (done < plan.tiles.size()) finish_one();
  }
  stitch_in_place(plan, pair, map);
}

}  // namespace parallax
