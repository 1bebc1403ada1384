// SPDX-License-Identifier: Apache-2.0
#include "matchers/block/cpu_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decision/confidence.h"
#include "decision/sub_pixel.h"
#include "matchers/block/block.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matchers/block/cpu_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::block::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using refine::code;
using refine::no_value;

constexpr int left_side = 0, right_side = 1;

// Terms of a window sum, in lanes of the sums, for one left value and the right values at `right`, of
// neighbouring labels. "Values" are bounded by plan_search()'s highest value of the filtered images.

// Sums of 16 bits: values below 2¹⁵.
template <BlockCost cost, class D>
HWY_INLINE hn::Vec<D> term(D d, hwy::SizeTag<2>, std::uint16_t left, const std::uint16_t* right) {
  static_assert(cost == BlockCost::sad);
  const hn::RebindToSigned<D> d_signed;
  const auto difference =
      hn::Sub(hn::BitCast(d_signed, hn::Set(d, left)), hn::BitCast(d_signed, hn::LoadU(d, right)));
  return hn::BitCast(d, hn::Abs(difference));
}

// Sums of 32 bits: products of values below 2⁸, differences of any.
template <BlockCost cost, class D>
HWY_INLINE hn::Vec<D> term(D d, hwy::SizeTag<4>, std::uint16_t left, const std::uint16_t* right) {
  const hn::Rebind<std::uint16_t, D> d16;
  const auto l = hn::Set(d16, left), r = hn::LoadU(d16, right);
  if constexpr (cost == BlockCost::zncc) return hn::PromoteTo(d, hn::Mul(l, r));
  const auto difference = hn::Or(hn::SaturatedSub(l, r), hn::SaturatedSub(r, l));
  return hn::PromoteTo(d, cost == BlockCost::ssd ? hn::Mul(difference, difference) : difference);
}

// Sums of 64 bits: anything.
template <BlockCost cost, class D>
HWY_INLINE hn::Vec<D> term(D d, hwy::SizeTag<8>, std::uint16_t left, const std::uint16_t* right) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::uint32_t, D> d32;
  const auto l = hn::Set(d32, static_cast<std::uint32_t>(left)),
             r = hn::PromoteTo(d32, hn::LoadU(d16, right));
  const hn::RebindToUnsigned<D> d_unsigned;
  if constexpr (cost == BlockCost::zncc) return hn::BitCast(d, hn::PromoteTo(d_unsigned, hn::Mul(l, r)));
  const auto difference = hn::Sub(hn::Max(l, r), hn::Min(l, r));
  return hn::BitCast(d, hn::PromoteTo(d_unsigned, hn::Mul(difference, difference)));
}

// One sweep's arithmetic: Sum is the lane type of the sums.
template <class Sum, BlockCost cost>
class Sweeper {
  using Cost = std::conditional_t<cost == BlockCost::zncc, std::uint32_t, Sum>;
  using SumTag = hn::ScalableTag<Sum>;
  using CostTag = hn::ScalableTag<Cost>;
  static constexpr Cost no_cost = std::numeric_limits<Cost>::max();

 public:
  explicit Sweeper(const Sweep& sweep)
      : s_(sweep),
        shape_(sweep.shape),
        columns_(static_cast<Sum*>(sweep.memory.columns)),
        zeros_(static_cast<Sum*>(sweep.memory.zeros)),
        window_sums_(static_cast<Sum*>(sweep.memory.window_sums)),
        costs_(static_cast<Cost*>(sweep.memory.costs)),
        excluded_(static_cast<Cost*>(sweep.memory.excluded)),
        right_costs_(static_cast<Cost*>(sweep.memory.right_costs)),
        right_labels_(static_cast<Cost*>(sweep.memory.right_labels)),
        plain_(sweep.left_mask.empty() && sweep.right_mask.empty() &&
               (searches_rows() || (sweep.textureless.empty() && sweep.uniqueness == 0))) {}

  void run(int first, int last) {
    start(first);
    for (int y = first; y < last; ++y) match_row(y);
  }

  void count_row_votes(int first, int last) const {
    for (const int side : {left_side, right_side})
      if (side == left_side || right_wanted())
        for (int y = first; y < last; ++y) count_votes(side, y);
  }

  void choose_rows(int first, int last) const {
    for (int y = first; y < last; ++y) {
      choose_left_row(y);
      if (right_wanted()) choose_right_row(y);
    }
  }

