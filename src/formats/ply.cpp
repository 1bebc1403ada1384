// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <string>

#include "parallax/error.h"
#include "parallax/formats.h"

namespace parallax {
namespace {

void check_finite(const Point& point, std::size_t index) {
  if (std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z)) return;
  throw Error(ErrorCategory::argument, "point " + std::to_string(index) +
                                           " has a coordinate that is not finite: leave it out of the cloud");
}

}  // namespace

std::vector<std::byte> encode_ply(std::span<const Point> points) {
  static_assert(std::endian::native == std::endian::little, "coordinates are copied as they are");
  const std::string header = "ply\nformat binary_little_endian 1.0\nelement vertex " +
                             std::to_string(points.size()) +
                             "\nproperty float x\nproperty float y\nproperty float z\n"
                             "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n";
  constexpr std::size_t point_bytes = 3 * sizeof(float) + 3;
  std::vector<std::byte> bytes(header.size() + points.size() * point_bytes);
  std::memcpy(bytes.data(), header.data(), header.size());
  std::byte* out = bytes.data() + header.size();
  for (const Point& point : points) {
    check_finite(point, static_cast<std::size_t>(&point - points.data()));
    const float position[] = {point.x, point.y, point.z};
    std::memcpy(out, position, sizeof position);
    std::memcpy(out + sizeof position, point.colour.data(), 3);
    out += point_bytes;
  }
  return bytes;
}

}  // namespace parallax
