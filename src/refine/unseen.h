// SPDX-License-Identifier: Apache-2.0
// Blank regions that are not matched consistently: see reject_unseen() in parallax/refine.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "refine/refine.h"

namespace parallax::refine {

inline constexpr int unseen_side = 4;       // pixels of a block's side
inline constexpr int blank_range = 16;      // gray levels of a blank block, from the lowest to the highest
inline constexpr int blank_step = 1;        // gray levels between the means of two blocks of a region
inline constexpr int region_parts = 100;    // a region has at least this part of all blocks
inline constexpr int matched_percent = 40;  // per cent of an unseen region's pixels that may have a value
inline constexpr int unseen_deviation = 8;  // pixels of disparity by which they deviate at least, on average

struct UnseenBlock {
  std::int32_t pixels = 0, gray = 0;  // the number of pixels, the sum of their gray levels
  std::int32_t matched = 0;           // the number of pixels that have a value
  bool is_blank = false;
  std::int64_t labels = 0;  // the sum of their labels: values rounded to whole pixels, halves down
};

// Sums over the blocks of a region.
struct UnseenRegion {
  std::int64_t blocks = 0, pixels = 0, matched = 0, labels = 0, deviation = 0;

  void add(const UnseenBlock& block) {
    ++blocks;
    pixels += block.pixels;
    matched += block.matched;
    labels += block.labels;
  }
  // After all blocks are added.
  void add_deviation(const UnseenBlock& block) {
    if (matched == 0) return;
    const std::int64_t down = labels % matched < 0 ? 1 : 0, mean = labels / matched - down;
    deviation += std::abs(block.labels - block.matched * mean);
  }
  // `all`: the number of the image's blocks.
  bool is_unseen(std::int64_t all) const {
    return region_parts * blocks >= all && 100 * matched < matched_percent * pixels &&
           deviation >= unseen_deviation * matched;
  }
};

// A block for each 4×4 pixels of a map; those at the right and lower border may be smaller.
struct UnseenBlocks {
  Size size;
  UnseenBlock* block = nullptr;
  UnseenRegion* region = nullptr;
  std::int32_t *link = nullptr, *queue = nullptr;

  UnseenBlocks() = default;
  UnseenBlocks(Size map, Arena& arena) : size(size_of(map)) {
    block = arena.reserve<UnseenBlock>(size.pixels());
    region = arena.reserve<UnseenRegion>(size.pixels());
    link = arena.reserve<std::int32_t>(size.pixels());
    queue = arena.reserve<std::int32_t>(size.pixels());
  }

  static Size size_of(Size map) {
    return {(map.width + unseen_side - 1) / unseen_side, (map.height + unseen_side - 1) / unseen_side};
  }
  std::int32_t count() const { return static_cast<std::int32_t>(size.pixels()); }
};

// Calls each(x, y) for the pixels of a block.
template <class Each>
void for_pixels_of_block(Size map, int column, int row, const Each& each) {
  for (int y = row * unseen_side; y < std::min((row + 1) * unseen_side, map.height); ++y)
    for (int x = column * unseen_side; x < std::min((column + 1) * unseen_side, map.width); ++x) each(x, y);
}

inline UnseenBlock unseen_block(View<const float> disparity, View<const std::uint8_t> guide, int column,
                                int row) {
  UnseenBlock block;
  int low = 255, high = 0;
  for_pixels_of_block(disparity.size, column, row, [&](int x, int y) {
    const int level = guide.at(x, y);
    const float value = disparity.at(x, y);
    low = std::min(low, level);
    high = std::max(high, level);
    ++block.pixels;
    block.gray += level;
    if (!decision::has_value(value)) return;
    ++block.matched;
    block.labels += static_cast<std::int64_t>(std::ceil(value - 0.5f));
  });
  block.is_blank = high - low <= blank_range;
  return block;
}

// Whether two neighbouring blocks are of one region.
inline bool are_alike(const UnseenBlock& a, const UnseenBlock& b) {
  return a.is_blank && b.is_blank &&
         std::abs(a.gray * b.pixels - b.gray * a.pixels) <= blank_step * a.pixels * b.pixels;
}

inline void reject_block(const DisparityMap& map, int column, int row) {
  for_pixels_of_block(map.disparity.size, column, row, [&](int x, int y) {
    std::uint8_t& status = map.status.at(x, y);
    if (status == decision::code(Status::input_masked)) return;
    map.disparity.at(x, y) = decision::no_value;
    status = decision::code(Status::textureless);
  });
}

void reject_unseen(const DisparityMap& map, View<const std::uint8_t> guide, const UnseenBlocks& blocks,
                   const Workers& workers);
void reject_unseen_reference(const DisparityMap& map, View<const std::uint8_t> guide,
                             const UnseenBlocks& blocks);

// Before a fill: `farthest` gets, for pixels that are textureless, the lowest of the values that they meet
// first above, below (in up to `fill_reach` rows), left and right; infinity where they meet none; minus
// infinity for all other pixels.
void find_farthest(const DisparityMap& map, View<float> farthest, const Workers& workers);
void find_farthest_reference(const DisparityMap& map, View<float> farthest);
// After the fill: textureless pixels take these values, or stay as they were.
void take_farthest(const DisparityMap& map, View<const float> farthest, const Workers& workers);

}  // namespace parallax::refine
