// SPDX-License-Identifier: Apache-2.0
// The median of each window by forgetful selection: among a little more than half of the values, the smallest
// and the largest cannot be the median, so both are dropped and the next value is taken in. Lanes are
// neighbouring pixels.

#include <algorithm>

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/median.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Values = hn::Vec<Tag>;

HWY_INLINE void exchange(Values& low, Values& high) {
  const Values lower = hn::Min(low, high);
  high = hn::Max(low, high);
  low = lower;
}

// Moves the smallest of `count` values to the front and the largest to the back.
template <int count>
HWY_INLINE void move_extremes_out(Values* values) {
  constexpr int half = count / 2;
  for (int i = 0; i < half; ++i) exchange(values[i], values[count - 1 - i]);
  for (int i = 1; i < half; ++i) {
    exchange(values[0], values[i]);
    exchange(values[count - 1 - i], values[count - 1]);
  }
  if constexpr (count % 2 == 1 && count > 1) {
    exchange(values[0], values[half]);
    exchange(values[half], values[count - 1]);
  }
}

// The median of the `count` values in play and of the values that `next` supplies, one in each step.
template <int count, class Next>
HWY_INLINE Values select(Values* values, int brought, const Next& next) {
  move_extremes_out<count>(values);
  if constexpr (count == 3) {
    return values[1];
  } else {
    values[0] = next(brought);
    return select<count - 1>(values, brought + 1, next);
  }
}

// Medians of the pixels [x, x + lanes) of a row; `centre` points to the first of them in the scratch copy.
template <int window>
HWY_INLINE Values window_medians(Tag tag, const float* centre, std::ptrdiff_t stride) {
  constexpr int values_in_window = window * window;
  constexpr int in_play = values_in_window / 2 + 2;
  const Values none = hn::Set(tag, decision::no_value);
  const Values middle = hn::LoadU(tag, centre);
  const auto neighbour = [&](int i) HWY_ATTR {
    const float* place = centre + (i / window - window / 2) * stride + (i % window - window / 2);
    const Values value = hn::LoadU(tag, place);
    return hn::IfThenElse(hn::Lt(value, none), value, middle);
  };
  Values values[in_play];
  for (int i = 0; i < in_play; ++i) values[i] = neighbour(i);
  const Values median = select<in_play>(values, in_play, neighbour);
  return hn::IfThenElse(hn::Lt(middle, none), median, middle);
}

template <int window>
void filter_rows(View<float> disparity, View<float> scratch, int first, int last) {
  const Tag tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const int width = disparity.size.width;
  for (int y = first; y < last; ++y) {
    const float* source = scratch.row(y + window / 2) + window / 2;
    float* result = disparity.row(y);
    int x = 0;
    for (; x + lanes <= width; x += lanes)
      hn::StoreU(window_medians<window>(tag, source + x, scratch.stride()), tag, result + x);
    if (x == width) continue;
    HWY_ALIGN float last_lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(window_medians<window>(tag, source + x, scratch.stride()), tag, last_lanes);
    std::copy_n(last_lanes, width - x, result + x);
  }
}

void filter_median_rows(View<float> disparity, int window, View<float> scratch, int first, int last) {
  if (window == 3)
    filter_rows<3>(disparity, scratch, first, last);
  else
    filter_rows<5>(disparity, scratch, first, last);
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {

HWY_EXPORT(filter_median_rows);

void median(View<float> disparity, int window, View<float> scratch, const Workers& workers) {
  copy_bordered(disparity, window, scratch, workers);
  for_row_ranges(workers, disparity.size.height, [&](int first, int last, int) {
    HWY_DYNAMIC_DISPATCH(filter_median_rows)(disparity, window, scratch, first, last);
  });
}

}  // namespace refine

void median(View<float> disparity, int window, int threads) {
  const DefaultFloatingPoint environment;
  if (window != 3 && window != 5) refuse("median", window, "3 or 5");
  refine::check_bordered(disparity);
  Plane<float> scratch(refine::bordered_size(disparity.size, window));
  refine::median(disparity, window, scratch.view(), refine::checked_workers(threads));
}

}  // namespace parallax
#endif
