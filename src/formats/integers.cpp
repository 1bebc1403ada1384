// SPDX-License-Identifier: Apache-2.0
// Disparities and depths as the integers of pictures.
#include <algorithm>
#include <cmath>
#include <limits>

#include "parallax/formats.h"

#include "core/checks.h"
#include "core/floating_point.h"

namespace parallax {
namespace {

constexpr float no_value = std::numeric_limits<float>::infinity();

template <class In, class Out, class Convert>
Plane<Out> convert(View<const In> in, const Convert& each) {
  Plane<Out> out(in.size);
  for (int y = 0; y < in.size.height; ++y)
    std::transform(in.row(y), in.row(y) + in.size.width, out.row(y), each);
  return out;
}

}  // namespace

Plane<std::uint16_t> encode_kitti(View<const float> disparity) {
  const DefaultFloatingPoint environment;
  return convert<float, std::uint16_t>(disparity, [](float d) -> std::uint16_t {
    if (!std::isfinite(d)) return 0;
    return static_cast<std::uint16_t>(std::clamp(std::floor(d * 256.0f + 0.5f), 1.0f, 65535.0f));
  });
}

Plane<float> decode_kitti(View<const std::uint16_t> values) {
  return convert<std::uint16_t, float>(
      values, [](std::uint16_t v) { return v == 0 ? no_value : static_cast<float>(v) / 256.0f; });
}

Plane<float> decode_scaled_truth(View<const std::uint8_t> values, double scale) {
  const DefaultFloatingPoint environment;
  check_range("truth scale", scale, 1e-6, 1e6);
  return convert<std::uint8_t, float>(
      values, [scale](std::uint8_t v) { return v == 0 ? no_value : static_cast<float>(v / scale); });
}

Plane<std::uint16_t> encode_millimetres(View<const float> metres) {
  const DefaultFloatingPoint environment;
  return convert<float, std::uint16_t>(metres, [](float depth) -> std::uint16_t {
    const double millimetres = std::floor(static_cast<double>(depth) * 1000 + 0.5);
    return millimetres >= 1 && millimetres <= 65535 ? static_cast<std::uint16_t>(millimetres) : 0;
  });
}

}  // namespace parallax
