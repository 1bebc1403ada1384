// SPDX-License-Identifier: Apache-2.0
#include "parallax/rectify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/checks.h"
#include "core/floating_point.h"
#include "geometry/lens.h"
#include "geometry/matrix.h"
#include "geometry/turn.h"

namespace parallax {
namespace {

[[noreturn]] void refuse_rig(const std::string& what, const std::string& remedy) {
  refuse("the rig cannot be rectified: " + what + ": " + remedy);
}

// A rectangle in the plane at distance 1 in front of the rectified cameras.
struct Rectangle {
  double left, right, top, bottom;
};

// Positions farther from the principal point are ignored. A tangent: 76°.
constexpr double widest = 4;

// The camera's pixels in the plane of the rectified image. A position that no ray reaches, or only a ray
// beyond `widest`, is replaced by the outermost valid position towards it.
class Unrotated {
 public:
  Unrotated(const Camera& camera, const Matrix3& rotation)
      : camera_(camera), lens_(camera), rotation_(rotation) {}

  Position at(const Position& position) const {
    Position result{};
    if (find(position, result)) return result;
    const Position centre = {camera_.centre_x, camera_.centre_y};
    double seen = 0, lost = 1;
    find(centre, result);
    for (int halving = 0; halving < 40; ++halving) {
      const double middle = (seen + lost) / 2;
      const bool sees = find(
          {centre[0] + middle * (position[0] - centre[0]), centre[1] + middle * (position[1] - centre[1])},
          result);
      (sees ? seen : lost) = middle;
    }
    return result;
  }

 private:
  // Changes the result only if a position is found.
  bool find(const Position& position, Position& result) const {
    const std::optional<Vector3> ray = lens_.ray(position);
    if (!ray) return false;
    const auto [x, y, z] = rotation_ * *ray;
    if (!(z > 0) || !(std::hypot(x, y) <= widest * z)) return false;
    result = {x / z, y / z};
    return true;
  }

