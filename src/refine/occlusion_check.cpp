// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels, for the columns that they lead to.

#include <algorithm>

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/occlusion_check.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int together = 64;  // pixels whose columns are found at once

// Writes the columns to which pixels from x on lead; −1 outside the image, and without a value.
template <class D>
HWY_INLINE void find_columns(D d, const float* disparity, int x, int width, std::int32_t* columns) {
  const hn::RebindToSigned<D> d_int;
  const auto column = hn::Sub(hn::ConvertTo(d, hn::Iota(d_int, x)),
                              hn::Ceil(hn::Sub(hn::LoadU(d, disparity + x), hn::Set(d, 0.5f))));
  const auto inside =
      hn::And(hn::Ge(column, hn::Zero(d)), hn::Lt(column, hn::Set(d, static_cast<float>(width))));
  hn::StoreU(hn::IfThenElse(hn::RebindMask(d_int, inside),
                            hn::ConvertTo(d_int, hn::IfThenElseZero(inside, column)), hn::Set(d_int, -1)),
             d_int, columns);
}

// Calls each(x, column) for all pixels of a row.
template <class Each>
HWY_INLINE void for_columns(const float* disparity, int width, const Each& each) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  std::int32_t columns[together];
  for (int first = 0; first < width; first += together) {
    const int count = std::min(together, width - first);
    int i = 0;
    for (; i + lanes <= count; i += lanes) find_columns(d, disparity, first + i, width, columns + i);
    for (; i < count; ++i) find_columns(hn::CappedTag<float, 1>(), disparity, first + i, width, columns + i);
    for (i = 0; i < count; ++i) each(first + i, columns[i]);
  }
}

void check_occlusions(float* disparity, std::uint8_t* status, int width, float tolerance, float* highest) {
  std::fill_n(highest, width, -decision::no_value);
  for_columns(disparity, width, [&](int x, int column) {
    if (column >= 0) highest[column] = std::max(highest[column], disparity[x]);
  });
  for_columns(disparity, width, [&](int x, int column) {
    if (!decision::has_value(disparity[x])) return;
    if (column >= 0 && highest[column] - disparity[x] <= tolerance) return;
    disparity[x] = decision::no_value;
    status[x] = decision::code(Status::inconsistent);
  });
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {
HWY_EXPORT(check_occlusions);

void occlusion_check(const DisparityMap& map, float tolerance, View<float> highest, const Workers& workers) {
  for_rows(workers, map.disparity.size.height, [&](int y, int) {
    HWY_DYNAMIC_DISPATCH(check_occlusions)
    (map.disparity.row(y), map.status.row(y), map.disparity.size.width, tolerance, highest.row(y));
  });
}

}  // namespace refine

void occlusion_check(const DisparityMap& map, float tolerance, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  check_not_negative("tolerance", tolerance);
  Plane<float> highest(map.disparity.size);
  refine::occlusion_check(map, tolerance, highest.view(), refine::checked_workers(threads));
}

}  // namespace parallax
#endif
