// SPDX-License-Identifier: Apache-2.0
// Cuts pairs into tiles, and checks plans. All tiles have one size, so that one matcher serves them all: on a
// GPU, kernels are compiled for a size.

#include "core/plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/checks.h"
#include "core/copy_rows.h"
#include "core/floating_point.h"
#include "core/memory.h"
#include "core/workers.h"
#include "matchers/planning.h"
#include "tiles/tiles.h"

namespace parallax {
namespace {

using tiles::tile_parameters;

// One dimension of the image: its columns or its rows.
struct Axis {
  int extent;  // size of the image
  int before, after, alignment;
  int largest;  // maximum size of a tile
};

// A tile in one dimension.
struct Span {
  int first, last;  // the part of the map, excluding `last`
  int around;       // start of the part with margins
};

// Cuts an axis into tiles of one length. The last tile is shifted inwards to end with the image. It still
// begins at a multiple of the alignment: a length below the extent differs from it by such a multiple.
std::vector<Span> cut(const Axis& axis, int length) {
  std::vector<Span> spans;
  for (int done = 0; done < axis.extent; done = spans.back().last) {
    const int begin = std::max(0, done - axis.before) / axis.alignment * axis.alignment;
    const int around = std::min(begin, axis.extent - length);
    const bool ends = around + length == axis.extent;
    spans.push_back({done, ends ? axis.extent : around + length - axis.after, around});
  }
  return spans;
}

// A tile length, and the resulting number of tiles.
struct Cut {
  int length, count;

  // Total number of columns or rows to match.
  double work() const { return static_cast<double>(length) * count; }
};

// Smaller tiles would consist almost entirely of margins.
constexpr int min_inside = 16;

// The shortest length that holds `min_inside` pixels and their margins, wherever they begin.
int min_length(const Axis& axis) {
  const long long least = 0LL + axis.before + axis.after + axis.alignment - 1 + min_inside;
  if (least >= axis.extent) return axis.extent;
  const int missing = (axis.extent - static_cast<int>(least)) % axis.alignment;
  return static_cast<int>(least) + missing;
}

// The shortest length for each possible number of tiles, in increasing order of length.
std::vector<Cut> possible_cuts(const Axis& axis) {
  std::vector<Cut> cuts;
  const int longest = std::min(axis.extent, axis.largest);
  for (long long length = min_length(axis); length <= longest; length += axis.alignment) {
    const int count = static_cast<int>(cut(axis, static_cast<int>(length)).size());
    if (cuts.empty() || count < cuts.back().count) cuts.push_back({static_cast<int>(length), count});
  }
  return cuts;
}

Axis columns_of(const Margins& margins, Size image, Size largest) {
  return {image.width, margins.left, margins.right, margins.alignment,
          largest.width > 0 ? largest.width : image.width};
}

Axis rows_of(const Margins& margins, Size image, Size largest) {
  return {image.height, margins.top, margins.bottom, margins.alignment,
          largest.height > 0 ? largest.height : image.height};
}

// Memory that matching a tile needs.
struct TileMemory {
  std::size_t bytes;
  std::optional<detail::Plan::GpuMemory> gpu;
};

class Limits {
 public:
  explicit Limits(const PlanOptions& limits)
      : limited_(limits.max_memory_bytes > 0), bytes_(limited_ ? limits.max_memory_bytes : whole_memory()) {}

  bool allow(const TileMemory& tile) const {
    // Like Matcher: a caller's limit covers all memory; without one, host and GPU memory are checked
    // separately.
    const std::size_t elsewhere = !limited_ && tile.gpu ? tile.gpu->needed : 0;
    return tile.bytes - elsewhere <= bytes_ && fits_gpu(tile);
  }

  // \throws Error (memory) unless the smallest tiles fit, and `stitching`, the minimum memory to stitch them
  void check(const TileMemory& smallest, Size size, std::size_t stitching) const {
    const std::string tiles = "the smallest tiles, of " + text(size) + ",";
    if (!fits_gpu(smallest))
      throw Error(ErrorCategory::memory,
                  tiles + " need " + bytes_text(smallest.gpu->needed) + ", and " +
                      bytes_text(smallest.gpu->free) + smallest.gpu->are_free +
                      ", or search fewer disparities",
                  true);
    if (allow(smallest) && stitching <= bytes_) return;
    const std::size_t needed = std::max(smallest.bytes, stitching);
    throw Error(ErrorCategory::memory,
                tiles + " and stitching them need " + bytes_text(needed) + ", and " + bytes_text(bytes_) +
                    (limited_ ? " are allowed: raise the limit to " : " are available: use a machine with ") +
                    std::to_string(needed) + " bytes, or search fewer disparities, or use fewer threads");
  }

