// SPDX-License-Identifier: Apache-2.0
#include "matchers/census/row_search.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/round_up.h"
#include "refine/confidence.h"
#include "refine/refine.h"

namespace parallax::census {
namespace {

using refine::code;
using refine::no_value;

constexpr int side = refine::RowVotes::side;
constexpr int no_row = std::numeric_limits<int>::min();

}  // namespace

RowSearch::RowSearch(const std::vector<Level>& levels, int side) : levels_(levels), side_(side) {
  for (const Level& level : levels) votes_.emplace_back(level.size, level.rows);
}

void RowSearch::reserve(Arena& arena) {
  for (refine::RowVotes& votes : votes_) votes.reserve(arena);
  const Level& full = levels_.front();
  memory_.stride = round_up(full.size.width, side);
  plane_ = memory_.stride * full.size.height;
  const std::size_t count = static_cast<std::size_t>(plane_) * static_cast<std::size_t>(2 * full.rows + 1);
  memory_.costs = arena.reserve<std::uint16_t>(count);
  memory_.labels = arena.reserve<std::uint16_t>(count);
  if (side_ == right_side) return;
  memory_.disparities = arena.reserve<float>(count);
  memory_.rivals = arena.reserve<std::uint16_t>(count);
}

Found RowSearch::found(int level, int row_offset) const {
  const std::ptrdiff_t first = (row_offset + level_of(level).rows) * plane_;
  Found own = memory_;
  own.costs += first;
  own.labels += first;
  const bool decides = level == 0 && side_ == left_side;
  own.disparities = decides ? own.disparities + first : nullptr;
  own.rivals = decides ? own.rivals + first : nullptr;
  return own;
}

void RowSearch::count_votes(int level, int first, int last) const {
  for (int row = first; row < last; ++row)
    for (int column = 0; column < votes(level).squares().width; ++column)
      count_votes_of_square(level, column, row);
}

void RowSearch::count_votes_of_square(int level, int column, int row) const {
  const Level& own = level_of(level);
  const int x = column * side, count = std::min(side, own.size.width - x);
  std::int64_t* sums = votes(level).own(column, row);
  std::fill_n(sums, votes(level).offsets(), 0);
  for (int y = row * side; y < std::min((row + 1) * side, own.size.height); ++y) {
    std::uint16_t votes[side];  // all bits of those pixels that have candidates in all rows
    std::fill_n(votes, count, std::uint16_t{0xFFFF});
    for (int v = -own.rows; v <= own.rows; ++v) {
      const std::uint16_t* costs = costs_of(level, v, y) + x;
      for (int i = 0; i < count; ++i) votes[i] = costs[i] != no_cost ? votes[i] : 0;
    }
    for (int v = -own.rows; v <= own.rows; ++v) {
      const std::uint16_t* costs = costs_of(level, v, y) + x;
      std::uint32_t sum = 0;
      for (int i = 0; i < count; ++i) sum += costs[i] & votes[i];
      sums[v + own.rows] += sum;
    }
  }
}

void RowSearch::settle_votes(int level) const {
  for (int y = 0; y < squares(level); ++y) votes(level).settle(y);
}

template <class Each>
void RowSearch::for_chosen(int level, int y, const Each& each) const {
  const Level& own = level_of(level);
  static const int rule = std::getenv("RULE") ? std::atoi(std::getenv("RULE")) : 0;
  for (int x = 0; x < own.size.width; ++x) {
    const std::int8_t* order = votes(level).preferred(x / side, y / side);
    int chosen = no_row;
    if (level > 0 && rule == 1) {
      std::uint16_t best = no_cost;
      for (int v = -own.rows; v <= own.rows; ++v)
        if (costs_of(level, v, y)[x] < best) best = costs_of(level, v, y)[x], chosen = v;
    } else {
      for (int i = 0; i < votes(level).offsets() && chosen == no_row; ++i)
        if (costs_of(level, order[i], y)[x] != no_cost) chosen = order[i];
    }
    each(x, chosen);
  }
}

void RowSearch::choose_labels(int level, int y, std::uint16_t* labels) const {
  for_chosen(level, y, [&](int x, int v) {
    const Found own = found(level, v == no_row ? 0 : v);
    labels[x] = v == no_row ? no_label : own.labels[y * own.stride + x];
  });
}

void RowSearch::choose_disparities(int y, float* disparities) const {
  for_chosen(0, y, [&](int x, int v) {
    const Found own = found(0, v == no_row ? 0 : v);
    disparities[x] = v == no_row
                         ? no_value
                         : static_cast<float>(levels_.front().lowest + own.labels[y * own.stride + x]);
  });
}

void RowSearch::choose_row(int y, const std::uint8_t* mask, SubPixel sub_pixel, int uniqueness,
                           const DisparityMap& map) const {
  for_chosen(0, y, [&](int x, int v) {
    const bool any = v != no_row;
    const Found own = found(0, any ? v : 0);
    const std::ptrdiff_t at = y * own.stride + x;
    Status status = any ? Status::matched : Status::out_of_range;
    if (mask != nullptr && mask[x] == 0) status = Status::input_masked;
    if (status == Status::matched && uniqueness > 0 && own.rivals[at] != no_cost &&
        own.rivals[at] <= refine::ambiguity_bound<int>(own.costs[at], uniqueness))
      status = Status::ambiguous;
    const bool matched = status == Status::matched;
    map.status.at(x, y) = code(status);
    map.disparity.at(x, y) = matched ? own.disparities[at] : no_value;
    map.row_offset.at(x, y) =
        matched ? static_cast<float>(v) + votes(0).fraction(x / side, y / side, v, sub_pixel) : no_value;
    if (map.confidence.empty()) return;
    const std::optional<int> rival =
        !any || own.rivals[at] == no_cost ? std::nullopt : std::optional<int>(own.rivals[at]);
    map.confidence.at(x, y) = any ? refine::confidence<int>(own.costs[at], rival) : 0.0f;
  });
}

}  // namespace parallax::census
