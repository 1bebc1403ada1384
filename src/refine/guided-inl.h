// SPDX-License-Identifier: Apache-2.0
// Inner loops of the guided steps, compiled once for each instruction set. They compute the weights of the
// neighbours of a strip of pixels, one byte each. Included in the namespace of a target.

#if defined(PARALLAX_REFINE_GUIDED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PARALLAX_REFINE_GUIDED_INL_H
#undef PARALLAX_REFINE_GUIDED_INL_H
#else
#define PARALLAX_REFINE_GUIDED_INL_H
#endif

#include <hwy/highway.h>

#include "refine/refine.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::refine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<std::uint8_t, guided_strip>;
using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;

// Weights for the pixels of a strip, by position in the window.
struct alignas(64) StripWeights {
  std::uint8_t of[max_guided_window * max_guided_window][guided_strip];

  // The weights of the strip's pixels from the i-th on, as integers.
  HWY_INLINE hn::Vec<Integers> at(int place, int i) const {
    return hn::PromoteTo(Integers(), hn::Load(hn::Rebind<std::uint8_t, Floats>(), of[place] + i));
  }
};

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE hn::Vec<Bytes> look_up(const GrayWeights& table, int, hn::Vec<Bytes> differences) {
  return hn::Set(Bytes(), table[hn::GetLane(differences)]);
}
#else
// Looks up the weights of differences in a table whose entries beyond the first 16 · `parts` are 0.
HWY_INLINE hn::Vec<Bytes> look_up(const GrayWeights& table, int parts, hn::Vec<Bytes> differences) {
  const Bytes d;
  auto weights = hn::Zero(d);
  for (int part = 0; part < parts; ++part) {
    // Positions outside this part of the table get their upper bit set, for which the lookup returns 0.
    const auto place = hn::Sub(differences, hn::Set(d, static_cast<std::uint8_t>(16 * part)));
    const auto marked =
        hn::And(hn::SaturatedAdd(place, hn::Set(d, std::uint8_t{0x70})), hn::Set(d, std::uint8_t{0x8F}));
    const auto entries = hn::LoadDup128(d, table.data() + 16 * part);
    weights = hn::Or(weights, hn::TableLookupBytesOr0(entries, marked));
  }
  return weights;
}
#endif

// `guide` points to the first pixel of the strip.
HWY_INLINE void weigh_strip(const GuidedWindow& filter, const std::uint8_t* guide, std::ptrdiff_t stride,
                            StripWeights& weights) {
  const Bytes d;
  const int radius = filter.window / 2;
  for (int j = 0; j < filter.window; ++j) {
    for (int i = 0; i < filter.window; ++i) {
      const int place = j * filter.window + i;
      const GrayWeights& table = filter.table(place);
      const std::uint8_t* neighbour = guide + (j - radius) * stride + (i - radius);
      for (int x = 0; x < guided_strip; x += static_cast<int>(hn::Lanes(d))) {
        const auto here = hn::LoadU(d, guide + x), there = hn::LoadU(d, neighbour + x);
        const auto differences = hn::Sub(hn::Max(here, there), hn::Min(here, there));
        hn::Store(look_up(table, filter.parts, differences), d, weights.of[place] + x);
      }
    }
  }
}

// Calls each(first pixel in the scratch copy, weights, index in the strip) for every vector of pixels, and
// stores the disparities it returns.
template <class Each>
HWY_INLINE void filter_rows(const GuidedWindow& filter, View<float> disparity, View<const std::uint8_t> guide,
                            View<const float> scratch, int first, int last, const Each& each) {
  const Floats d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int radius = filter.window / 2, width = disparity.size.width;
  StripWeights weights;
  for (int y = first; y < last; ++y) {
    stop_if_cancelled();
    const float* source = scratch.row(y + radius) + radius;
    float* result = disparity.row(y);
    for (int strip = 0; strip < width; strip += guided_strip) {
      weigh_strip(filter, guide.row(y) + strip, guide.stride(), weights);
      const int end = HWY_MIN(strip + guided_strip, width);
      for (int x = strip; x < end; x += lanes) {
        const auto values = each(source + x, weights, x - strip);
        if (x + lanes <= end)
          hn::StoreU(values, d, result + x);
        else
          hn::BlendedStore(values, hn::FirstN(d, static_cast<std::size_t>(end - x)), d, result + x);
      }
    }
  }
}

}  // namespace parallax::refine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
