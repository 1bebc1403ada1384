// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels; the right disparities that they match are gathered.

#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/left_right_check.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void check_lanes(D d, float* disparity, std::uint8_t* status, int x, const float* right, int width,
                            float tolerance) {
  const hn::RebindToSigned<D> d_int;
  const hn::Rebind<std::uint8_t, D> d_byte;
  const auto value = hn::LoadU(d, disparity + x);
  const auto column =
      hn::Sub(hn::ConvertTo(d, hn::Iota(d_int, x)), hn::Ceil(hn::Sub(value, hn::Set(d, 0.5f))));
  const auto inside =
      hn::And(hn::Ge(column, hn::Zero(d)), hn::Lt(column, hn::Set(d, static_cast<float>(width))));
  const auto match = hn::GatherIndex(d, right, hn::ConvertTo(d_int, hn::IfThenElseZero(inside, column)));
  // Without a value, `right` is infinite, and so is the difference.
  const auto near = hn::Le(hn::Abs(hn::Sub(match, value)), hn::Set(d, tolerance));
  const auto has_value = hn::Lt(value, hn::Set(d, decision::no_value));
  const auto rejected = hn::AndNot(hn::And(inside, near), has_value);
  hn::StoreU(hn::IfThenElse(rejected, hn::Set(d, decision::no_value), value), d, disparity + x);
  const auto ones = hn::And(hn::BitCast(d_int, hn::VecFromMask(d, rejected)), hn::Set(d_int, 1));
  const auto rejected_bytes = hn::Eq(hn::DemoteTo(d_byte, ones), hn::Set(d_byte, 1));
  hn::StoreU(hn::IfThenElse(rejected_bytes, hn::Set(d_byte, decision::code(Status::inconsistent)),
                            hn::LoadU(d_byte, status + x)),
             d_byte, status + x);
}

void check_row(float* disparity, std::uint8_t* status, const float* right, int width, float tolerance) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) check_lanes(d, disparity, status, x, right, width, tolerance);
  if (x == width) return;
  // Checking some pixels again changes nothing.
  if (width >= lanes) return check_lanes(d, disparity, status, width - lanes, right, width, tolerance);
  for (; x < width; ++x)
    check_lanes(hn::CappedTag<float, 1>(), disparity, status, x, right, width, tolerance);
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
namespace refine {

HWY_EXPORT(check_row);

namespace {

bool consistent(const DisparityMap& left, View<const float> right, float tolerance, int x, int y) {
  const float disparity = left.disparity.at(x, y);
  const float column = static_cast<float>(x) - std::ceil(disparity - 0.5f),
              row = static_cast<float>(y) + std::ceil(left.row_offset.at(x, y) - 0.5f);
  if (!(column >= 0 && column < static_cast<float>(right.size.width) && row >= 0 &&
        row < static_cast<float>(right.size.height)))
    return false;
  // Without a value, the right disparity is infinite, and so is the difference.
  return std::abs(right.at(static_cast<int>(column), static_cast<int>(row)) - disparity) <= tolerance;
}

void check_across_rows(const DisparityMap& left, View<const float> right, float tolerance,
                       const Workers& workers) {
  for_rows(workers, right.size.height, [&](int y, int) {
    for (int x = 0; x < right.size.width; ++x) {
      if (!decision::has_value(left.disparity.at(x, y)) || consistent(left, right, tolerance, x, y)) continue;
      left.disparity.at(x, y) = decision::no_value;
      left.status.at(x, y) = decision::code(Status::inconsistent);
    }
  });
}

}  // namespace

void left_right_check(const DisparityMap& left, View<const float> right, float tolerance,
                      const Workers& workers) {
  if (!left.row_offset.empty()) return check_across_rows(left, right, tolerance, workers);
  const int width = left.disparity.size.width;
  for_rows(workers, left.disparity.size.height, [&](int y, int) {
    HWY_DYNAMIC_DISPATCH(check_row)
    (left.disparity.row(y), left.status.row(y), right.row(y), width, tolerance);
  });
}

}  // namespace refine

void left_right_check(const DisparityMap& left, View<const float> right, float tolerance, int threads) {
  const DefaultFloatingPoint environment;
  check_map(left);
  if (!left.row_offset.empty()) check_view("map of row offsets", left.row_offset, left.disparity.size);
  check_view("right disparity map", right, left.disparity.size);
  check_not_negative("tolerance", tolerance);
  refine::left_right_check(left, right, tolerance, refine::checked_workers(threads));
}

}  // namespace parallax
#endif
