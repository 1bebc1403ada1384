// SPDX-License-Identifier: Apache-2.0
#include "tools/files/pictures/colour.h"

#include <algorithm>
#include <limits>

#include "parallax/formats.h"

#include "tools/files/pictures/codecs.h"

namespace parallax::tool {

Picture colour(View<const float> disparity, double low, double high) {
  Picture picture({disparity.size, BitDepth::bits8}, 3);
  parallax::colour(disparity, low, high, picture.samples());
  return picture;
}

std::vector<std::byte> encode_coloured(View<const float> disparity) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (int y = 0; y < disparity.size.height; ++y) {
    for (int x = 0; x < disparity.size.width; ++x) {
      const float value = disparity.at(x, y);
      if (!(value < std::numeric_limits<float>::max())) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) low = high = 0;
  return encode_png(colour(disparity, low, high).view());
}

}  // namespace parallax::tool