 private:
  bool fits_gpu(const TileMemory& tile) const { return !tile.gpu || tile.gpu->needed <= tile.gpu->free; }

  bool limited_;
  std::size_t bytes_;
};

// Estimates the memory of tiles without allocating it.
class TileEstimate {
 public:
  explicit TileEstimate(const TilePlan& plan)
      : parameters_(tile_parameters(plan.parameters)),
        device_(plan.device),
        image_(plan.format),
        configuration_(plan.configuration),
        row_offsets_(plan.row_offsets) {}

  // \throws Error as the constructor of Matcher does, except for a lack of memory
  TileMemory operator()(Size size) {
    const ImageFormat tile{size, image_.depth};
    // Remembered tuning must not affect where a pair is cut.
    std::unique_ptr<detail::Plan> plan = detail::make_plan(
        parameters_, device_, tile, detail::given_configuration(parameters_, device_, tile, configuration_));
    TileMemory memory{plan->memory_bytes() + tiles::bytes_beside_matcher(tile, row_offsets_),
                      plan->gpu_memory()};
    // Keeping a plan alive keeps its GPU initialised for the next one.
    last_ = std::move(plan);
    return memory;
  }

 private:
  MatcherParameters parameters_;
  Device device_;
  ImageFormat image_;
  TunedValues configuration_;
  bool row_offsets_;
  std::unique_ptr<detail::Plan> last_;
};

// Finds the tile size within the limits that needs the least total work, including margins. For each number
// of tile columns, it considers the fewest tile rows that memory allows.
class Search {
 public:
  Search(const Axis& columns, const Axis& rows, const Limits& limits, TileEstimate& estimate)
      : columns_(possible_cuts(columns)), rows_(possible_cuts(rows)), limits_(limits), estimate_(estimate) {}

  Size best() {
    // Narrower tiles allow at least the same height.
    std::size_t row = 0;
    for (std::size_t column = columns_.size(); column-- > 0;) {
      if (!fits(column, row)) continue;
      while (row + 1 < rows_.size() && fits(column, row + 1)) ++row;
      consider(columns_[column], rows_[row]);
    }
    return best_;
  }

 private:
  // A size that the device refuses for other reasons does not fit either; it has accepted the smallest size.
  bool fits(std::size_t column, std::size_t row) {
    try {
      return limits_.allow(estimate_({columns_[column].length, rows_[row].length}));
    } catch (const Error&) {
      return false;
    }
  }

  void consider(const Cut& column, const Cut& row) {
    const double work = column.work() * row.work();
    if (best_ != Size{} && work >= best_work_) return;
    best_ = {column.length, row.length};
    best_work_ = work;
  }

  std::vector<Cut> columns_, rows_;
  const Limits& limits_;
  TileEstimate& estimate_;
  Size best_;
  double best_work_ = 0;
};

std::vector<Tile> tiles_of(const Axis& columns, const Axis& rows, Size size) {
  const std::vector<Span> column_spans = cut(columns, size.width), row_spans = cut(rows, size.height);
  std::vector<Tile> tiles;
  for (const Span& row : row_spans)
    for (const Span& column : column_spans)
      tiles.push_back({static_cast<int>(tiles.size()),
                       {column.first, row.first, {column.last - column.first, row.last - row.first}},
                       {column.around, row.around, size}});
  return tiles;
}

void check_largest(const Axis& columns, const Axis& rows, Size least) {
  if (columns.largest >= least.width && rows.largest >= least.height) return;
  throw Error(ErrorCategory::argument, "tiles of at most " + text(Size{columns.largest, rows.largest}) +
                                           " leave no room inside their margins: allow " + text(least) +
                                           " or more");
}

Device with_threads(Device device) {
  check_threads(device.threads);
  device.threads = Workers(device.threads).threads();
  return device;
}

}  // namespace

namespace tiles {
namespace {

// Uses long long so that no value from a file can cause an overflow.
bool lies_within(long long first, long long length, long long outer_first, long long outer_length) {
  return length > 0 && first >= outer_first && first + length <= outer_first + outer_length;
}

bool lies_within(const Rectangle& inner, const Rectangle& outer) {
  return lies_within(inner.x, inner.size.width, outer.x, outer.size.width) &&
         lies_within(inner.y, inner.size.height, outer.y, outer.size.height);
}

// Checks one dimension. Margins end at the edge of the image.
bool has_margins(long long inside, long long inside_length, long long around, long long around_length,
                 long long before, long long after, long long extent, int alignment) {
  return around <= std::max(0LL, inside - before) &&
         around + around_length >= std::min(extent, inside + inside_length + after) &&
         around % alignment == 0;
}

bool has_margins(const Tile& tile, const Margins& margins, Size image) {
  const Rectangle &inside = tile.inside, &around = tile.around;
  return margins.alignment > 0 &&
         has_margins(inside.x, inside.size.width, around.x, around.size.width, margins.left, margins.right,
                     image.width, margins.alignment) &&
         has_margins(inside.y, inside.size.height, around.y, around.size.height, margins.top, margins.bottom,
                     image.height, margins.alignment);
}

// Checks the tiles of a plan one by one, in row order.
class Layout {
 public:
  explicit Layout(const TilePlan& plan)
      : image_{0, 0, plan.format.size}, margins_(plan.margins), around_(plan.tiles.front().around.size) {}