 private:
  int row_in_image(int y) const { return std::clamp(y, 0, shape_.height - 1); }
  bool searches_rows() const { return s_.rows.passes > 0; }
  // The row of the right image that row y is compared with; it may lie outside.
  int right_y(int y) const { return searches_rows() ? y + s_.rows.offset(s_.rows.pass) : y; }
  const std::uint16_t* right_pixels(int y) const { return s_.right.row(row_in_image(right_y(y))); }
  Sum* column(int u) const {
    return columns_ +
           static_cast<std::size_t>(u + shape_.radius) * static_cast<std::size_t>(shape_.padded_labels);
  }

  // Column sums of the window of the row above `first`.
  void start(int first) {
    std::fill_n(columns_,
                static_cast<std::size_t>(shape_.columns()) * static_cast<std::size_t>(shape_.padded_labels),
                Sum{0});
    std::fill_n(zeros_, shape_.padded_labels, Sum{0});
    for (int y = first - 1 - shape_.radius; y < first + shape_.radius; ++y) add_row(y);
    if constexpr (cost == BlockCost::zncc) start_statistics(first);
  }

  void add_row(int y) {
    const SumTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int u = -shape_.radius; u < shape_.width + shape_.radius; ++u) {
      const std::uint16_t left = s_.left.row(row_in_image(y))[u + shape_.radius];
      const std::uint16_t* right = right_pixels(y) + shape_.mirrored(u);
      Sum* sums = column(u);
      const int end = shape_.end_label(u);
      for (int k = shape_.first_label(u) / lanes * lanes; k < end; k += lanes)
        hn::Store(hn::Add(hn::Load(d, sums + k), term<cost>(d, hwy::SizeTag<sizeof(Sum)>(), left, right + k)),
                  d, sums + k);
    }
  }

  int rounded_down(int label) const {
    return label / static_cast<int>(sum_lanes()) * static_cast<int>(sum_lanes());
  }
  int round_up(int label) const { return rounded_down(label + static_cast<int>(sum_lanes()) - 1); }
  static std::size_t sum_lanes() { return hn::Lanes(SumTag()); }

  // Window sums of the pixels of a block, stored separately, so that the work on one need not wait for that
  // on another.
  Sum* window_sums(int i) const {
    return window_sums_ + static_cast<std::size_t>(i) * static_cast<std::size_t>(shape_.padded_labels);
  }
  Cost* costs(int i) const {
    return costs_ + static_cast<std::size_t>(i) * static_cast<std::size_t>(shape_.padded_labels);
  }

  // The rows that the window gains and loses, and where column u stands in them.
  struct Place {
    int u;
    const std::uint16_t *left_new, *left_old;    // the pixel of column u
    const std::uint16_t *right_new, *right_old;  // the pixel of its label 0
    Sum* column;

    void advance(int padded_labels) {
      ++u, ++left_new, ++left_old, --right_new, --right_old;
      column += padded_labels;
    }
  };

  // Moves the labels [begin, end) of a column down by a row, and lets it enter the window while `leaving`
  // leaves: after = before + column − leaving. Returns the lowest window sums, by lane.
  HWY_INLINE hn::Vec<SumTag> enter_column(const Place& place, int begin, int end,
                                          const Sum* HWY_RESTRICT leaving, const Sum* before,
                                          Sum* HWY_RESTRICT after) const {
    const SumTag d;
    const hwy::SizeTag<sizeof(Sum)> size;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const std::uint16_t l_new = *place.left_new, l_old = *place.left_old;
    const std::uint16_t* HWY_RESTRICT r_new = place.right_new;
    const std::uint16_t* HWY_RESTRICT r_old = place.right_old;
    Sum* HWY_RESTRICT column = place.column;
    auto lowest = hn::Set(d, std::numeric_limits<Sum>::max());
    for (int k = begin; k < end; k += lanes) {
      const auto change =
          hn::Sub(term<cost>(d, size, l_new, r_new + k), term<cost>(d, size, l_old, r_old + k));
      const auto sum = hn::Add(hn::Load(d, column + k), change);
      hn::Store(sum, d, column + k);
      const auto window = hn::Add(hn::Load(d, before + k), hn::Sub(sum, hn::Load(d, leaving + k)));
      hn::Store(window, d, after + k);
      lowest = hn::Min(lowest, window);
    }
    return lowest;
  }

  // The same for those labels that any window needs of this column.
  HWY_INLINE void enter_partial_column(const Place& place, const Sum* leaving, Sum* before, Sum* after) {
    const SumTag d;
    const int end = round_up(shape_.end_label(place.u));
    // Labels whose first column this is.
    for (; labels_begun_ < end; labels_begun_ += static_cast<int>(hn::Lanes(d)))
      hn::Store(hn::Zero(d), d, before + labels_begun_);
    enter_column(place, rounded_down(shape_.first_label(place.u)), end, leaving, before, after);
  }

  void match_row(int y) {
    const int y_new = y + shape_.radius, y_old = y - shape_.radius - 1;
    if constexpr (cost == BlockCost::zncc) move_statistics(y_new, y_old);
    row_exists_ = right_y(y) == row_in_image(right_y(y));
    if (row_exists_ && !s_.right_mask.empty()) exclude_masked(right_y(y));
    if (right_wanted()) start_right_row(right_y(y));
    const int mirrored = shape_.mirrored(-shape_.radius), last = shape_.block - 1;
    Place place{-shape_.radius,
                s_.left.row(row_in_image(y_new)),
                s_.left.row(row_in_image(y_old)),
                right_pixels(y_new) + mirrored,
                right_pixels(y_old) + mirrored,
                columns_};
    labels_begun_ = 0;
    for (; place.u < shape_.radius; place.advance(shape_.padded_labels))
      enter_partial_column(place, zeros_, window_sums(last), window_sums(last));
    for (int x = 0; x < shape_.width; x += shape_.block) {
      const int count = std::min(shape_.block, shape_.width - x);
      if (is_simple(x, count))
        match_block<true>(place, x, count, y);
      else
        match_block<false>(place, x, count, y);
    }
    if (right_wanted() && !searches_rows()) write_right_row(s_.right_disparity.row(y));
  }

  bool right_wanted() const { return !s_.right_disparity.empty(); }

  // Whether all pixels of a block have all labels as candidates, and only the costs decide.
  bool is_simple(int x, int count) const {
    return plain_ && row_exists_ && labels_begun_ >= shape_.labels &&
           shape_.first_candidate(x + count - 1) == 0 && shape_.end_candidate(x) == shape_.labels;
  }

  // Performs each step for all pixels of a block before the next.
  template <bool simple>
  HWY_INLINE void match_block(Place& place, int x, int count, int y) {
    Candidates candidates[most_block];
    Cost lowest[most_block];
    int labels[most_block];
    HWY_ALIGN Sum swept[most_block * HWY_MAX_BYTES / sizeof(Sum)];
    enter_columns<simple>(place, x, count, swept);
    for (int i = 0; i < count; ++i) {
      if constexpr (simple && cost != BlockCost::zncc)
        candidates[i] = {window_sums(i), 0, shape_.labels};
      else
        candidates[i] = candidates_of(i, x + i, y);
    }
    if (right_wanted())
      for (int i = 0; i < count; ++i) offer_to_right(candidates[i], x + i);
    // Where the labels fill whole vectors, the sweep has already found the minima.
    if (simple && cost != BlockCost::zncc && round_up(shape_.labels) == shape_.labels) {
      const SumTag d;
      for (int i = 0; i < count; ++i) {
        const auto minima = hn::Load(d, swept + static_cast<std::size_t>(i) * sum_lanes());
        lowest[i] = static_cast<Cost>(hn::GetLane(hn::MinOfLanes(d, minima)));
      }
    } else {
      for (int i = 0; i < count; ++i) lowest[i] = lowest_cost(candidates[i]);
    }
    for (int i = 0; i < count; ++i)
      labels[i] = !simple && lowest[i] == no_cost ? candidates[i].first
                                                  : first_label_of_cost(candidates[i], lowest[i]);
    if (searches_rows()) return keep(candidates, labels, lowest, x, count, y);
    float* disparity = s_.map.disparity.row(y) + x;
    std::uint8_t* status = s_.map.status.row(y) + x;
    write_disparities(candidates, labels, count, disparity);
    if (!s_.map.confidence.empty())
      write_confidences(candidates, labels, count, s_.map.confidence.row(y) + x);
    std::fill_n(status, count, code(Status::matched));
    if constexpr (simple) return;
    for (int i = 0; i < count; ++i) {
      const Status verdict = judge(candidates[i], x + i, y, labels[i], lowest[i]);
      status[i] = code(verdict);
      if (verdict != Status::matched) disparity[i] = no_value;
    }
  }

  // Window sums of the pixels [x, x + count); `minima` gets a vector of minima over the labels for each, if
  // simple.
  template <bool simple>
  HWY_INLINE void enter_columns(Place& place, int x, int count, Sum* minima) {
    Sum* before = window_sums(shape_.block - 1);
    Sum* after = window_sums(0);
    for (int i = 0; i < count; ++i) {
      // No column leaves before the first one has entered.
      const Sum* leaving = x + i == 0 ? zeros_ : place.column - window_columns();
      if constexpr (simple)
        hn::Store(enter_column(place, 0, round_up(shape_.labels), leaving, before, after), SumTag(),
                  minima + static_cast<std::size_t>(i) * sum_lanes());
      else
        enter_partial_column(place, leaving, before, after);
      place.advance(shape_.padded_labels);
      before = after;
      after += shape_.padded_labels;
    }
  }

  std::ptrdiff_t window_columns() const {
    return static_cast<std::ptrdiff_t>(shape_.window()) * shape_.padded_labels;
  }

  // The labels [first, end) of a pixel and their costs; `costs` is undefined for other labels.
  struct Candidates {
    const Cost* costs;
    int first, end;
  };

  bool masked(int x, int y) const { return !s_.left_mask.empty() && s_.left_mask.at(x, y) == 0; }

  // Candidates of pixel x, the i-th of its block.
  HWY_INLINE Candidates candidates_of(int i, int x, int y) {
    const int first = shape_.first_candidate(x), end = shape_.end_candidate(x);
    if (first >= end || !row_exists_ || masked(x, y)) return {nullptr, 0, 0};
    if constexpr (cost == BlockCost::zncc) {
      correlate(window_sums(i), x, first, end, costs(i));
      if (!s_.right_mask.empty()) exclude(costs(i), x, first, end, costs(i));
      return {costs(i), first, end};
    } else {
      if (s_.right_mask.empty()) return {window_sums(i), first, end};
      exclude(window_sums(i), x, first, end, costs(i));
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

  void exclude_masked(int y) {
    for (int j = 0; j < shape_.right_columns(); ++j) {
      const std::int64_t x = static_cast<std::int64_t>(shape_.mirrored(0)) - shape_.lowest - j;
      const bool masked = x >= 0 && x < shape_.width && s_.right_mask.at(static_cast<int>(x), y) == 0;
      excluded_[j] = masked ? no_cost : Cost{0};
    }
  }

  // Calls each(costs of some labels, first of them) for all candidates; a vector's lanes beyond the last hold
  // no_cost.
  template <class Each>
  HWY_INLINE void for_labels(const Candidates& c, const Each& each) const {
    const CostTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int k = c.first;
    for (; k + lanes <= c.end; k += lanes) each(hn::LoadU(d, c.costs + k), k);
    if (k == c.end) return;
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(c.end - k));
    each(hn::IfThenElse(inside, hn::LoadU(d, c.costs + k), hn::Set(d, no_cost)), k);
  }

  // no_cost when there is no candidate.
  HWY_INLINE Cost lowest_cost(const Candidates& c) const {
    const CostTag d;
    auto lowest = hn::Set(d, no_cost);
    for_labels(c, [&](auto costs, int) HWY_ATTR { lowest = hn::Min(lowest, costs); });
    return hn::GetLane(hn::MinOfLanes(d, lowest));
  }

  // `wanted` must occur.
  HWY_INLINE int first_label_of_cost(const Candidates& c, Cost wanted) const {
    const CostTag d;
    const auto value = hn::Set(d, wanted);
    for (int k = c.first;; k += static_cast<int>(hn::Lanes(d))) {
      const auto lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, c.costs + k), value));
      if (lane >= 0) return k + static_cast<int>(lane);
    }
  }

  Status judge(const Candidates& c, int x, int y, int label, Cost lowest) const {
    if (masked(x, y)) return Status::input_masked;
    if (lowest == no_cost) return Status::out_of_range;
    if (!s_.textureless.empty() && s_.textureless.at(x, y) != 0) return Status::textureless;
    if (s_.uniqueness > 0 && ambiguous(c, label)) return Status::ambiguous;
    return Status::matched;
  }

  bool ambiguous(const Candidates& c, int label) const {
    const CostTag d;
    const std::uint64_t bound =
        refine::ambiguity_bound(static_cast<std::uint64_t>(c.costs[label]), s_.uniqueness);
    const Cost limit =
        static_cast<Cost>(std::min<std::uint64_t>(bound + 1, static_cast<std::uint64_t>(no_cost)));
    std::size_t as_good = 0;
    for_labels(
        c, [&](auto costs, int) HWY_ATTR { as_good += hn::CountTrue(d, hn::Lt(costs, hn::Set(d, limit))); });
    for (int k = std::max(c.first, label - 1); k < std::min(c.end, label + 2); ++k)
      as_good -= c.costs[k] < limit;
    return as_good > 0;
  }

  // The fraction of a pixel by which the minimum differs from the label; 0 where a neighbour is no candidate.
  HWY_INLINE refine::Fraction fraction(const Candidates& c, int label) const {
    if (s_.sub_pixel == SubPixel::none || label == c.first || label + 1 >= c.end) return {};
    const Cost before = c.costs[label - 1], best = c.costs[label], after = c.costs[label + 1];
    if (before == no_cost || after == no_cost) return {};
    return refine::sub_pixel_offset(s_.sub_pixel, static_cast<std::int64_t>(before),
                                    static_cast<std::int64_t>(best), static_cast<std::int64_t>(after));
  }

  HWY_INLINE void write_disparities(const Candidates* candidates, const int* labels, int count,
                                    float* out) const {
    HWY_ALIGN float disparities[most_block] = {}, numerator[most_block] = {}, denominator[most_block] = {};
    for (int i = 0; i < count; ++i) {
      const refine::Fraction offset = fraction(candidates[i], labels[i]);
      disparities[i] = static_cast<float>(shape_.lowest + labels[i]);
      numerator[i] = offset.numerator;
      denominator[i] = offset.denominator;
    }
    const hn::CappedTag<float, most_block> d;
    for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d))) {
      const auto offset = hn::Div(hn::Load(d, numerator + i), hn::Load(d, denominator + i));
      hn::Store(hn::Add(hn::Load(d, disparities + i), offset), d, disparities + i);
    }
    std::copy_n(disparities, count, out);
  }

  HWY_INLINE void write_confidences(const Candidates* candidates, const int* labels, int count,
                                    float* out) const {
    for (int i = 0; i < count; ++i) out[i] = confidence(candidates[i], labels[i]);
  }

  // 0 where there is no candidate.
  HWY_INLINE float confidence(const Candidates& c, int label) const {
    if (c.first == c.end || c.costs[label] == no_cost) return 0;
    return confidence(c.costs[label], rival(c, label));
  }
  static float confidence(Cost best, Cost rival) {
    if (rival == no_cost) return 1;
    return refine::confidence<std::int64_t>(static_cast<std::int64_t>(best),
                                            static_cast<std::int64_t>(rival));
  }

  // The lowest cost of a label more than one away, or no_cost.
  HWY_INLINE Cost rival(const Candidates& c, int label) const {
    return std::min(lowest_cost({c.costs, c.first, std::max(c.first, label - 1)}),
                    lowest_cost({c.costs, std::min(c.end, label + 2), c.end}));
  }

  // Every right pixel keeps its lowest cost so far. Left pixels come from left to right, so equal costs come
  // in the order of their labels.
  HWY_INLINE void offer_to_right(const Candidates& c, int x) {
    const CostTag d;
    Cost* best = right_costs_ + shape_.mirrored(x);
    Cost* labels = right_labels_ + shape_.mirrored(x);
    for_labels(c, [&](auto costs, int k) HWY_ATTR {
      const auto old = hn::LoadU(d, best + k);
      const auto better = hn::Lt(costs, old);
      hn::StoreU(hn::Min(costs, old), d, best + k);
      hn::StoreU(hn::IfThenElse(better, hn::Iota(d, static_cast<Cost>(k)), hn::LoadU(d, labels + k)), d,
                 labels + k);
    });
  }

  // Across rows, those of each pass are kept. Right pixels outside the image are not offered any.
  void start_right_row(int right_y) {
    if (!row_exists_) return;
    if (searches_rows()) {
      right_costs_ = row_of<Cost>(s_.rows.right_costs, s_.rows.pass, right_y, s_.rows.right_pitch);
      right_labels_ = row_of<Cost>(s_.rows.right_labels, s_.rows.pass, right_y, s_.rows.right_pitch);
    }
    std::fill_n(right_costs_, shape_.right_columns(), no_cost);
  }

  void write_right_row(float* row) const {
    for (int x = 0; x < shape_.width; ++x) {
      const std::int64_t j = static_cast<std::int64_t>(shape_.mirrored(0)) - shape_.lowest - x;
      const bool seen = j >= 0 && j < shape_.right_columns() && right_costs_[j] != no_cost;
      row[x] = seen ? static_cast<float>(shape_.lowest + static_cast<int>(right_labels_[j])) : no_value;
    }
  }

  // Across rows.

  template <class T>
  T* row_of(void* planes, int pass, int y, std::ptrdiff_t pitch) const {
    return static_cast<T*>(planes) + (static_cast<std::ptrdiff_t>(pass) * shape_.height + y) * pitch;
  }
  Cost* costs_of(int pass, int y) const { return row_of<Cost>(s_.rows.costs, pass, y, s_.rows.pitch); }
  float* disparities_of(int pass, int y) const {
    return row_of<float>(s_.rows.disparities, pass, y, s_.rows.pitch);
  }
  Cost* rivals_of(int pass, int y) const { return row_of<Cost>(s_.rows.rivals, pass, y, s_.rows.pitch); }

  HWY_INLINE void keep(const Candidates* candidates, const int* labels, const Cost* lowest, int x, int count,
                       int y) const {
    const int pass = s_.rows.pass;
    std::copy_n(lowest, count, costs_of(pass, y) + x);
    write_disparities(candidates, labels, count, disparities_of(pass, y) + x);
    if (!s_.rows.with_rivals) return;
    for (int i = 0; i < count; ++i) rivals_of(pass, y)[x + i] = rival(candidates[i], labels[i]);
  }

  // Place of a right pixel in the mirrored order; outside right_columns() for pixels that no label reaches.
  std::int64_t place_of_right(int x) const {
    return static_cast<std::int64_t>(shape_.mirrored(0)) - shape_.lowest - x;
  }

  // The lowest cost of a pixel of that side, or no_cost.
  HWY_INLINE Cost cost_of(int side, int pass, int x, int y) const {
    if (side == left_side) return costs_of(pass, y)[x];
    const std::int64_t j = place_of_right(x);
    // No left pixel was compared with its row, if that would be outside.
    const int left_y = y - s_.rows.offset(pass);
    if (j < 0 || j >= shape_.right_columns() || left_y != row_in_image(left_y)) return no_cost;
    return row_of<Cost>(s_.rows.right_costs, pass, y, s_.rows.right_pitch)[j];
  }

  void count_votes(int side, int square_y) const {
    const rows::RowVotes& votes = s_.rows.votes[side];
    const int passes = s_.rows.passes, end_y = std::min((square_y + 1) * votes.side, shape_.height);
    for (int square_x = 0; square_x < votes.squares().width; ++square_x) {
      std::int64_t* own = votes.own(square_x, square_y);
      std::fill_n(own, passes, 0);
      const int first_x = square_x * votes.side, count = std::min(votes.side, shape_.width - first_x);
      for (int y = square_y * votes.side; y < end_y; ++y) {
        bool all[rows::RowVotes::side];
        std::fill_n(all, count, true);
        for (int pass = 0; pass < passes; ++pass)
          for (int i = 0; i < count; ++i) all[i] &= cost_of(side, pass, first_x + i, y) != no_cost;
        for (int pass = 0; pass < passes; ++pass)
          for (int i = 0; i < count; ++i)
            own[pass] += all[i] ? static_cast<std::int64_t>(cost_of(side, pass, first_x + i, y)) : 0;
      }
    }
  }

  // The pass that a pixel takes; negative where it has no candidate.
  HWY_INLINE int chosen(int side, int x, int y) const {
    const rows::RowVotes& votes = s_.rows.votes[side];
    const std::int8_t* order = votes.preferred(x / votes.side, y / votes.side);
    for (int i = 0; i < votes.offsets(); ++i) {
      const int pass = order[i] + s_.rows.passes / 2;
      if (cost_of(side, pass, x, y) != no_cost) return pass;
    }
    return -1;
  }

  void choose_right_row(int y) const {
    for (int x = 0; x < shape_.width; ++x) {
      const int pass = chosen(right_side, x, y);
      float& disparity = s_.right_disparity.at(x, y);
      disparity = no_value;
      if (pass < 0) continue;
      const Cost label = row_of<Cost>(s_.rows.right_labels, pass, y, s_.rows.right_pitch)[place_of_right(x)];
      disparity = static_cast<float>(shape_.lowest + static_cast<int>(label));
    }
  }

  void choose_left_row(int y) const {
    const rows::RowVotes& votes = s_.rows.votes[left_side];
    const DisparityMap& map = s_.map;
    for (int x = 0; x < shape_.width; ++x) {
      const int pass = chosen(left_side, x, y);
      const Status verdict = judge_across_rows(x, y, pass);
      const bool matched = verdict == Status::matched;
      map.status.at(x, y) = code(verdict);
      map.disparity.at(x, y) = matched ? disparities_of(pass, y)[x] : no_value;
      const int v = s_.rows.offset(pass);
      map.row_offset.at(x, y) =
          matched ? static_cast<float>(v) + votes.fraction(x / votes.side, y / votes.side, v, s_.sub_pixel)
                  : no_value;
      if (!map.confidence.empty())
        map.confidence.at(x, y) = pass < 0 ? 0 : confidence(costs_of(pass, y)[x], rivals_of(pass, y)[x]);
    }
  }

  // `pass`: negative where there is no candidate.
  Status judge_across_rows(int x, int y, int pass) const {
    if (masked(x, y)) return Status::input_masked;
    if (pass < 0) return Status::out_of_range;
    if (!s_.textureless.empty() && s_.textureless.at(x, y) != 0) return Status::textureless;
    if (s_.uniqueness == 0) return Status::matched;
    const Cost best = costs_of(pass, y)[x], other = rivals_of(pass, y)[x];
    const bool as_good =
        other != no_cost && static_cast<std::uint64_t>(other) <=
                                refine::ambiguity_bound(static_cast<std::uint64_t>(best), s_.uniqueness);
    return as_good ? Status::ambiguous : Status::matched;
  }

  // ZNCC. Column statistics: [Σ left | Σ left² | Σ right | Σ right²], of the w rows of the window.

  struct ColumnStatistics {
    std::int64_t* sums;
    std::int64_t* squares;
    int count;
  };
  ColumnStatistics left_columns() const {
    return {s_.memory.column_statistics, s_.memory.column_statistics + shape_.columns(), shape_.columns()};
  }
  ColumnStatistics right_columns() const {
    std::int64_t* sums = s_.memory.column_statistics + 2 * static_cast<std::ptrdiff_t>(shape_.columns());
    return {sums, sums + shape_.right_columns(), shape_.right_columns()};
  }

  static void change(const ColumnStatistics& columns, const std::uint16_t* row, int sign) {
    for (int i = 0; i < columns.count; ++i) {
      const std::int64_t value = row[i];
      columns.sums[i] += sign * value;
      columns.squares[i] += sign * value * value;
    }
  }

  void change_rows(int y, int sign) {
    change(left_columns(), s_.left.row(row_in_image(y)), sign);
    change(right_columns(), right_pixels(y), sign);
  }

  void start_statistics(int first) {
    for (const ColumnStatistics& columns : {left_columns(), right_columns()}) {
      std::fill_n(columns.sums, columns.count, 0);
      std::fill_n(columns.squares, columns.count, 0);
    }
    for (int y = first - 1 - shape_.radius; y < first + shape_.radius; ++y) change_rows(y, 1);
  }

  // Sum and 1/√(n·Σ² − (Σ)²) of every window; the window of result i begins at column i.
  void window_statistics(const ColumnStatistics& columns, double* sums, double* scales) const {
    const std::int64_t n = static_cast<std::int64_t>(shape_.window()) * shape_.window();
    std::int64_t sum = 0, squares = 0;
    for (int i = 0; i < columns.count; ++i) {
      sum += columns.sums[i];
      squares += columns.squares[i];
      const int begin = i - shape_.window() + 1;
      if (begin < 0) continue;
      const std::int64_t variance = n * squares - sum * sum;
      sums[begin] = static_cast<double>(sum);
      scales[begin] = variance > 0 ? 1.0 / std::sqrt(static_cast<double>(variance)) : 0.0;
      sum -= columns.sums[begin];
      squares -= columns.squares[begin];
    }
  }

  void move_statistics(int y_new, int y_old) {
    change_rows(y_new, 1);
    change_rows(y_old, -1);
    window_statistics(left_columns(), s_.memory.left_sums, s_.memory.left_scales);
    // A right window is centred at its index.
    window_statistics(right_columns(), s_.memory.right_sums + shape_.radius,
                      s_.memory.right_scales + shape_.radius);
  }

  // Costs from the window sums ΣLR of pixel x. Sums and their products are integers below 2⁵³: exact.
  void correlate(const Sum* sums, int x, int first, int end, Cost* out) const {
    using RealTag = hn::ScalableTag<double>;
    const RealTag d;
    const hn::Rebind<std::int32_t, RealTag> d32;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto n = hn::Set(d, static_cast<double>(shape_.window() * shape_.window()));
    const auto left_sum = hn::Set(d, s_.memory.left_sums[x]),
               left_scale = hn::Set(d, s_.memory.left_scales[x]);
    const auto one = hn::Set(d, 1.0), unit = hn::Set(d, zncc_unit), half = hn::Set(d, 0.5);
    const double* right_sums = s_.memory.right_sums + shape_.mirrored(x);
    const double* right_scales = s_.memory.right_scales + shape_.mirrored(x);
    for (int k = first; k < end; k += lanes) {
      const auto covariance =
          hn::Sub(hn::Mul(n, sums_as_real(d, sums + k)), hn::Mul(left_sum, hn::LoadU(d, right_sums + k)));
      const auto correlation = hn::Mul(hn::Mul(covariance, left_scale), hn::LoadU(d, right_scales + k));
      const auto clamped = hn::Max(hn::Set(d, -1.0), hn::Min(correlation, one));
      const auto scaled = hn::Add(hn::Mul(hn::Sub(one, clamped), unit), half);
      // Not negative, so truncation rounds down.
      hn::StoreU(hn::BitCast(hn::RebindToUnsigned<decltype(d32)>(), hn::DemoteTo(d32, scaled)),
                 hn::RebindToUnsigned<decltype(d32)>(), out + k);
    }
  }

  template <class D>
  static HWY_INLINE hn::Vec<D> sums_as_real(D d, const Sum* sums) {
    if constexpr (sizeof(Sum) == 4) {
      const hn::Rebind<std::int32_t, D> d32;
      return hn::PromoteTo(d, hn::LoadU(d32, reinterpret_cast<const std::int32_t*>(sums)));
    } else {
      return hn::ConvertTo(d, hn::LoadU(hn::RebindToSigned<D>(), sums));
    }
  }

  const Sweep& s_;
  const SweepShape shape_;
  Sum* const columns_;
  Sum* const zeros_;
  Sum* const window_sums_;
  Cost* const costs_;
  Cost* const excluded_;
  Cost* right_costs_;
  Cost* right_labels_;
  const bool plain_;        // no mask and no check: a pixel with a candidate is a matched pixel
  bool row_exists_ = true;  // whether the right image has the row that this one is compared with
  int labels_begun_ = 0;    // labels below this have window sums in this row
};