  Camera camera_;
  Lens lens_;
  Matrix3 rotation_;
};

// The largest rectangle whose sides pass no border of the image, and the smallest one around all borders.
struct Bounds {
  Rectangle inner, outer;
};

Bounds bounds_of(const Camera& camera, const Matrix3& rotation, int unusable) {
  constexpr double far = std::numeric_limits<double>::infinity();
  const Unrotated plane(camera, rotation);
  Bounds bounds{{-far, far, -far, far}, {far, -far, far, -far}};
  Rectangle &inner = bounds.inner, &outer = bounds.outer;
  const double first = unusable, last_x = camera.size.width - 1 - unusable,
               last_y = camera.size.height - 1 - unusable;
  const auto add = [&](double x, double y) {
    const Position at = plane.at({x, y});
    outer = {std::min(outer.left, at[0]), std::max(outer.right, at[0]), std::min(outer.top, at[1]),
             std::max(outer.bottom, at[1])};
    return at;
  };
  for (int y = 0; y < camera.size.height; ++y) {
    const double row = std::clamp<double>(y, first, std::max(first, last_y));
    inner.left = std::max(inner.left, add(first, row)[0]);
    inner.right = std::min(inner.right, add(last_x, row)[0]);
  }
  for (int x = 0; x < camera.size.width; ++x) {
    const double column = std::clamp<double>(x, first, std::max(first, last_x));
    inner.top = std::max(inner.top, add(column, first)[1]);
    inner.bottom = std::min(inner.bottom, add(column, last_y)[1]);
  }
  return bounds;
}

// A common focal length, and the middle of the part that each image shows.
struct Window {
  double focal, left_x, right_x, y;
};

double middle(double a, double b) {
  return (a + b) / 2;
}

// The window with an image's proportions inside both rectangles.
Window inside(Rectangle left, Rectangle right, Size size, bool same_centres) {
  if (same_centres) {
    left.left = right.left = std::max(left.left, right.left);
    left.right = right.right = std::min(left.right, right.right);
  }
  const double top = std::max(left.top, right.top), bottom = std::min(left.bottom, right.bottom);
  const double width = std::min(left.right - left.left, right.right - right.left), height = bottom - top;
  if (!(width > 0 && height > 0))
    refuse_rig("no rectangle was seen by both cameras",
               same_centres ? "give same_centres = false, or alpha = 1" : "give alpha = 1");
  return {std::max((size.width - 1) / width, (size.height - 1) / height), middle(left.left, left.right),
          middle(right.left, right.right), middle(top, bottom)};
}

// The window around both rectangles.
Window around(Rectangle left, Rectangle right, Size size, bool same_centres) {
  if (same_centres) {
    left.left = right.left = std::min(left.left, right.left);
    left.right = right.right = std::max(left.right, right.right);
  }
  const double top = std::min(left.top, right.top), bottom = std::max(left.bottom, right.bottom);
  const double width = std::max(left.right - left.left, right.right - right.left), height = bottom - top;
  const double focal = std::min((size.width - 1) / width, (size.height - 1) / height);
  if (!(focal > 0) || !std::isfinite(focal))
    refuse_rig("images of one row or column have no extent", "give a Rectification of your own");
  return {focal, middle(left.left, left.right), middle(right.left, right.right), middle(top, bottom)};
}

Window between(const Window& inner, const Window& outer, double alpha) {
  const auto mix = [&](double a, double b) { return a + alpha * (b - a); };
  return {mix(inner.focal, outer.focal), mix(inner.left_x, outer.left_x), mix(inner.right_x, outer.right_x),
          mix(inner.y, outer.y)};
}

void check_parameters(const RectifyParameters& parameters) {
  check_range("alpha", parameters.alpha, 0.0, 1.0);
  if (!(parameters.zoom > 0) || !std::isfinite(parameters.zoom))
    refuse("zoom", parameters.zoom, "a finite number above 0");
  check_choice("interpolation", parameters.interpolation, Interpolation::lanczos3);
  if (parameters.size != Size{}) check_size(parameters.size);
}

Window choose_window(const Rig& rig, const Rotations& turned, Size size,
                     const RectifyParameters& parameters) {
  const int unusable = parameters.interpolation == Interpolation::lanczos3 ? 3 : 0;
  const Bounds left = bounds_of(rig.left, turned.left, unusable),
               right = bounds_of(rig.right, turned.right, unusable);
  const Bounds all_left = unusable == 0 ? left : bounds_of(rig.left, turned.left, 0),
               all_right = unusable == 0 ? right : bounds_of(rig.right, turned.right, 0);
  const bool same = parameters.same_centres;
  const Window outer = around(all_left.outer, all_right.outer, size, same);
  if (parameters.alpha == 1) return outer;
  return between(inside(left.inner, right.inner, size, same), outer, parameters.alpha);
}

}  // namespace

Rotations turn(const Rig& rig) {
  const Matrix3 half = rotation_about(scaled(axis_of(rig.rotation), -0.5));
  const Vector3 between = half * rig.translation;
  const double baseline = length(between);
  if (std::abs(between[0]) <= std::abs(between[1]))
    refuse_rig("the cameras are above each other", "turn both images by 90° before calibration");
  if (between[0] > 0) refuse_rig("the right camera is left of the left one", "exchange the cameras");
  // Rotates about the axis perpendicular to the baseline and the x axis, by the angle between them.
  const Vector3 axis = {0, -between[2], between[1]};
  const double sine = length(axis);
  const double angle = std::acos(std::min(1.0, std::abs(between[0]) / baseline));
  const Matrix3 level = sine > 0 ? rotation_about(scaled(axis, angle / sine)) : rotation_about({});
  const Rotations turned = {level * transposed(half), level * half, baseline};
  if (!(turned.left[8] > 0 && turned.right[8] > 0))
    refuse_rig("a camera looks along the baseline or backwards", "check the rotation and its direction");
  return turned;
}

Calibration Rectification::calibration() const {
  return {.focal = focal,
          .centre_x = centre_left_x,
          .centre_y = centre_y,
          .doffs = centre_right_x - centre_left_x,
          .baseline = baseline,
          .width = size.width,
          .height = size.height};
}

Rectification rectify(const Rig& rig, const RectifyParameters& parameters) {
  const DefaultFloatingPoint environment;
  check_parameters(parameters);
  validate(rig);
  const Size size = parameters.size == Size{} ? rig.left.size : parameters.size;
  const Rotations turned = turn(rig);
  const Window window = choose_window(rig, turned, size, parameters);
  const double focal = parameters.zoom * window.focal;
  const double column = (size.width - 1) / 2.0, row = (size.height - 1) / 2.0;
  return {.rotation_left = turned.left,
          .rotation_right = turned.right,
          .focal = focal,
          .centre_left_x = column - focal * window.left_x,
          .centre_right_x = column - focal * window.right_x,
          .centre_y = row - focal * window.y,
          .baseline = turned.baseline,
          .size = size};
}

}  // namespace parallax
