// SPDX-License-Identifier: Apache-2.0
#include "parallax/geometry.h"

#include <cmath>
#include <limits>

#include "core/checks.h"
#include "core/floating_point.h"
#include "geometry/normals.h"
#include "geometry/points.h"

namespace parallax {
namespace {

std::array<std::uint8_t, 3> colour_at(const ImageView& image, int x, int y) {
  const auto channel = [&](int c) -> std::uint8_t {
    const int element = x * image.channels + (image.channels == 3 ? c : 0);
    if (image.format.depth == BitDepth::bits8) return static_cast<const std::uint8_t*>(image.row(y))[element];
    return static_cast<std::uint8_t>(static_cast<const std::uint16_t*>(image.row(y))[element] >> 8);
  };
  return {channel(0), channel(1), channel(2)};
}

bool is_finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z);
}

}  // namespace

void check_calibration(const Calibration& calibration) {
  check_finite("focal", calibration.focal);
  check_finite("centre_x", calibration.centre_x);
  check_finite("centre_y", calibration.centre_y);
  check_finite("doffs", calibration.doffs);
  check_finite("baseline", calibration.baseline);
}

double depth(const Calibration& calibration, float disparity) {
  if (!std::isfinite(disparity)) return 0;
  const double shift = static_cast<double>(disparity) + calibration.doffs;
  return shift > 0 ? calibration.focal * calibration.baseline / shift : 0;
}

double depth_uncertainty(const Calibration& calibration, float disparity, double disparity_uncertainty) {
  const double z = depth(calibration, disparity);
  if (!(z > 0)) return std::numeric_limits<double>::infinity();
  return z * z * disparity_uncertainty / (calibration.focal * calibration.baseline);
}

void depth_uncertainty_map(const Calibration& calibration, View<const float> disparity,
                           double disparity_uncertainty, View<float> uncertainty) {
  const DefaultFloatingPoint environment;
  check_calibration(calibration);
  check_not_negative("disparity_uncertainty", disparity_uncertainty);
  check_view("disparity map", disparity, disparity.size);
  check_view("uncertainty map", uncertainty, disparity.size);
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      uncertainty.at(x, y) =
          static_cast<float>(depth_uncertainty(calibration, disparity.at(x, y), disparity_uncertainty));
}

Calibration in_metres(const Calibration& calibration) {
  const DefaultFloatingPoint environment;
  check_not_negative("metres_per_unit", calibration.metres_per_unit);
  Calibration metric = calibration;
  if (calibration.metres_per_unit > 0) metric.baseline *= calibration.metres_per_unit;
  metric.metres_per_unit = 1;
  return metric;
}

void DepthLimits::validate() const {
  const auto check_bound = [](const char* field, double value) {
    if (!(value > 0)) refuse(field, value, "a number above 0");
  };
  check_not_negative("least depth", least);
  check_bound("greatest depth", greatest);
  check_bound("greatest depth uncertainty", uncertainty);
  check_not_negative("disparity_uncertainty", disparity_uncertainty);
}

double limited_depth(const Calibration& calibration, float disparity, const DepthLimits& limits) {
  const double z = depth(calibration, disparity);
  const bool outside =
      z < limits.least || z > limits.greatest ||
      depth_uncertainty(calibration, disparity, limits.disparity_uncertainty) > limits.uncertainty;
  return outside ? 0 : z;
}

void depth_map(const Calibration& calibration, View<const float> disparity, View<float> result,
               const DepthLimits& limits) {
  const DefaultFloatingPoint environment;
  check_calibration(calibration);
  limits.validate();
  check_view("disparity map", disparity, disparity.size);
  check_view("depth map", result, disparity.size);
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      result.at(x, y) = static_cast<float>(limited_depth(calibration, disparity.at(x, y), limits));
}

PixelPoints::PixelPoints(const Calibration& calibration, View<const float> disparity, const ImageView& left,
                         const DepthLimits& limits, bool normals)
    : calibration_(calibration), disparity_(disparity), left_(left), limits_(limits), normals_(normals) {
  check_calibration(calibration);
  limits.validate();
  check_view("disparity map", disparity, disparity.size);
  check_image("left image", left);
  if (left.format.size != disparity.size)
    refuse("left image is " + text(left.format.size) + ", the disparity map is " + text(disparity.size) +
           ": give those of one match");
}

std::optional<Point> PixelPoints::without_normal(int x, int y) const {
  const double z = limited_depth(calibration_, disparity_.at(x, y), limits_);
  if (!(z > 0)) return std::nullopt;
  const double right = (x - calibration_.centre_x) * z / calibration_.focal;
  const double down = (y - calibration_.centre_y) * z / calibration_.focal;
  const Point point{
      static_cast<float>(right), static_cast<float>(down), static_cast<float>(z), colour_at(left_, x, y), {}};
  return is_finite(point) ? std::optional(point) : std::nullopt;
}

std::optional<Point> PixelPoints::at(int x, int y) const {
  std::optional<Point> point = without_normal(x, y);
  if (point && normals_) point->normal = normal_at(calibration_, disparity_, x, y);
  return point;
}

std::vector<Point> organised_cloud(const Calibration& calibration, View<const float> disparity,
                                   const ImageView& left, const DepthLimits& limits, bool normals) {
  const DefaultFloatingPoint environment;
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  const PixelPoints pixels(calibration, disparity, left, limits, normals);
  std::vector<Point> points;
  points.reserve(disparity.size.pixels());
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      points.push_back(pixels.at(x, y).value_or(Point{none, none, none, colour_at(left, x, y), {}}));
  return points;
}

std::vector<Point> point_cloud(const Calibration& calibration, View<const float> disparity,
                               const ImageView& left, const DepthLimits& limits, bool normals) {
  const DefaultFloatingPoint environment;
  const PixelPoints pixels(calibration, disparity, left, limits, normals);
  std::vector<Point> points;
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      if (const std::optional<Point> point = pixels.at(x, y)) points.push_back(*point);
  return points;
}

}  // namespace parallax
