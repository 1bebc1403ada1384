// SPDX-License-Identifier: Apache-2.0
// The choice of row offsets on the CPU: what the searches of all row offsets of a level have found, and the
// votes on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "data_cost/data_cost.h"
#include "decision/confidence.h"
#include "matchers/census/census.h"
#include "matchers/census/cpu_kernels.h"
#include "refine/refine.h"
#include "rows/row_votes.h"

namespace parallax::census {

using decision::code;
using decision::no_value;

inline constexpr int side = rows::RowVotes::side;
inline constexpr int no_row = std::numeric_limits<int>::min();
inline constexpr int max_offsets = 2 * data_cost::max_row_tolerance + 1;

class RowSearch {
 public:
  RowSearch(const std::vector<Level>& levels, int side, double row_prior) : levels_(levels), side_(side) {
    for (const Level& level : levels) votes_.emplace_back(level.size, level.rows, row_prior);
  }

  void reserve(Arena& arena) {
    for (rows::RowVotes& votes : votes_) votes.reserve(arena);
    const Level& full = levels_.front();
    memory_.stride = round_up(full.size.width, side);
    plane_ = memory_.stride * full.size.height;
    const std::size_t count = to_size(plane_) * to_size(2 * full.rows + 1);
    memory_.costs = arena.reserve<std::uint16_t>(count);
    memory_.labels = arena.reserve<std::uint16_t>(count);
    if (side_ == right_side) return;
    memory_.disparities = arena.reserve<float>(count);
    memory_.rivals = arena.reserve<std::uint16_t>(count);
  }

  // Memory for the results of a row offset's search on a level; the next level uses the same memory.
  Found found(int level, int row_offset) const {
    const std::ptrdiff_t first = place(level, row_offset, 0);
    Found own = memory_;
    const bool decides = level == 0 && side_ == left_side;
    own.costs += first;
    own.labels = decides ? nullptr : own.labels + first;
    own.disparities = decides ? own.disparities + first : nullptr;
    own.rivals = decides ? own.rivals + first : nullptr;
    return own;
  }

  // The number of rows of squares of a level.
  int squares(int level) const { return votes(level).squares().height; }
  // Sums the votes of a row of squares.
  void count_votes(int level, int row) const {
    for (int column = 0; column < votes(level).squares().width; ++column)
      count_votes_of_square(level, column, row);
  }
  // Called when all votes are counted.
  void settle_votes(int level) const { votes(level).settle(); }

  // Writes the labels of a row of a level, or, for a row of the image, the right disparities or the map.
  void choose_labels(int level, int y, std::uint16_t* labels) const {
    for_chosen(level, y, [&](int x, int v) {
      labels[x] = v == no_row ? no_label : memory_.labels[place(level, v, y) + x];
    });
  }
  void choose_disparities(int y, float* disparities) const {
    const int lowest = levels_.front().lowest;
    for_chosen(0, y, [&](int x, int v) {
      disparities[x] =
          v == no_row ? no_value : static_cast<float>(lowest + memory_.labels[place(0, v, y) + x]);
    });
  }
  void choose_row(int y, const std::uint8_t* mask, SubPixel sub_pixel, int uniqueness,
                  const DisparityMap& map) const {
    for_chosen(0, y, [&](int x, int v) {
      const std::ptrdiff_t at = place(0, v == no_row ? 0 : v, y) + x;
      const auto rival = [&] {
        const int cost = memory_.rivals[at];
        return cost == no_cost ? std::nullopt : std::optional<int>(cost);
      };
      const auto ambiguous = [&] {
        return uniqueness > 0 && rival() &&
               *rival() <= decision::ambiguity_bound<int>(memory_.costs[at], uniqueness);
      };
      Status status = Status::matched;
      if (mask != nullptr && mask[x] == 0)
        status = Status::input_masked;
      else if (v == no_row)
        status = Status::out_of_range;
      else if (ambiguous())
        status = Status::ambiguous;
      const bool matched = status == Status::matched;
      map.status.at(x, y) = code(status);
      map.disparity.at(x, y) = matched ? memory_.disparities[at] : no_value;
      map.row_offset.at(x, y) =
          matched ? static_cast<float>(v) + votes(0).fraction(x / side, y / side, v, sub_pixel) : no_value;
      if (!map.confidence.empty())
        map.confidence.at(x, y) = v == no_row ? 0.0f : decision::confidence<int>(memory_.costs[at], rival());
    });
  }

 private:
  const Level& level_of(int level) const { return levels_[to_size(level)]; }
  const rows::RowVotes& votes(int level) const { return votes_[to_size(level)]; }
  // Index of the first pixel of a row of what is kept of a row offset.
  std::ptrdiff_t place(int level, int row_offset, int y) const {
    return (row_offset + level_of(level).rows) * plane_ + y * memory_.stride;
  }
  void count_votes_of_square(int level, int column, int row) const {
    const Level& own = level_of(level);
    const int x = column * side, count = std::min(side, own.size.width - x);
    std::int64_t* sums = votes(level).own(column, row);
    std::fill_n(sums, votes(level).offsets(), 0);
    for (int y = row * side; y < std::min((row + 1) * side, own.size.height); ++y) {
      std::uint16_t counted[side];  // [side]: all bits set at pixels that have candidates in all rows
      std::fill_n(counted, count, std::uint16_t{0xFFFF});
      for (int v = -own.rows; v <= own.rows; ++v) {
        const std::uint16_t* costs = memory_.costs + place(level, v, y) + x;
        for (int i = 0; i < count; ++i) counted[i] = costs[i] != no_cost ? counted[i] : 0;
      }
      for (int v = -own.rows; v <= own.rows; ++v) {
        const std::uint16_t* costs = memory_.costs + place(level, v, y) + x;
        std::uint32_t sum = 0;
        for (int i = 0; i < count; ++i) sum += costs[i] & counted[i];
        sums[v + own.rows] += sum;
      }
    }
  }
  // Writes all row offsets of a square, the preferred one first.
  void order_rows(int level, int column, int row, int* rows) const {
    const std::int8_t* order = votes(level).preferred(column, row);
    const int count = votes(level).offsets();
    if (level + 1 == static_cast<int>(levels_.size())) {
      std::copy_n(order, count, rows);
      return;
    }
    const int above = votes(level + 1).preferred(column / 2, row / 2)[0];
    int placed = 0;
    for (const bool near : {true, false})
      for (int i = 0; i < count; ++i)
        if (near_above(order[i], above) == near) rows[placed++] = order[i];
  }

  // Calls each(x, row offset) for the pixels of a row; `no_row` without a candidate.
  template <class Each>
  void for_chosen(int level, int y, const Each& each) const {
    const int width = level_of(level).size.width, count = votes(level).offsets();
    int rows[max_offsets];
    const std::uint16_t* costs[max_offsets];
    for (int x = 0; x < width;) {
      const int end = std::min(x + side, width);
      order_rows(level, x / side, y / side, rows);
      for (int i = 0; i < count; ++i) costs[i] = memory_.costs + place(level, rows[i], y);
      for (; x < end; ++x) {
        int i = 0;
        while (i < count && costs[i][x] == no_cost) ++i;
        each(x, i == count ? no_row : rows[i]);
      }
    }
  }

  std::vector<Level> levels_;
  int side_;
  std::vector<rows::RowVotes> votes_;  // by level
  Found memory_;                       // results of the lowest row offset
  std::ptrdiff_t plane_ = 0;           // elements of a row offset
};

}  // namespace parallax::census
