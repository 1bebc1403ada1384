// SPDX-License-Identifier: Apache-2.0
// The weighted median of each window by bisection. The pivot lies between the lowest and the highest value
// that can still be the median; the weight of the values up to it tells on which side of the pivot the median
// is. Both bounds are values of the window; they move past the pivot to the next value. Lanes are
// neighbouring pixels.

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/weighted_median.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "refine/guided-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {

// The values and weights of the windows of a vector of pixels.
struct Neighbours {
  // Compiled for the target, as an implicit constructor is not.
  HWY_INLINE Neighbours() {}

  hn::Vec<Floats> values[max_guided_window * max_guided_window];
  hn::Vec<Integers> weights[max_guided_window * max_guided_window];
};

struct Bounds {
  hn::Vec<Floats> low, high;
};

HWY_INLINE hn::Vec<Floats> find_median(const Neighbours& neighbours, int count, Bounds bounds,
                                       hn::Vec<Integers> half) {
  const Floats d;
  const Integers di;
  const auto none = hn::Set(d, decision::no_value), least = hn::Set(d, -decision::no_value);
  while (!hn::AllTrue(d, hn::Eq(bounds.low, bounds.high))) {
    const auto middle = hn::Mul(hn::Add(bounds.low, bounds.high), hn::Set(d, 0.5f));
    const auto between = hn::And(hn::Ge(middle, bounds.low), hn::Lt(middle, bounds.high));
    const auto pivot = hn::IfThenElse(between, middle, bounds.low);
    auto sum = hn::Zero(di);
    auto low = none, high = least;
    for (int i = 0; i < count; ++i) {
      const auto value = neighbours.values[i];
      const auto up_to = hn::Le(value, pivot);
      sum = hn::Add(sum, hn::IfThenElseZero(hn::RebindMask(di, up_to), neighbours.weights[i]));
      high = hn::IfThenElse(up_to, hn::Max(high, value), high);
      low = hn::IfThenElse(up_to, low, hn::Min(low, value));
    }
    const auto too_little = hn::RebindMask(d, hn::Lt(sum, half));
    const auto open = hn::Ne(bounds.low, bounds.high);
    bounds.high = hn::IfThenElse(hn::AndNot(too_little, open), high, bounds.high);
    bounds.low = hn::IfThenElse(hn::And(open, too_little), low, bounds.low);
  }
  return bounds.low;
}

void filter_weighted_median_rows(const GuidedWindow& filter, View<float> disparity,
                                 View<const std::uint8_t> guide, View<const float> scratch, int first,
                                 int last) {
  const Floats d;
  const Integers di;
  const auto none = hn::Set(d, decision::no_value);
  const int window = filter.window, radius = window / 2, count = window * window;
  Neighbours neighbours;
  filter_rows(filter, disparity, guide, scratch, first, last,
              [&](const float* centre, const StripWeights& weights, int i) HWY_ATTR {
                auto all = hn::Zero(di);
                Bounds bounds{none, hn::Neg(none)};
                for (int place = 0; place < count; ++place) {
                  const auto value = hn::LoadU(
                      d, centre + (place / window - radius) * scratch.stride() + (place % window - radius));
                  const auto counts = hn::Lt(value, none);
                  neighbours.values[place] = hn::IfThenElse(counts, value, none);
                  neighbours.weights[place] =
                      hn::IfThenElseZero(hn::RebindMask(di, counts), weights.at(place, i));
                  all = hn::Add(all, neighbours.weights[place]);
                  bounds.low = hn::Min(bounds.low, neighbours.values[place]);
                  bounds.high = hn::IfThenElse(counts, hn::Max(bounds.high, value), bounds.high);
                }
                // Pixels without a value are unchanged.
                const auto here = hn::LoadU(d, centre);
                const auto counts = hn::Lt(here, none);
                bounds.low = hn::IfThenElse(counts, bounds.low, none);
                bounds.high = hn::IfThenElse(counts, bounds.high, none);
                const auto half = hn::ShiftRight<1>(hn::Add(all, hn::Set(di, 1)));
                return hn::IfThenElse(counts, find_median(neighbours, count, bounds, half), here);
              });
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {

HWY_EXPORT(filter_weighted_median_rows);

void weighted_median(View<float> disparity, View<const std::uint8_t> guide, const GuidedWindow& filter,
                     View<float> scratch, const Workers& workers) {
  copy_bordered(disparity, filter.window, scratch, workers);
  for_row_ranges(workers, disparity.size.height, [&](int first, int last, int) {
    HWY_DYNAMIC_DISPATCH(filter_weighted_median_rows)(filter, disparity, guide, scratch, first, last);
  });
}

}  // namespace refine

void weighted_median(View<float> disparity, const ImageView& guide, int window, int range, int threads) {
  const DefaultFloatingPoint environment;
  refine::check_guided_window("weighted_median", window);
  check_range("weighted_median_range", range, 1, 255);
  refine::check_bordered(disparity);
  refine::check_guide(guide, disparity.size);
  const Workers workers = refine::checked_workers(threads);
  const refine::Guide gray(guide, window, workers);
  Plane<float> scratch(refine::bordered_size(disparity.size, window));
  refine::weighted_median(disparity, gray.view(), refine::weighted_median_window(window, range),
                          scratch.view(), workers);
}

}  // namespace parallax
#endif
