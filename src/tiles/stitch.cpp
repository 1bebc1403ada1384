// SPDX-License-Identifier: Apache-2.0
// Runs the steps after the tiles, in strips of full rows.
//
// A strip is refined together with the rows around it, its halo, as if the image ended there. The strip's own
// rows get the same values as in the full map if the halo is as deep as the reach of all steps added up:
//
// - The speckle filter, which removes regions of fewer than S pixels, reaches S − 1 rows. If the region of a
//   pixel has S or more pixels, S of them are within S − 1 steps of it and therefore within S − 1 rows; if it
//   has fewer, all of them are. Cutting off the rows beyond cannot enlarge a region.
// - Fill::row reaches only along its row, Fill::directions also `fill_reach` rows up and down. Fill::planes
//   reaches `plane_reach` rows and then fills in directions; a window must begin at a row of the image where
//   cells of superpixels begin. Row offsets are passed on within the same rows.
// - The median, weighted median and bilateral filters reach half a window.
//
// Later steps do not read the rows of the halo that earlier steps get wrong. The same holds for the status,
// which only the speckle filter and the fill write.

#include <algorithm>
#include <limits>
#include <vector>

#include "core/arena.h"
#include "core/checks.h"
#include "core/copy_rows.h"
#include "core/floating_point.h"
#include "refine/pipeline.h"
#include "tiles/tiles.h"

namespace parallax {
namespace {

Halo halo_of(const RefineParameters& steps) {
  const long long rows = 0LL + std::max(0, steps.speckle_size - 1) + refine::reach_of(steps.fill) +
                         steps.median / 2 + steps.weighted_median / 2 + steps.bilateral / 2;
  return {static_cast<int>(std::min<long long>(rows, std::numeric_limits<int>::max())),
          steps.fill == Fill::planes ? refine::cell_side : 1};
}

void check_left(const ImageView& left, Size rows) {
  check_image("left image", left);
  if (left.format.size != rows)
    throw Error(ErrorCategory::argument, "rows of the left image are " + text(left.format.size) +
                                             ": give the " + text(rows) + " of the map");
}

// Works on a window of rows, a strip with its halo. All windows have the same height.
class Stitcher {
 public:
  Stitcher(const RefineParameters& steps, Size image, int rows, bool row_offsets)
      : image_(image),
        rows_(std::min(rows, image.height)),
        halo_(std::min(halo_of(steps).rows, image.height)),
        alignment_(halo_of(steps).alignment),
        guided_(steps.is_guided()),
        row_offsets_(row_offsets),
        window_{image.width, window_height()},
        pipeline_(steps, window_, false) {
    reserve();
  }

  std::size_t memory_bytes(BitDepth depth) const {
    constexpr std::size_t channels = 3;
    const std::size_t left = guided_ ? window_.pixels() * channels * static_cast<std::size_t>(depth) / 8 : 0;
    return arena_.bytes() + left;
  }

  void run(const TilePlan& plan, const Strips& strips) {
    arena_.allocate();
    reserve();
    const Workers workers(plan.device.threads), two(std::min(2, workers.threads()));
    read(0, plan, strips);
    for (int first = 0; first < image_.height; first += rows_) {
      copy_window(workers);
      // Reads the rows of the next strip while this one is refined and written.
      two.for_each(2, [&](int index, int) {
        if (index == 0)
          finish(first, strips, workers);
        else if (first + rows_ < image_.height)
          read(first + rows_, plan, strips);
      });
    }
  }

 private:
  // A window of the full map.
  struct Map {
    View<float> disparity;
    View<std::uint8_t> status;
    View<float> row_offset;  // empty unless wanted
    int top = 0;
  };

  // Windows begin at multiples of the alignment, including the last one, which ends with the image.
  int window_height() const {
    const long long least = rows_ + 2LL * halo_ + alignment_ - 1;
    if (least >= image_.height) return image_.height;
    return image_.height - (image_.height - static_cast<int>(least)) / alignment_ * alignment_;
  }

  // Called before and after Arena::allocate().
  void reserve() {
    pipeline_.reserve(arena_);
    for (Map* map : {&tiles_, &refined_})
      *map = {arena_.reserve_plane<float>(window_), arena_.reserve_plane<std::uint8_t>(window_),
              row_offsets_ ? arena_.reserve_plane<float>(window_) : View<float>()};
  }

  // Returns a part of the map, given in the image's coordinates; it must lie within the window.
  DisparityMap part(const Map& map, const Rectangle& rectangle) const {
    const auto view = [&](auto part) {
      part.data = part.row(rectangle.y - map.top) + rectangle.x;
      part.size = rectangle.size;
      return part;
    };
    return {view(map.disparity), view(map.status), {}, row_offsets_ ? view(map.row_offset) : View<float>()};
  }

  DisparityMap window(const Map& map) const { return part(map, {0, map.top, window_}); }

