#include <bit>

#include "parallax/formats.h"

namespace parallax {

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
    const float position[] = {point.x, point.y, point.z};
    std::memcpy(out, position, sizeof position);
    std::memcpy(out + sizeof position, point.colour.data(), 3);
    out += point_bytes;
  }
  return bytes;
}

}  // namespace parallax
