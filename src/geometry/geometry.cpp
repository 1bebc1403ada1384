// SPDX-License-Identifier: Apache-2.0
#include "parallax/geometry.h"

#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"

namespace parallax {
namespace {

std::array<std::uint8_t, 3> colour_at(const ImageView& image, int x, int y) {
  const auto channel = [&](int c) -> std::uint8_t {
    const int element = x * image.channels + (image.channels == 3 ? c : 0);
    if (image.format.depth == Depth::bits8) return static_cast<const std::uint8_t*>(image.row(y))[element];
    return static_cast<std::uint8_t>(static_cast<const std::uint16_t*>(image.row(y))[element] >> 8);
  };
  return {channel(0), channel(1), channel(2)};
}

// Finite values give finite results, unless they overflow.
void check_finite(const Calibration& calibration) {
  const auto check = [](const char* field, double value) {
    if (!std::isfinite(value)) refuse(field, value, "a finite number");
  };
  check("focal", calibration.focal);
  check("centre_x", calibration.centre_x);
  check("centre_y", calibration.centre_y);
  check("doffs", calibration.doffs);
  check("baseline", calibration.baseline);
}

bool is_finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z);
}

}  // namespace

double depth(const Calibration& calibration, float disparity) {
  if (!std::isfinite(disparity)) return 0;
  const double shift = static_cast<double>(disparity) + calibration.doffs;
  return shift > 0 ? calibration.focal * calibration.baseline / shift : 0;
}

void depth_map(const Calibration& calibration, View<const float> disparity, View<float> result) {
  const DefaultFloatingPoint environment;
  check_finite(calibration);
  check_view("disparity map", disparity, disparity.size);
  check_view("depth map", result, disparity.size);
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      result.at(x, y) = static_cast<float>(depth(calibration, disparity.at(x, y)));
}

std::vector<Point> point_cloud(const Calibration& calibration, View<const float> disparity,
                               const ImageView& left) {
  const DefaultFloatingPoint environment;
  check_finite(calibration);
  check_view("disparity map", disparity, disparity.size);
  check_image("left image", left);
  if (left.format.size != disparity.size)
    throw Error(ErrorCategory::argument, "left image is " + text(left.format.size) +
                                             ", the disparity map is " + text(disparity.size) +
                                             ": give those of one match");
  std::vector<Point> points;
  for (int y = 0; y < disparity.size.height; ++y) {
    for (int x = 0; x < disparity.size.width; ++x) {
      const double z = depth(calibration, disparity.at(x, y));
      if (!(z > 0)) continue;
      const double right = (x - calibration.centre_x) * z / calibration.focal;
      const double down = (y - calibration.centre_y) * z / calibration.focal;
      const Point point{static_cast<float>(right), static_cast<float>(down), static_cast<float>(z),
                        colour_at(left, x, y)};
      if (is_finite(point)) points.push_back(point);
    }
  }
  return points;
}

}  // namespace parallax
