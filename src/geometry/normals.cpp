// SPDX-License-Identifier: Apache-2.0
#include "geometry/normals.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checks.h"
#include "core/floating_point.h"
#include "geometry/points.h"

namespace parallax {
namespace {

constexpr int window_radii[] = {2, 5};   // windows of the first and the second fit
constexpr double surface_tolerance = 1;  // pixels of disparity

// The lesser of two steps. Larger ones than a pixel are jumps, unless both are alike; a jump, or no disparity
// on either side, gives 0.
double lesser_step(double before, double after) {
  const double step = std::abs(before) < std::abs(after) || std::isnan(after) ? before : after;
  const bool is_slope = std::abs(step) <= surface_tolerance || std::abs(after - before) <= surface_tolerance;
  return is_slope ? step : 0;
}

// NaN where a pixel has no disparity, or is outside the image.
double step_between(View<const float> disparity, int x, int y, int u, int v) {
  const auto inside = [&](int column, int row) {
    return column >= 0 && row >= 0 && column < disparity.size.width && row < disparity.size.height;
  };
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (!inside(x, y) || !inside(u, v)) return none;
  const double step = static_cast<double>(disparity.at(u, v)) - static_cast<double>(disparity.at(x, y));
  return std::isfinite(step) ? step : none;
}

Slopes fitted(View<const float> disparity, int x, int y, int radius, const Slopes& slopes) {
  const double centre = disparity.at(x, y);
  double n = 0, u = 0, v = 0, e = 0, uu = 0, uv = 0, vv = 0, ue = 0, ve = 0;
  for (int j = std::max(-radius, -y); j <= std::min(radius, disparity.size.height - 1 - y); ++j) {
    const float* row = disparity.row(y + j) + x;
    for (int i = std::max(-radius, -x); i <= std::min(radius, disparity.size.width - 1 - x); ++i) {
      const double error = static_cast<double>(row[i]) - centre - slopes.x * i - slopes.y * j;
      if (!(std::abs(error) <= surface_tolerance)) continue;
      n += 1, u += i, v += j, e += error;
      uu += i * i, uv += i * j, vv += j * j;
      ue += i * error, ve += j * error;
    }
  }
  // Pixels on a line do not determine a plane: both slopes are pulled very slightly towards those before.
  const double a = n * uu - u * u + 1, b = n * uv - u * v, c = n * vv - v * v + 1;
  const double right = n * ue - u * e, below = n * ve - v * e, determinant = a * c - b * b;
  return {slopes.x + (right * c - below * b) / determinant, slopes.y + (below * a - right * b) / determinant};
}

}  // namespace

Slopes slopes_at(View<const float> disparity, int x, int y) {
  Slopes slopes{
      lesser_step(step_between(disparity, x - 1, y, x, y), step_between(disparity, x, y, x + 1, y)),
      lesser_step(step_between(disparity, x, y - 1, x, y), step_between(disparity, x, y, x, y + 1))};
  for (const int radius : window_radii) slopes = fitted(disparity, x, y, radius, slopes);
  return slopes;
}

Normal normal_at(const Calibration& calibration, View<const float> disparity, int x, int y) {
  const Slopes slopes = slopes_at(disparity, x, y);
  const double across = slopes.x * calibration.focal, down = slopes.y * calibration.focal,
               forward = static_cast<double>(disparity.at(x, y)) + calibration.doffs -
                         slopes.x * (x - calibration.centre_x) - slopes.y * (y - calibration.centre_y);
  const double length = std::hypot(across, down, forward);
  if (!(length > 0) || !std::isfinite(length)) return {};
  return {static_cast<float>(-across / length), static_cast<float>(-down / length),
          static_cast<float>(-forward / length)};
}

void normal_map(const Calibration& calibration, View<const float> disparity, View<float> normals) {
  const DefaultFloatingPoint environment;
  check_calibration(calibration);
  check_view("disparity map", disparity, disparity.size);
  check_view("normals", normals, {3 * disparity.size.width, disparity.size.height});
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x) {
      const bool has_depth = depth(calibration, disparity.at(x, y)) > 0;
      const Normal normal = has_depth ? normal_at(calibration, disparity, x, y) : Normal{};
      std::copy(normal.begin(), normal.end(), normals.row(y) + 3 * x);
    }
}

}  // namespace parallax
