// SPDX-License-Identifier: Apache-2.0
// A sweep over rows: window sums, candidates, winners and the right map, a block of pixels at a time.
#include <algorithm>

#include "core/cancellation.h"
#include "core/integers.h"
#include "matchers/block/cpu_kernels.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/block/sweep_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"
#include "matchers/block/candidates-inl.h"
#include "matchers/block/window_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::block::HWY_NAMESPACE {

// `Sum`: the type of window sums.
template <class Sum, BlockCost cost>
class Sweeper {
  using Cost = std::conditional_t<cost == BlockCost::zncc, std::uint32_t, Sum>;
  using CostTag = hn::ScalableTag<Cost>;
  using Windows = WindowSums<Sum, cost>;
  static constexpr Cost no_cost = std::numeric_limits<Cost>::max();

 public:
  explicit Sweeper(const Sweep& sweep)
      : s_(sweep),
        shape_(sweep.shape),
        windows_(sweep),
        correlation_(sweep),
        costs_(static_cast<Cost*>(sweep.memory.costs)),
        excluded_(static_cast<Cost*>(sweep.memory.excluded)),
        right_costs_(static_cast<Cost*>(sweep.memory.right_costs)),
        right_labels_(static_cast<Cost*>(sweep.memory.right_labels)),
        plain_(sweep.left_mask.empty() && sweep.right_mask.empty() &&
               (sweep.searches_rows() || (sweep.textureless.empty() && sweep.uniqueness == 0))) {}

  void run(int first, int last) {
    windows_.start(first);
    if constexpr (cost == BlockCost::zncc) correlation_.start(first);
    for (int y = first; y < last; ++y) {
      stop_if_cancelled();
      match_row(y);
    }
  }

 private:
  void match_row(int y) {
    const int right_y = s_.right_y(y);
    row_exists_ = right_y == s_.row_in_image(right_y);
    if constexpr (cost == BlockCost::zncc) correlation_.begin_row(y);
    if (row_exists_ && !s_.right_mask.empty()) exclude_masked(right_y);
    if (row_exists_ && s_.finds_right()) begin_right_row(right_y);
    typename Windows::Place place = windows_.begin_row(y);
    for (int x = 0; x < shape_.width; x += shape_.block) {
      const int count = std::min(shape_.block, shape_.width - x);
      if (is_simple(x, count))
        match_block<true>(place, x, count, y);
      else
        match_block<false>(place, x, count, y);
    }
    if (s_.finds_right() && !s_.searches_rows()) write_right_row(s_.right_disparity.row(y));
  }

  // Whether all pixels of a block have all labels as candidates, and only the costs decide.
  bool is_simple(int x, int count) const {
    return plain_ && row_exists_ && windows_.has_all_labels() && shape_.first_candidate(x + count - 1) == 0 &&
           shape_.end_candidate(x) == shape_.labels;
  }

  // The pixels [x, x + count) of a row, in the course of a match.
  struct Block {
    int x, y, count;
    Candidates<Cost> candidates[max_block];
    Cost min_costs[max_block];
    int labels[max_block];
  };

  // Performs each step for all pixels of a block before the next one.
  template <bool simple>
  HWY_INLINE void match_block(typename Windows::Place& place, int x, int count, int y) {
    Block block;
    block.x = x, block.y = y, block.count = count;
    HWY_ALIGN Sum swept[max_block * HWY_MAX_BYTES / sizeof(Sum)];
    windows_.template enter_columns<simple>(place, x, count, swept);
    for (int i = 0; i < count; ++i) {
      if constexpr (simple && cost != BlockCost::zncc)
        block.candidates[i] = {windows_.of(i), 0, shape_.labels};
      else
        block.candidates[i] = candidates_of(i, x + i, y);
    }
    if (s_.finds_right())
      for (int i = 0; i < count; ++i) offer_to_right(block.candidates[i], x + i);
    find_winners<simple>(block, swept);
    if (s_.searches_rows())
      keep(block);
    else
      write<simple>(block);
  }