  bool accepts(const Tile& tile) {
    const Rectangle& inside = tile.inside;
    if (tile.number != number_ || tile.around.size != around_ || !lies_within(tile.around, image_) ||
        !lies_within(inside, tile.around) || !has_margins(tile, margins_, image_.size) || inside.x != x_ ||
        inside.y != y_)
      return false;
    if (x_ == 0) row_height_ = inside.size.height;
    if (inside.size.height != row_height_) return false;
    ++number_;
    x_ += inside.size.width;
    if (x_ == image_.size.width) {
      x_ = 0;
      y_ += row_height_;
    }
    return true;
  }

  bool is_complete() const { return x_ == 0 && y_ == image_.size.height; }

 private:
  Rectangle image_;
  Margins margins_;
  Size around_;
  int number_ = 0, x_ = 0, y_ = 0, row_height_ = 0;
};

}  // namespace

void check_tiles(const TilePlan& plan) {
  check_format(plan.format);
  if (plan.tiles.empty()) throw Error(ErrorCategory::argument, "the plan has no tiles: plan again");
  Layout layout(plan);
  for (std::size_t i = 0; i < plan.tiles.size(); ++i)
    if (!layout.accepts(plan.tiles[i]))
      throw Error(ErrorCategory::argument,
                  "tile " + std::to_string(i) + " of the plan is in the wrong place: plan again");
  if (!layout.is_complete())
    throw Error(ErrorCategory::argument, "the plan's " + std::to_string(plan.tiles.size()) +
                                             " tiles do not cover the image: plan again");
}

std::size_t bytes_beside_matcher(const ImageFormat& tile, bool row_offsets) {
  const std::size_t sample = bytes_per_sample(tile.depth);
  ArenaLayout layout;
  for (int map = 0; map < 2; ++map) {
    layout.reserve_plane<float>(tile.size);
    layout.reserve_plane<std::uint8_t>(tile.size);
    if (row_offsets) layout.reserve_plane<float>(tile.size);
  }
  return tile.size.pixels() * (2 * 3 * sample + 2) + layout.bytes();
}

}  // namespace tiles

TilePlan plan_tiles(const MatcherParameters& parameters, const Device& device, const ImageFormat& format,
                    const PlanOptions& limits, const TileOptions& options) {
  const DefaultFloatingPoint environment;
  check_range("largest tile width", options.largest.width, 0, 1'000'000);
  check_range("largest tile height", options.largest.height, 0, 1'000'000);
  if (limits.both_maps)
    throw Error(ErrorCategory::argument, "tiles have no map of the right image: plan without both maps");
  if (options.row_offsets && !searches_rows(parameters))
    throw Error(ErrorCategory::argument,
                "row_offsets is true: set row_tolerance, or leave row_offsets false");
  TilePlan plan{
      parameters,           with_threads(device), format, margins(parameters, format, options.padding), {}, 0,
      limits.configuration, options.row_offsets};
  const Axis columns = columns_of(plan.margins, format.size, options.largest);
  const Axis rows = rows_of(plan.margins, format.size, options.largest);
  const Size least{min_length(columns), min_length(rows)};
  check_largest(columns, rows, least);
  TileEstimate estimate(plan);
  const Limits allowed(limits);
  allowed.check(estimate(least), least, stitch_memory_bytes(plan, 1));
  const Size size = Search(columns, rows, allowed, estimate).best();
  plan.tiles = tiles_of(columns, rows, size);
  plan.tile_memory_bytes = estimate(size).bytes;
  return plan;
}

}  // namespace parallax
