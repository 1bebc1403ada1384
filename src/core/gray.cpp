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

struct Weights {
  std::uint32_t red, green, blue;
};

// Volatile, so that compilers do not know them: for Highway's AVX3_DL, Clang would merge products and sums
// into an instruction of AVX-VNNI, which such processors may lack.
const volatile std::uint32_t luma[] = {9797, 19234, 3737};
constexpr int luma_bits = 15;

// The gray values of some pixels, without their lowest `shift` bits.
template <int shift, class D, class In, class Out>
HWY_INLINE void convert_lanes(D d, const Weights& weights, const In* in, Out* out) {
  const hn::Rebind<In, D> d_in;
  const hn::Rebind<Out, D> d_out;
  hn::Vec<decltype(d_in)> red, green, blue;
  hn::LoadInterleaved3(d_in, in, red, green, blue);
  const auto weighted = [&](auto channel, std::uint32_t weight) {
    return hn::Mul(hn::PromoteTo(d, channel), hn::Set(d, weight));
  };
  const auto sum = hn::Add(hn::Add(weighted(red, weights.red), weighted(green, weights.green)),
                           weighted(blue, weights.blue));
  const auto gray = hn::BitCast(hn::RebindToSigned<D>(), hn::ShiftRight<luma_bits + shift>(sum));
  hn::StoreU(hn::DemoteTo(d_out, gray), d_out, out);
}

// Drops the lowest `shift` bits of each value.
template <int shift, class In, class Out>
void convert(const In* in, int channels, int width, Out* out) {
  if (channels == 1) {
    for (int x = 0; x < width; ++x) out[x] = static_cast<Out>(in[x] >> shift);
    return;
  }
  const Weights weights{luma[0], luma[1], luma[2]};
  const hn::ScalableTag<std::uint32_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Converting some pixels again changes nothing.
  if (width >= lanes)
    for (int x = 0; x < width; x += lanes) {
      const int at = std::min(x, width - lanes);
      convert_lanes<shift>(d, weights, in + 3 * at, out + at);
    }
  else
    for (int x = 0; x < width; ++x)
      convert_lanes<shift>(hn::CappedTag<std::uint32_t, 1>(), weights, in + 3 * x, out + x);
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