  // `swept`: of each pixel, the minima of its window sums by lane.
  template <bool simple>
  HWY_INLINE void find_winners(Block& block, const Sum* swept) const {
    // Where the labels fill whole vectors, the sweep has already found the minima.
    if (simple && cost != BlockCost::zncc && Windows::round_up(shape_.labels) == shape_.labels) {
      const typename Windows::SumTag d;
      for (int i = 0; i < block.count; ++i) {
        const auto minima = hn::Load(d, swept + to_size(i) * Windows::lanes());
        block.min_costs[i] = static_cast<Cost>(hn::GetLane(hn::MinOfLanes(d, minima)));
      }
    } else {
      for (int i = 0; i < block.count; ++i) block.min_costs[i] = block.candidates[i].min_cost();
    }
    for (int i = 0; i < block.count; ++i)
      block.labels[i] = !simple && block.min_costs[i] == no_cost
                            ? block.candidates[i].first
                            : block.candidates[i].first_label_of_cost(block.min_costs[i]);
  }

  // Candidates

  Cost* costs(int i) const { return costs_ + to_size(i) * to_size(shape_.padded_labels); }

  // Candidates of pixel x, the i-th of its block.
  HWY_INLINE Candidates<Cost> candidates_of(int i, int x, int y) {
    const int first = shape_.first_candidate(x), end = shape_.end_candidate(x);
    if (first >= end || !row_exists_ || s_.is_masked(x, y)) return {nullptr, 0, 0};
    if constexpr (cost == BlockCost::zncc) {
      correlation_.correlate(windows_.of(i), x, first, end, costs(i));
      if (!s_.right_mask.empty()) exclude(costs(i), x, first, end, costs(i));
      return {costs(i), first, end};
    } else {
      if (s_.right_mask.empty()) return {windows_.of(i), first, end};
      exclude(windows_.of(i), x, first, end, costs(i));
      return {costs(i), first, end};
    }
  }

  // out = in, or no_cost where the right pixel is masked.
  void exclude(const Cost* in, int x, int first, int end, Cost* out) const {
    const CostTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Cost* excluded = excluded_ + shape_.mirrored(x);
    for (int k = first; k < end; k += lanes)
      hn::StoreU(hn::Or(hn::LoadU(d, in + k), hn::LoadU(d, excluded + k)), d, out + k);
  }

  void exclude_masked(int right_y) {
    for (int j = 0; j < shape_.right_columns(); ++j) {
      const std::int64_t x = shape_.right_index(0) - j;
      const bool masked = x >= 0 && x < shape_.width && s_.right_mask.at(static_cast<int>(x), right_y) == 0;
      excluded_[j] = masked ? no_cost : Cost{0};
    }
  }

  // The right map

  // With row offsets, the right pixels of each pass are kept.
  void begin_right_row(int right_y) {
    const RowSearch& rows = s_.rows;
    if (s_.searches_rows()) {
      right_costs_ = rows.row<Cost>(rows.right_costs, rows.pass, right_y, rows.right_pitch);
      right_labels_ = rows.row<Cost>(rows.right_labels, rows.pass, right_y, rows.right_pitch);
    }
    std::fill_n(right_costs_, shape_.right_columns(), no_cost);
  }

  // Every right pixel keeps its lowest cost so far. Left pixels come from left to right, so equal costs come
  // in the order of their labels.
  HWY_INLINE void offer_to_right(const Candidates<Cost>& candidates, int x) {
    const CostTag d;
    Cost* best = right_costs_ + shape_.mirrored(x);
    Cost* labels = right_labels_ + shape_.mirrored(x);
#if PARALLAX_NEON_VECTORS
    const auto lanes = hn::Iota(d, Cost{0});
#endif
    candidates.for_labels([&](auto costs, int k) HWY_ATTR {
      const auto old = hn::LoadU(d, best + k);
      const auto better = hn::Lt(costs, old);
      hn::StoreU(hn::Min(costs, old), d, best + k);
#if PARALLAX_NEON_VECTORS
      // Iota(d, k) would insert its lanes one by one.
      const auto own = hn::Add(hn::Set(d, static_cast<Cost>(k)), lanes);
      hn::StoreU(hn::IfThenElse(better, own, hn::LoadU(d, labels + k)), d, labels + k);
#else
      hn::StoreU(hn::IfThenElse(better, hn::Iota(d, static_cast<Cost>(k)), hn::LoadU(d, labels + k)), d,
                 labels + k);
#endif
    });
  }

