// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "core/checks.h"
#include "partition/partition.h"

namespace parallax::partition {
namespace {

// Nothing here may overflow, whatever a file says.
bool lies_within(long long first, long long length, long long outer_first, long long outer_length) {
  return length > 0 && first >= outer_first && first + length <= outer_first + outer_length;
}

bool lies_within(const Rectangle& inner, const Rectangle& outer) {
  return lies_within(inner.x, inner.size.width, outer.x, outer.size.width) &&
         lies_within(inner.y, inner.size.height, outer.y, outer.size.height);
}

// In one direction, with the margins as far as the image goes.
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

// Goes from tile to tile as a plan lays them out.
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
  check_range("tiles held", plan.held, 1, 1000);
  if (plan.tiles.empty()) throw Error(ErrorCategory::argument, "the plan has no tiles: plan again");
  Layout layout(plan);
  for (std::size_t i = 0; i < plan.tiles.size(); ++i)
    if (!layout.accepts(plan.tiles[i]))
      throw Error(ErrorCategory::argument,
                  "tile " + std::to_string(i) + " of the plan is not where it belongs: plan again");
  if (!layout.is_complete())
    throw Error(ErrorCategory::argument, "the plan's " + std::to_string(plan.tiles.size()) +
                                             " tiles do not cover the image: plan again");
}

}  // namespace parallax::partition
