// SPDX-License-Identifier: Apache-2.0
// The row offset of each pixel in block matching, from the costs that the passes have kept.
#include <algorithm>

#include "decision/confidence.h"
#include "matchers/block/cpu_kernels.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/block/row_choice_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::block::HWY_NAMESPACE {

constexpr int left_side = 0, right_side = 1;

template <class Cost>
class RowChoice {
  static constexpr Cost no_cost = std::numeric_limits<Cost>::max();

 public:
  explicit RowChoice(const Sweep& sweep) : s_(sweep), rows_(sweep.rows), shape_(sweep.shape) {}

  void count_votes(int first, int last) const {
    for (int square_y = first; square_y < last; ++square_y) {
      count_votes_of_row(left_side, square_y);
      if (s_.finds_right()) count_votes_of_row(right_side, square_y);
    }
  }

  void choose(int first, int last) const {
    for (int y = first; y < last; ++y) {
      stop_if_cancelled();
      for (int x = 0; x < shape_.width; ++x) choose_left(x, y);
      for (int x = 0; s_.finds_right() && x < shape_.width; ++x) choose_right(x, y);
    }
  }

 private:
  Cost* rivals(int pass, int y) const { return rows_.row<Cost>(rows_.rivals, pass, y, rows_.pitch); }

  // The lowest costs of row y in a pass: of left pixels by column, of right pixels by
  // SweepShape::right_index(). Null where no left row was compared with the right one.
  HWY_INLINE const Cost* costs(int side, int pass, int y) const {
    if (side == left_side) return rows_.row<Cost>(rows_.costs, pass, y, rows_.pitch);
    const int left_y = y - rows_.offset(pass);
    if (left_y != s_.row_in_image(left_y)) return nullptr;
    return rows_.row<Cost>(rows_.right_costs, pass, y, rows_.right_pitch);
  }
  // The cost of pixel x, or no_cost.
  HWY_INLINE Cost cost_at(int side, const Cost* costs, int x) const {
    if (side == left_side) return costs[x];
    const std::int64_t j = shape_.right_index(x);
    return costs != nullptr && shape_.has_right(j) ? costs[j] : no_cost;
  }

  HWY_INLINE void count_votes_of_row(int side, int square_y) const {
    const rows::RowVotes& votes = rows_.votes[side];
    const int passes = rows_.passes, end_y = std::min((square_y + 1) * votes.side, shape_.height);
    for (int square_x = 0; square_x < votes.squares().width; ++square_x) {
      std::int64_t* own = votes.own(square_x, square_y);
      std::fill_n(own, passes, 0);
      const int first_x = square_x * votes.side, count = std::min(votes.side, shape_.width - first_x);
      for (int y = square_y * votes.side; y < end_y; ++y) {
        bool all[rows::RowVotes::side];
        std::fill_n(all, count, true);
        for (int pass = 0; pass < passes; ++pass) {
          const Cost* row = costs(side, pass, y);
          for (int i = 0; i < count; ++i) all[i] &= cost_at(side, row, first_x + i) != no_cost;
        }
        for (int pass = 0; pass < passes; ++pass) {
          const Cost* row = costs(side, pass, y);
          std::int64_t sum = 0;
          for (int i = 0; i < count; ++i)
            sum += all[i] ? static_cast<std::int64_t>(cost_at(side, row, first_x + i)) : 0;
          own[pass] += sum;
        }
      }
    }
  }

  // The pass whose row offset a pixel takes; negative where it has no candidate.
  HWY_INLINE int chosen(int side, int x, int y) const {
    const rows::RowVotes& votes = rows_.votes[side];
    const std::int8_t* order = votes.preferred(x / votes.side, y / votes.side);
    for (int i = 0; i < votes.offsets(); ++i) {
      const int pass = order[i] + rows_.passes / 2;
      if (cost_at(side, costs(side, pass, y), x) != no_cost) return pass;
    }
    return -1;
  }

  float right_disparity(int pass, int x, int y) const {
    const Cost* labels = rows_.row<Cost>(rows_.right_labels, pass, y, rows_.right_pitch);
    return shape_.disparity(static_cast<int>(labels[shape_.right_index(x)]));
  }

  HWY_INLINE void choose_right(int x, int y) const {
    const int pass = chosen(right_side, x, y);
    s_.right_disparity.at(x, y) = pass < 0 ? decision::no_value : right_disparity(pass, x, y);
  }

  HWY_INLINE void choose_left(int x, int y) const {
    const rows::RowVotes& votes = rows_.votes[left_side];
    const DisparityMap& map = s_.map;
    const int pass = chosen(left_side, x, y), v = rows_.offset(pass);
    const Status status = s_.judge(x, y, pass >= 0, [&] { return is_ambiguous(x, y, pass); });
    const bool matched = status == Status::matched;
    map.status.at(x, y) = decision::code(status);
    map.disparity.at(x, y) =
        matched ? rows_.row<float>(rows_.disparities, pass, y, rows_.pitch)[x] : decision::no_value;
    map.row_offset.at(x, y) =
        matched ? static_cast<float>(v) + votes.fraction(x / votes.side, y / votes.side, v, s_.sub_pixel)
                : decision::no_value;
    if (!map.confidence.empty())
      map.confidence.at(x, y) = pass < 0 ? 0 : confidence(costs(left_side, pass, y)[x], rivals(pass, y)[x]);
  }

  bool is_ambiguous(int x, int y, int pass) const {
    const Cost best = costs(left_side, pass, y)[x], rival = rivals(pass, y)[x];
    return rival != no_cost && static_cast<std::uint64_t>(rival) <=
                                   decision::ambiguity_bound(static_cast<std::uint64_t>(best), s_.uniqueness);
  }

  const Sweep& s_;
  const RowSearch& rows_;
  const SweepShape shape_;
};

// Calls action(choice) with the type of the costs.
template <class Action>
void with_choice(const Sweep& sweep, const Action& action) {
  switch (cost_bytes(sweep.cost, sweep.sums)) {
    case 2:
      return action(RowChoice<std::uint16_t>(sweep));
    case 4:
      return action(RowChoice<std::uint32_t>(sweep));
    default:
      return action(RowChoice<std::int64_t>(sweep));
  }
}

void count_row_votes_here(const Sweep& sweep, int first, int last) {
  with_choice(sweep, [&](const auto& choice) { choice.count_votes(first, last); });
}

void choose_rows_here(const Sweep& sweep, int first, int last) {
  with_choice(sweep, [&](const auto& choice) { choice.choose(first, last); });
}

}  // namespace parallax::block::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::block {

PARALLAX_DISPATCH(void, count_row_votes, (const Sweep& sweep, int first, int last), (sweep, first, last))
PARALLAX_DISPATCH(void, choose_rows, (const Sweep& sweep, int first, int last), (sweep, first, last))

}  // namespace parallax::block
#endif
