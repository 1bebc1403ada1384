// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "refine/unseen.h"

namespace parallax::refine {
namespace {

constexpr std::int32_t no_region = -1;

// Calls each(neighbour) for the four neighbours of a block.
template <class Each>
void for_neighbours(Size size, std::int32_t block, const Each& each) {
  const int x = block % size.width, y = block / size.width;
  if (x > 0) each(block - 1);
  if (x + 1 < size.width) each(block + 1);
  if (y > 0) each(block - size.width);
  if (y + 1 < size.height) each(block + size.width);
}

// Visits the blocks of the region of `first`, which all get its number as link, and returns how many they
// are.
std::int32_t find_region(const UnseenBlocks& blocks, std::int32_t first) {
  std::int32_t count = 0;
  const auto visit = [&](std::int32_t block) {
    blocks.link[block] = first;
    blocks.queue[count++] = block;
  };
  visit(first);
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t here = blocks.queue[i];
    for_neighbours(blocks.size, here, [&](std::int32_t there) {
      if (blocks.link[there] == no_region && are_alike(blocks.block[here], blocks.block[there])) visit(there);
    });
  }
  return count;
}

bool is_unseen(const UnseenBlocks& blocks, std::int32_t count) {
  UnseenRegion region;
  for (std::int32_t i = 0; i < count; ++i) region.add(blocks.block[blocks.queue[i]]);
  for (std::int32_t i = 0; i < count; ++i) region.add_deviation(blocks.block[blocks.queue[i]]);
  return region.is_unseen(blocks.count());
}

float value_towards(View<const float> disparity, int x, int y, int dx, int dy, int reach) {
  for (int distance = 1; distance <= reach; ++distance) {
    x += dx;
    y += dy;
    if (x < 0 || x >= disparity.size.width || y < 0 || y >= disparity.size.height) break;
    if (decision::has_value(disparity.at(x, y))) return disparity.at(x, y);
  }
  return decision::no_value;
}

}  // namespace

void reject_unseen_reference(const DisparityMap& map, View<const std::uint8_t> guide,
                             const UnseenBlocks& blocks) {
  const int width = blocks.size.width;
  for (std::int32_t i = 0; i < blocks.count(); ++i) {
    blocks.block[i] = unseen_block(map.disparity, guide, i % width, i / width);
    blocks.link[i] = no_region;
  }
  for (std::int32_t first = 0; first < blocks.count(); ++first) {
    if (!blocks.block[first].is_blank || blocks.link[first] != no_region) continue;
    const std::int32_t count = find_region(blocks, first);
    if (!is_unseen(blocks, count)) continue;
    for (std::int32_t i = 0; i < count; ++i)
      reject_block(map, blocks.queue[i] % width, blocks.queue[i] / width);
  }
}

void find_farthest_reference(const DisparityMap& map, View<float> farthest) {
  constexpr int unlimited = std::numeric_limits<int>::max();
  const View<const float> disparity = map.disparity;
  for (int y = 0; y < disparity.size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < disparity.size.width; ++x) {
      farthest.at(x, y) = -decision::no_value;
      if (decision::has_value(disparity.at(x, y)) ||
          map.status.at(x, y) != decision::code(Status::textureless))
        continue;
      farthest.at(x, y) = std::min({value_towards(disparity, x, y, 0, -1, fill_reach),
                                    value_towards(disparity, x, y, 0, 1, fill_reach),
                                    value_towards(disparity, x, y, -1, 0, unlimited),
                                    value_towards(disparity, x, y, 1, 0, unlimited)});
    }
  }
}

}  // namespace parallax::refine