  void write_right_row(float* row) const {
    for (int x = 0; x < shape_.width; ++x) {
      const std::int64_t j = shape_.right_index(x);
      const bool seen = shape_.has_right(j) && right_costs_[j] != no_cost;
      row[x] = seen ? shape_.disparity(static_cast<int>(right_labels_[j])) : decision::no_value;
    }
  }

  // Results

  template <bool simple>
  HWY_INLINE void write(const Block& block) const {
    const int x = block.x, y = block.y, count = block.count;
    float* disparity = s_.map.disparity.row(y) + x;
    std::uint8_t* status = s_.map.status.row(y) + x;
    write_disparities(block, disparity);
    if (!s_.map.confidence.empty())
      for (int i = 0; i < count; ++i)
        s_.map.confidence.row(y)[x + i] = block.candidates[i].confidence(block.labels[i]);
    std::fill_n(status, count, decision::code(Status::matched));
    if constexpr (simple) return;
    for (int i = 0; i < count; ++i) {
      const Status verdict = s_.judge(x + i, y, block.min_costs[i] != no_cost, [&]() HWY_ATTR {
        return block.candidates[i].is_ambiguous(block.labels[i], s_.uniqueness);
      });
      status[i] = decision::code(verdict);
      if (verdict != Status::matched) disparity[i] = decision::no_value;
    }
  }

  // With row offsets: keeps what the pass has found.
  HWY_INLINE void keep(const Block& block) const {
    const RowSearch& rows = s_.rows;
    std::copy_n(block.min_costs, block.count,
                rows.row<Cost>(rows.costs, rows.pass, block.y, rows.pitch) + block.x);
    write_disparities(block, rows.row<float>(rows.disparities, rows.pass, block.y, rows.pitch) + block.x);
    if (!rows.with_rivals) return;
    Cost* rivals = rows.row<Cost>(rows.rivals, rows.pass, block.y, rows.pitch) + block.x;
    for (int i = 0; i < block.count; ++i) rivals[i] = block.candidates[i].rival(block.labels[i]);
  }

  HWY_INLINE void write_disparities(const Block& block, float* out) const {
    HWY_ALIGN float disparities[max_block] = {}, numerator[max_block] = {}, denominator[max_block] = {};
    for (int i = 0; i < block.count; ++i) {
      const decision::Fraction offset = block.candidates[i].fraction(block.labels[i], s_.sub_pixel);
      disparities[i] = shape_.disparity(block.labels[i]);
      numerator[i] = offset.numerator;
      denominator[i] = offset.denominator;
    }
    const hn::CappedTag<float, max_block> d;
    for (int i = 0; i < block.count; i += static_cast<int>(hn::Lanes(d))) {
      const auto offset = hn::Div(hn::Load(d, numerator + i), hn::Load(d, denominator + i));
      hn::Store(hn::Add(hn::Load(d, disparities + i), offset), d, disparities + i);
    }
    std::copy_n(disparities, block.count, out);
  }

  const Sweep& s_;
  const SweepShape shape_;
  Windows windows_;
  const Correlation<Sum> correlation_;
  Cost* const costs_;
  Cost* const excluded_;
  Cost* right_costs_;
  Cost* right_labels_;
  const bool plain_;        // no mask and no check: a pixel with a candidate is a matched pixel
  bool row_exists_ = true;  // whether the right image has the row that this one is compared with
};

void sweep_rows_here(const Sweep& sweep, int first, int last) {
  const auto run = [&](auto sweeper) { sweeper.run(first, last); };
  const bool wide = sweep.sums == Sums::bits64;
  switch (sweep.cost) {
    case BlockCost::sad:
      return sweep.sums == Sums::bits16 ? run(Sweeper<std::uint16_t, BlockCost::sad>(sweep))
                                        : run(Sweeper<std::uint32_t, BlockCost::sad>(sweep));
    case BlockCost::ssd:
      return wide ? run(Sweeper<std::int64_t, BlockCost::ssd>(sweep))
                  : run(Sweeper<std::uint32_t, BlockCost::ssd>(sweep));
    case BlockCost::zncc:
      return wide ? run(Sweeper<std::int64_t, BlockCost::zncc>(sweep))
                  : run(Sweeper<std::uint32_t, BlockCost::zncc>(sweep));
  }
}

}  // namespace parallax::block::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::block {

PARALLAX_DISPATCH(void, sweep_rows, (const Sweep& sweep, int first, int last), (sweep, first, last))

}  // namespace parallax::block
#endif
