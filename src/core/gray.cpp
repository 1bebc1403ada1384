#include "core/gray.h"

#include <algorithm>

namespace parallax {
namespace {

template <class T>
void convert(const T* in, int channels, int width, std::uint16_t* out) {
  if (channels == 1) {
    std::copy(in, in + width, out);
    return;
  }
  for (int x = 0; x < width; ++x) out[x] = gray(in[3 * x], in[3 * x + 1], in[3 * x + 2]);
}

}  // namespace

void gray_row(const ImageView& image, int y, std::uint16_t* out) {
  const int width = image.format.size.width;
  if (image.format.depth == Depth::bits8)
    convert(static_cast<const std::uint8_t*>(image.row(y)), image.channels, width, out);
  else
    convert(static_cast<const std::uint16_t*>(image.row(y)), image.channels, width, out);
}

}  // namespace parallax