  // Moves the window to a strip and its halo. Rows that it keeps move up, and only new rows are read.
  void read(int first_of_strip, const TilePlan& plan, const Strips& strips) {
    const int highest = std::clamp(first_of_strip - halo_, 0, image_.height - window_.height);
    const int top = highest - highest % alignment_;
    const int kept = std::max(0, read_ - top);
    const DisparityMap from = part(tiles_, {0, top, {image_.width, kept}});
    tiles_.top = top;
    const DisparityMap to = part(tiles_, {0, top, {image_.width, kept}});
    for (int y = 0; y < kept; ++y) {
      std::copy_n(from.disparity.row(y), image_.width, to.disparity.row(y));
      std::copy_n(from.status.row(y), image_.width, to.status.row(y));
      if (row_offsets_) std::copy_n(from.row_offset.row(y), image_.width, to.row_offset.row(y));
    }
    const int first = top + kept;
    read_ = top + window_.height;
    for (const Tile& tile : plan.tiles) read_tile(tile, first, strips);
  }

  // The unrefined rows are kept, because the next strip needs them in its halo.
  void copy_window(const Workers& workers) {
    refined_.top = tiles_.top;
    const DisparityMap source = window(tiles_), target = window(refined_);
    const auto copy_floats = [&](View<float> from, View<float> to) {
      copy_rows(const_rows_of(from), rows_of(to), static_cast<std::size_t>(image_.width) * sizeof(float),
                window_.height, workers);
    };
    copy_floats(source.disparity, target.disparity);
    if (row_offsets_) copy_floats(source.row_offset, target.row_offset);
    copy_rows(const_rows_of(source.status), rows_of(target.status), static_cast<std::size_t>(image_.width),
              window_.height, workers);
  }

  // Reads the tile's rows from `first` to the end of the window.
  void read_tile(const Tile& tile, int first, const Strips& strips) {
    const int begin = std::max(first, tile.inside.y);
    const int end = std::min(read_, tile.inside.y + tile.inside.size.height);
    if (begin >= end) return;
    strips.read_tile(tile, begin,
                     part(tiles_, {tile.inside.x, begin, {tile.inside.size.width, end - begin}}));
  }

  // Refines and writes the strip that begins at row `first`.
  void finish(int first, const Strips& strips, const Workers& workers) {
    std::vector<StageTime> times;
    detail::StageClock clock(times);
    const ImageView left = guided_ ? strips.read_left(refined_.top, window_.height) : ImageView();
    if (guided_) check_left(left, window_);
    pipeline_.run({left, {}}, window(refined_), {}, workers, clock);
    const int rows = std::min(rows_, image_.height - first);
    strips.write_rows(first, part(refined_, {0, first, {image_.width, rows}}));
  }

  Size image_;
  int rows_, halo_, alignment_;
  bool guided_, row_offsets_;
  Size window_;
  Arena arena_;
  refine::Pipeline pipeline_;
  Map tiles_, refined_;
  int read_ = 0;  // rows of the map read so far
};

Stitcher checked_stitcher(const TilePlan& plan, int rows) {
  check_range("rows", rows, 1, 1'000'000);
  return {tiles::steps_after_tiles(plan.parameters), plan.format.size, rows, plan.row_offsets};
}

RefineParameters checked_steps(const MatcherParameters& parameters) {
  parameters.validate();
  return tiles::steps_after_tiles(parameters);
}

}  // namespace

Halo halo(const MatcherParameters& parameters) {
  return halo_of(checked_steps(parameters));
}

void refine_strip(const MatcherParameters& parameters, const ImageView& left, const DisparityMap& strip,
                  int threads) {
  const DefaultFloatingPoint environment;
  const RefineParameters steps = checked_steps(parameters);
  const Size size = strip.disparity.size;
  const Workers workers = refine::checked_workers(threads);
  check_size(size);
  check_view("disparity map", strip.disparity, size);
  check_view("status map", strip.status, size);
  if (!strip.row_offset.empty()) check_view("map of row offsets", strip.row_offset, size);
  if (steps.is_guided()) check_left(left, size);
  refine::Pipeline pipeline(steps, size, false);
  Arena arena;
  pipeline.reserve(arena);
  arena.allocate();
  pipeline.reserve(arena);
  std::vector<StageTime> times;
  detail::StageClock clock(times);
  pipeline.run({left, {}}, strip, {}, workers, clock);
}

std::size_t refine_strip_memory_bytes(const MatcherParameters& parameters, Size strip) {
  const DefaultFloatingPoint environment;
  const RefineParameters steps = checked_steps(parameters);
  check_size(strip);
  Arena arena;
  refine::Pipeline(steps, strip, false).reserve(arena);
  return arena.bytes();
}

std::size_t stitch_memory_bytes(const TilePlan& plan, int rows) {
  const DefaultFloatingPoint environment;
  return checked_stitcher(plan, rows).memory_bytes(plan.format.depth);
}

int max_rows_to_stitch(const TilePlan& plan, std::size_t bytes) {
  const auto fit = [&](int rows) {
    try {
      return stitch_memory_bytes(plan, rows) <= bytes;
    } catch (const Error&) {
      return false;  // more pixels than the speckle filter supports
    }
  };
  int fitting = 0, most = plan.format.size.height;
  while (fitting < most) {
    const int middle = most - (most - fitting) / 2;
    if (fit(middle))
      fitting = middle;
    else
      most = middle - 1;
  }
  return fitting;
}

void stitch(const TilePlan& plan, int rows, const Strips& strips) {
  const DefaultFloatingPoint environment;
  tiles::check_tiles(plan);
  checked_stitcher(plan, rows).run(plan, strips);
}

}  // namespace parallax
