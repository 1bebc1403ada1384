// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels of a row.

#include <algorithm>
#include <limits>

#include "decision/decision.h"
#include "refine/confidence.h"
#include "refine/refine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "refine/find_confidence.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using Floats = hn::Vec<FloatTag>;
using Ints = hn::Vec<IntTag>;

// Pixels without a value are compared with 0, from which every value is as far as `tolerance` allows, and no
// pair of values as far as `slope_tolerance` does.
struct Compared {
  Floats disparity, tolerance, slope_tolerance;
};

HWY_INLINE Ints minus_one_where(hn::Mask<FloatTag> mask) {
  return hn::BitCast(IntTag(), hn::VecFromMask(FloatTag(), mask));
}

// The number of pixels around each of those at `centre` that agree, pair by pair of opposite ones.
template <int step>
HWY_INLINE Ints count_agreeing(const float* centre, std::ptrdiff_t stride, const Compared& pixels) {
  const FloatTag d;
  Ints minus_count = hn::Zero(IntTag());
  constexpr int side = 2 * confidence_radius + 1;
  for (int place = 0; place < side * side / 2; ++place) {
    const std::ptrdiff_t offset =
        (place / side - confidence_radius) * step * stride + (place % side - confidence_radius) * step;
    const Floats one = hn::LoadU(d, centre + offset), opposite = hn::LoadU(d, centre - offset);
    const Floats twice = hn::Add(pixels.disparity, pixels.disparity);
    const auto sloped = hn::Le(hn::Abs(hn::Sub(hn::Add(one, opposite), twice)), pixels.slope_tolerance);
    const auto agrees = [&](Floats other) HWY_ATTR {
      const auto level = hn::Le(hn::Abs(hn::Sub(other, pixels.disparity)), pixels.tolerance);
      return minus_one_where(hn::Or(level, sloped));
    };
    minus_count = hn::Add(minus_count, hn::Add(agrees(one), agrees(opposite)));
  }
  return hn::Neg(minus_count);
}

// near² + far² of the pixels at `centre`.
HWY_INLINE Ints agreement(const float* centre, std::ptrdiff_t stride) {
  const FloatTag d;
  const Floats value = hn::LoadU(d, centre), tolerance = hn::Set(d, float{agreement_tolerance});
  const auto has_value = hn::Lt(value, hn::Set(d, decision::no_value));
  const Compared pixels{hn::IfThenElseZero(has_value, value),
                        hn::IfThenElse(has_value, tolerance, hn::Set(d, std::numeric_limits<float>::max())),
                        hn::IfThenElse(has_value, tolerance, hn::Set(d, -1.0f))};
  const Ints near = count_agreeing<near_step>(centre, stride, pixels),
             far = count_agreeing<far_step>(centre, stride, pixels);
  return hn::Add(hn::Mul(near, near), hn::Mul(far, far));
}

// `centre` points to the row's first pixel in the bordered copy; `to` has a whole number of vectors.
void find_agreement_of_row(const float* centre, std::ptrdiff_t stride, int width, std::int32_t* to) {
  const IntTag d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int x = 0; x < width; x += lanes) hn::StoreU(agreement(centre + x, stride), d, to + x);
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax::refine {

HWY_EXPORT(find_agreement_of_row);

namespace {

// The pixels whose agreement is computed at a time.
constexpr int confidence_strip = 256;

void write_confidence(const DisparityMap& map, float least, int x, int y, int agreement) {
  const auto status = static_cast<Status>(map.status.at(x, y));
  const float found = confidence_of(status, agreement);
  if (!map.confidence.empty()) map.confidence.at(x, y) = found;
  if (status == Status::matched && found < least) decision::reject(Status::ambiguous, x, y, map);
}

}  // namespace

void find_confidence(const DisparityMap& map, float least, View<float> scratch, const Workers& workers) {
  copy_bordered(map.disparity, confidence_window, scratch, workers);
  const auto [width, height] = map.disparity.size;
  constexpr int border = confidence_window / 2;
  for_rows(workers, height, [&, width = width](int y, int) {
    std::int32_t agreement[confidence_strip];
    for (int first = 0; first < width; first += confidence_strip) {
      const int count = std::min(confidence_strip, width - first);
      HWY_DYNAMIC_DISPATCH(find_agreement_of_row)
      (scratch.row(y + border) + border + first, scratch.stride(), count, agreement);
      for (int i = 0; i < count; ++i) write_confidence(map, least, first + i, y, agreement[i]);
    }
  });
}

}  // namespace parallax::refine
#endif
