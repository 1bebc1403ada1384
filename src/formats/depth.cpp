// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "parallax/formats.h"

#include "core/floating_point.h"

namespace parallax {

Plane<std::uint16_t> encode_millimetres(View<const float> metres) {
  const DefaultFloatingPoint environment;
  Plane<std::uint16_t> result(metres.size);
  for (int y = 0; y < metres.size.height; ++y) {
    for (int x = 0; x < metres.size.width; ++x) {
      const double millimetres = std::floor(static_cast<double>(metres.at(x, y)) * 1000 + 0.5);
      const bool fits = millimetres >= 1 && millimetres <= 65535;
      result.at(x, y) = fits ? static_cast<std::uint16_t>(millimetres) : std::uint16_t{0};
    }
  }
  return result;
}

}  // namespace parallax
