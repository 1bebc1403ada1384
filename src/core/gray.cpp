// SPDX-License-Identifier: Apache-2.0
#include "core/gray.h"

namespace parallax {
namespace {

// Drops the lowest `shift` bits of each value.
template <int shift, class In, class Out>
void convert(const In* in, int channels, int width, Out* out) {
  if (channels == 1)
    for (int x = 0; x < width; ++x) out[x] = static_cast<Out>(in[x] >> shift);
  else
    for (int x = 0; x < width; ++x)
      out[x] = static_cast<Out>(gray(in[3 * x], in[3 * x + 1], in[3 * x + 2]) >> shift);
}

template <int shift_of_16_bits, class Out>
void convert_row(const ImageView& image, int y, Out* out) {
  const int width = image.format.size.width;
  if (image.format.depth == BitDepth::bits8)
    convert<0>(static_cast<const std::uint8_t*>(image.row(y)), image.channels, width, out);
  else
    convert<shift_of_16_bits>(static_cast<const std::uint16_t*>(image.row(y)), image.channels, width, out);
}

}  // namespace

void gray_row(const ImageView& image, int y, std::uint16_t* out) {
  convert_row<0>(image, y, out);
}

void gray_byte_row(const ImageView& image, int y, std::uint8_t* out) {
  convert_row<8>(image, y, out);
}

}  // namespace parallax
