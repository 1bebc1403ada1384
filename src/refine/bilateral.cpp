// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels.

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/bilateral.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "refine/guided-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {

// Shifts of a vector of pixels.
HWY_INLINE hn::Vec<Floats> shifts_of(hn::Vec<Integers> sum, hn::Vec<Integers> all) {
  const Floats d;
  const Integers di;
  HWY_ALIGN std::int32_t sums[hn::MaxLanes(di)], weights[hn::MaxLanes(di)];
  hn::Store(sum, di, sums);
  hn::Store(all, di, weights);
  for (std::size_t i = 0; i < hn::Lanes(di); ++i) sums[i] = nearest_quotient(sums[i], weights[i]);
  return hn::Mul(hn::ConvertTo(d, hn::Load(di, sums)), hn::Set(d, 1 / shift_unit));
}

void filter_bilateral_rows(const GuidedWindow& filter, float step, View<float> disparity,
                           View<const std::uint8_t> guide, View<const float> scratch, int first, int last) {
  const Floats d;
  const Integers di;
  const int window = filter.window, radius = window / 2;
  filter_rows(filter, disparity, guide, scratch, first, last,
              [&](const float* centre, const StripWeights& weights, int i) HWY_ATTR {
                const auto here = hn::LoadU(d, centre);
                auto sum = hn::Zero(di), all = hn::Zero(di);
                for (int row = 0; row < window; ++row) {
                  const float* neighbours = centre + (row - radius) * scratch.stride() - radius;
                  for (int column = 0; column < window; ++column) {
                    const auto difference = hn::Sub(hn::LoadU(d, neighbours + column), here);
                    const auto counts = hn::Le(hn::Abs(difference), hn::Set(d, step));
                    const auto weight =
                        hn::IfThenElseZero(hn::RebindMask(di, counts), weights.at(row * window + column, i));
                    const auto shift = hn::NearestInt(hn::Mul(difference, hn::Set(d, shift_unit)));
                    sum = hn::Add(sum, hn::Mul(weight, shift));
                    all = hn::Add(all, weight);
                  }
                }
                const auto moved = hn::Add(here, shifts_of(sum, all));
                return hn::IfThenElse(hn::Lt(here, hn::Set(d, decision::no_value)), moved, here);
              });
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {

HWY_EXPORT(filter_bilateral_rows);

void bilateral(View<float> disparity, View<const std::uint8_t> guide, const GuidedWindow& filter, float step,
               View<float> scratch, const Workers& workers) {
  copy_bordered(disparity, filter.window, scratch, workers);
  for_row_ranges(workers, disparity.size.height, [&](int first, int last, int) {
    HWY_DYNAMIC_DISPATCH(filter_bilateral_rows)(filter, step, disparity, guide, scratch, first, last);
  });
}

}  // namespace refine

void bilateral(View<float> disparity, const ImageView& guide, int window, int range, float step,
               int threads) {
  const DefaultFloatingPoint environment;
  refine::check_guided_window("bilateral", window);
  check_range("bilateral_range", range, 1, 255);
  check_range("bilateral_step", step, 0.0f, 128.0f);
  refine::check_bordered(disparity);
  refine::check_guide(guide, disparity.size);
  const Workers workers = refine::checked_workers(threads);
  const refine::Guide gray(guide, window, workers);
  Plane<float> scratch(refine::bordered_size(disparity.size, window));
  refine::bilateral(disparity, gray.view(), refine::bilateral_window(window, range), step, scratch.view(),
                    workers);
}

}  // namespace parallax
#endif
