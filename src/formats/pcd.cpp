// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "parallax/formats.h"

#include "formats/points.h"

namespace parallax {

std::vector<std::byte> encode_pcd(std::span<const Point> points) {
  check_points(points);
  const std::string count = std::to_string(points.size());
  // PCL's PointXYZRGB declares its packed colour as a float.
  const std::string header =
      "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F "
      "F\n"
      "COUNT 1 1 1 1\nWIDTH " +
      count + "\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS " + count + "\nDATA binary\n";
  BinaryFile file(header, points.size() * 4 * sizeof(float));
  for (const Point& point : points) {
    const auto [red, green, blue] = point.colour;
    file.put(std::array{point.x, point.y, point.z});
    file.put(static_cast<std::uint32_t>(red << 16 | green << 8 | blue));
  }
  return file.take();
}

}  // namespace parallax
