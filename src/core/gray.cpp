// SPDX-License-Identifier: Apache-2.0
// Lanes are neighbouring pixels.
#include "core/gray.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/gray.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "devices/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace parallax::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The gray values of some pixels, without their lowest `shift` bits.
template <int shift, class D, class In, class Out>
HWY_INLINE void convert_lanes(D d, const In* in, Out* out) {
  const hn::Rebind<In, D> d_in;
  const hn::Rebind<Out, D> d_out;
  hn::Vec<decltype(d_in)> red, green, blue;
  hn::LoadInterleaved3(d_in, in, red, green, blue);
  const auto weighted = [&](auto channel, std::uint32_t weight) {
    return hn::Mul(hn::PromoteTo(d, channel), hn::Set(d, weight));
  };
  const auto sum =
      hn::Add(hn::Add(weighted(red, red_weight), weighted(green, green_weight)), weighted(blue, blue_weight));
  const auto gray = hn::BitCast(hn::RebindToSigned<D>(), hn::ShiftRight<gray_shift + shift>(sum));
  hn::StoreU(hn::DemoteTo(d_out, gray), d_out, out);
}

// Drops the lowest `shift` bits of each value.
template <int shift, class In, class Out>
void convert(const In* in, int channels, int width, Out* out) {
  if (channels == 1) {
    for (int x = 0; x < width; ++x) out[x] = static_cast<Out>(in[x] >> shift);
    return;
  }
  const hn::ScalableTag<std::uint32_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Converting some pixels again changes nothing.
  if (width >= lanes)
    for (int x = 0; x < width; x += lanes) {
      const int at = std::min(x, width - lanes);
      convert_lanes<shift>(d, in + 3 * at, out + at);
    }
  else
    for (int x = 0; x < width; ++x)
      convert_lanes<shift>(hn::CappedTag<std::uint32_t, 1>(), in + 3 * x, out + x);
}

template <int shift_of_16_bits, class Out>
void convert_row(const ImageView& image, int y, Out* out) {
  const int width = image.format.size.width;
  if (image.format.depth == BitDepth::bits8)
    convert<0>(static_cast<const std::uint8_t*>(image.row(y)), image.channels, width, out);
  else
    convert<shift_of_16_bits>(static_cast<const std::uint16_t*>(image.row(y)), image.channels, width, out);
}

void gray_row_here(const ImageView& image, int y, std::uint16_t* out) {
  convert_row<0>(image, y, out);
}
void gray_byte_row_here(const ImageView& image, int y, std::uint8_t* out) {
  convert_row<8>(image, y, out);
}

}  // namespace parallax::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {

PARALLAX_DISPATCH(void, gray_row, (const ImageView& image, int y, std::uint16_t* out), (image, y, out))
PARALLAX_DISPATCH(void, gray_byte_row, (const ImageView& image, int y, std::uint8_t* out), (image, y, out))

}  // namespace parallax
#endif
