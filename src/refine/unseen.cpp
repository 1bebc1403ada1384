// SPDX-License-Identifier: Apache-2.0
// Threads have rows of blocks; regions are disjoint sets of blocks, which are so few that one thread joins
// them.

#include "refine/unseen.h"

#include <array>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/integers.h"

namespace parallax {
namespace refine {
namespace {

// A block links to one of its region with a lower number, a root to itself.
std::int32_t root_of(std::int32_t* link, std::int32_t block) {
  while (link[block] != block) block = link[block] = link[link[block]];
  return block;
}

void join(std::int32_t* link, std::int32_t a, std::int32_t b) {
  a = root_of(link, a);
  b = root_of(link, b);
  link[std::max(a, b)] = std::min(a, b);
}

void join_regions(const UnseenBlocks& blocks) {
  const int width = blocks.size.width;
  for (std::int32_t i = 0; i < blocks.count(); ++i) {
    blocks.link[i] = i;
    if (i % width > 0 && are_alike(blocks.block[i - 1], blocks.block[i])) join(blocks.link, i - 1, i);
    if (i >= width && are_alike(blocks.block[i - width], blocks.block[i])) join(blocks.link, i - width, i);
  }
  for (std::int32_t i = 0; i < blocks.count(); ++i) {
    blocks.link[i] = blocks.link[blocks.link[i]];  // the root, because links before are roots
    if (blocks.link[i] == i) blocks.region[i] = {};
    blocks.region[blocks.link[i]].add(blocks.block[i]);
  }
  for (std::int32_t i = 0; i < blocks.count(); ++i)
    blocks.region[blocks.link[i]].add_deviation(blocks.block[i]);
}

// The last value met on the way along a row or a column.
struct LastValue {
  float value = decision::no_value;
  int distance = 0;

  void pass(float disparity) {
    if (decision::has_value(disparity))
      *this = {disparity, 1};
    else
      ++distance;
  }
  float within(int reach) const { return distance <= reach ? value : decision::no_value; }
};

void lower(float& farthest, float value) {
  farthest = std::min(farthest, value);  // minus infinity stays
}

void find_in_columns(View<const float> disparity, View<float> farthest, int first) {
  const int columns = std::min(fill_strip, disparity.size.width - first), height = disparity.size.height;
  std::array<LastValue, fill_strip> above, below;
  const auto pass_row = [&](int y, std::array<LastValue, fill_strip>& met) {
    const float* row = disparity.row(y) + first;
    float* to = farthest.row(y) + first;
    for (int i = 0; i < columns; ++i) {
      lower(to[i], met[static_cast<std::size_t>(i)].within(fill_reach));
      met[static_cast<std::size_t>(i)].pass(row[i]);
    }
  };
  for (int y = 0; y < height; ++y) pass_row(y, above);
  for (int y = height - 1; y >= 0; --y) pass_row(y, below);
}

void find_in_row(const float* row, float* farthest, int width) {
  float left = decision::no_value, right = decision::no_value;
  for (int x = 0; x < width; ++x) {
    lower(farthest[x], left);
    if (decision::has_value(row[x])) left = row[x];
  }
  for (int x = width - 1; x >= 0; --x) {
    lower(farthest[x], right);
    if (decision::has_value(row[x])) right = row[x];
  }
}

}  // namespace

void reject_unseen(const DisparityMap& map, View<const std::uint8_t> guide, const UnseenBlocks& blocks,
                   const Workers& workers) {
  const int width = blocks.size.width;
  for_rows(workers, blocks.size.height, [&](int row, int) {
    for (int column = 0; column < width; ++column)
      blocks.block[row * width + column] = unseen_block(map.disparity, guide, column, row);
  });
  join_regions(blocks);
  for_rows(workers, blocks.size.height, [&](int row, int) {
    for (int column = 0; column < width; ++column) {
      const std::int32_t block = row * width + column;
      if (blocks.block[block].is_blank && blocks.region[blocks.link[block]].is_unseen(blocks.count()))
        reject_block(map, column, row);
    }
  });
}

void find_farthest(const DisparityMap& map, View<float> farthest, const Workers& workers) {
  const Size size = map.disparity.size;
  for_rows(workers, size.height, [&](int y, int) {
    for (int x = 0; x < size.width; ++x) {
      const bool is_unseen = !decision::has_value(map.disparity.at(x, y)) &&
                             map.status.at(x, y) == decision::code(Status::textureless);
      farthest.at(x, y) = is_unseen ? decision::no_value : -decision::no_value;
    }
  });
  workers.for_each(divide_round_up(size.width, fill_strip),
                   [&](int strip, int) { find_in_columns(map.disparity, farthest, strip * fill_strip); });
  for_rows(workers, size.height,
           [&](int y, int) { find_in_row(map.disparity.row(y), farthest.row(y), size.width); });
}

void take_farthest(const DisparityMap& map, View<const float> farthest, const Workers& workers) {
  for_rows(workers, map.disparity.size.height, [&](int y, int) {
    for (int x = 0; x < map.disparity.size.width; ++x) {
      const float value = farthest.at(x, y);
      if (value == -decision::no_value) continue;
      map.disparity.at(x, y) = value;
      map.status.at(x, y) = decision::code(decision::has_value(value) ? Status::filled : Status::textureless);
    }
  });
}

}  // namespace refine

void reject_unseen(const DisparityMap& map, const ImageView& guide, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  refine::check_guide(guide, map.disparity.size);
  const Workers workers = refine::checked_workers(threads);
  const refine::Guide gray(guide, 0, workers);
  Arena arena;
  refine::UnseenBlocks(map.disparity.size, arena);
  arena.allocate();
  refine::reject_unseen(map, gray.view(), refine::UnseenBlocks(map.disparity.size, arena), workers);
}

}  // namespace parallax