// Calls action(sweeper) with the arithmetic of a sweep.
template <class Action>
void with_sweeper(const Sweep& sweep, const Action& action) {
  const auto call = [&](auto sweeper) { action(sweeper); };
  const bool wide = sweep.sums == Sums::bits64;
  switch (sweep.cost) {
    case BlockCost::sad:
      return sweep.sums == Sums::bits16 ? call(Sweeper<std::uint16_t, BlockCost::sad>(sweep))
                                        : call(Sweeper<std::uint32_t, BlockCost::sad>(sweep));
    case BlockCost::ssd:
      return wide ? call(Sweeper<std::int64_t, BlockCost::ssd>(sweep))
                  : call(Sweeper<std::uint32_t, BlockCost::ssd>(sweep));
    case BlockCost::zncc:
      return wide ? call(Sweeper<std::int64_t, BlockCost::zncc>(sweep))
                  : call(Sweeper<std::uint32_t, BlockCost::zncc>(sweep));
  }
}

void sweep_rows_here(const Sweep& sweep, int first, int last) {
  with_sweeper(sweep, [&](auto& sweeper) { sweeper.run(first, last); });
}

void count_row_votes_here(const Sweep& sweep, int first, int last) {
  with_sweeper(sweep, [&](auto& sweeper) { sweeper.count_row_votes(first, last); });
}

void choose_rows_here(const Sweep& sweep, int first, int last) {
  with_sweeper(sweep, [&](auto& sweeper) { sweeper.choose_rows(first, last); });
}

}  // namespace parallax::block::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::block {

HWY_EXPORT(sweep_rows_here);
HWY_EXPORT(count_row_votes_here);
HWY_EXPORT(choose_rows_here);

void sweep_rows(const Sweep& sweep, int first, int last) {
  HWY_DYNAMIC_DISPATCH(sweep_rows_here)(sweep, first, last);
}

void count_row_votes(const Sweep& sweep, int first, int last) {
  HWY_DYNAMIC_DISPATCH(count_row_votes_here)(sweep, first, last);
}

void choose_rows(const Sweep& sweep, int first, int last) {
  HWY_DYNAMIC_DISPATCH(choose_rows_here)(sweep, first, last);
}

}  // namespace parallax::block
#endif
