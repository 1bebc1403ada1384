// SPDX-License-Identifier: Apache-2.0
// Helpers that the inner loops of semi-global matching share.

// Included once for each instruction set.
#if defined(PARALLAX_SEMI_GLOBAL_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef PARALLAX_SEMI_GLOBAL_LANES
#undef PARALLAX_SEMI_GLOBAL_LANES
#else
#define PARALLAX_SEMI_GLOBAL_LANES
#endif

#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "matchers/semi_global/cpu_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::semi_global::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint16_t>;

template <class Element>
inline constexpr Element highest = std::numeric_limits<Element>::max();

template <class Tag>
HWY_INLINE std::uint16_t min_lane(Tag tag, hn::Vec<Tag> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(tag) * sizeof(hn::TFromD<Tag>) > 16) {
    const hn::Half<Tag> half;
    return min_lane(half, hn::Min(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(hn::MinOfLanes(tag, v));
}

// All bits set in the lanes, of those from `label` on, that are beyond the disparities.
HWY_INLINE hn::Vec<Words> beyond(int disparities, int label) {
  constexpr int half = vector_bytes / 2, lanes = hn::MaxLanes(Words());
  alignas(vector_bytes) static constexpr auto bits = [] {
    struct Bits {
      std::uint16_t of[2 * half] = {};
    } made;
    for (int i = half; i < 2 * half; ++i) made.of[i] = 65535;
    return made;
  }();
  const int left = disparities - label;
  return hn::LoadU(Words(), bits.of + half - (left < 0 ? 0 : left < lanes ? left : lanes));
}

}  // namespace parallax::semi_global::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
