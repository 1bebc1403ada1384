// SPDX-License-Identifier: Apache-2.0
// The candidates of a pixel in block matching, and the decision between them: the winner, its uniqueness, its
// confidence and its fraction of a pixel. Without a guard: included once for each instruction set.

#include <algorithm>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "decision/confidence.h"
#include "decision/sub_pixel.h"
#include "matchers/block/cpu_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::block::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Cost>
struct Candidates {
  using Tag = hn::ScalableTag<Cost>;
  static constexpr Cost no_cost = std::numeric_limits<Cost>::max();

  const Cost* costs;  // by label; undefined outside [first, end)
  int first, end;

  // Calls each(costs of some labels, first of them) for all candidates; lanes beyond the last hold no_cost.
  template <class Each>
  HWY_INLINE void for_labels(const Each& each) const {
    const Tag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int k = first;
    for (; k + lanes <= end; k += lanes) each(hn::LoadU(d, costs + k), k);
    if (k == end) return;
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(end - k));
    each(hn::IfThenElse(inside, hn::LoadU(d, costs + k), hn::Set(d, no_cost)), k);
  }

  // no_cost where there is no candidate.
  HWY_INLINE Cost min_cost() const {
    const Tag d;
    auto min = hn::Set(d, no_cost);
    for_labels([&](auto some, int) HWY_ATTR { min = hn::Min(min, some); });
    return hn::GetLane(hn::MinOfLanes(d, min));
  }

  // `wanted` must occur.
  HWY_INLINE int first_label_of_cost(Cost wanted) const {
    const Tag d;
    const auto value = hn::Set(d, wanted);
    for (int k = first;; k += static_cast<int>(hn::Lanes(d))) {
      const auto lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, costs + k), value));
      if (lane >= 0) return k + static_cast<int>(lane);
    }
  }

  // The lowest cost of a label more than one away, or no_cost.
  HWY_INLINE Cost rival(int label) const {
    return std::min(Candidates{costs, first, std::max(first, label - 1)}.min_cost(),
                    Candidates{costs, std::min(end, label + 2), end}.min_cost());
  }

  bool is_ambiguous(int label, int uniqueness) const {
    const Tag d;
    const std::uint64_t bound =
        decision::ambiguity_bound(static_cast<std::uint64_t>(costs[label]), uniqueness);
    const Cost limit =
        static_cast<Cost>(std::min<std::uint64_t>(bound + 1, static_cast<std::uint64_t>(no_cost)));
    std::size_t as_good = 0;
    for_labels([&](auto some, int)
                   HWY_ATTR { as_good += hn::CountTrue(d, hn::Lt(some, hn::Set(d, limit))); });
    for (int k = std::max(first, label - 1); k < std::min(end, label + 2); ++k) as_good -= costs[k] < limit;
    return as_good > 0;
  }

  // 0 where there is no candidate.
  HWY_INLINE float confidence(int label) const {
    if (first == end || costs[label] == no_cost) return 0;
    return block::confidence(costs[label], rival(label));
  }

  // The fraction of a pixel by which the minimum differs from the label; 0 where a neighbour is no candidate.
  HWY_INLINE decision::Fraction fraction(int label, SubPixel method) const {
    if (method == SubPixel::none || label == first || label + 1 >= end) return {};
    const Cost before = costs[label - 1], best = costs[label], after = costs[label + 1];
    if (before == no_cost || after == no_cost) return {};
    return decision::sub_pixel_offset(method, static_cast<std::int64_t>(before),
                                      static_cast<std::int64_t>(best), static_cast<std::int64_t>(after));
  }
};

}  // namespace parallax::block::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
