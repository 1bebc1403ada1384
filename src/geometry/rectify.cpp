// SPDX-License-Identifier: Apache-2.0
#include "parallax/rectify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/length.h"
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
    if (!(z > 0) || !(detail::length_of(x, y) <= widest * z)) return false;
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

// `turns`: by how many quarter turns clockwise the image is turned.
Bounds bounds_of(const Camera& camera, const Matrix3& rotation, int turns, int unusable) {
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
  // Borders and sides in clockwise order.
  enum { top, right, bottom, left };
  const auto bound = [&](int border, double x, double y) {
    const Position at = add(x, y);
    switch ((border + turns) % 4) {
      case top:
        inner.top = std::max(inner.top, at[1]);
        break;
      case right:
        inner.right = std::min(inner.right, at[0]);
        break;
      case bottom:
        inner.bottom = std::min(inner.bottom, at[1]);
        break;
      default:
        inner.left = std::max(inner.left, at[0]);
    }
  };
  for (int y = 0; y < camera.size.height; ++y) {
    const double row = std::clamp<double>(y, first, std::max(first, last_y));
    bound(left, first, row);
    bound(right, last_x, row);
  }
  for (int x = 0; x < camera.size.width; ++x) {
    const double column = std::clamp<double>(x, first, std::max(first, last_x));
    bound(top, column, first);
    bound(bottom, column, last_y);
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
  const auto bounds = [&](int unusable_pixels) {
    return std::array{bounds_of(rig.left, turned.left, turned.turns.left, unusable_pixels),
                      bounds_of(rig.right, turned.right, turned.turns.right, unusable_pixels)};
  };
  const auto [left, right] = bounds(unusable);
  const auto [all_left, all_right] = unusable == 0 ? std::array{left, right} : bounds(0);
  const bool same = parameters.same_centres;
  const Window outer = around(all_left.outer, all_right.outer, size, same);
  if (parameters.alpha == 1) return outer;
  return between(inside(left.inner, right.inner, size, same), outer, parameters.alpha);
}

}  // namespace

namespace {

// The coordinates of a camera whose images are turned by so many quarter turns clockwise.
Matrix3 quarter_turns(int count) {
  constexpr Matrix3 rolls[] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                               {0, -1, 0, 1, 0, 0, 0, 0, 1},
                               {-1, 0, 0, 0, -1, 0, 0, 0, 1},
                               {0, 1, 0, -1, 0, 0, 0, 0, 1}};
  return rolls[count % 4];
}

double trace(const Matrix3& m) {
  return m[0] + m[4] + m[8];
}

// The position of the left camera in coordinates halfway between both cameras.
Vector3 between_cameras(const Matrix3& rotation, const Vector3& translation) {
  return rotation_about(scaled(axis_of(rotation), -0.5)) * translation;
}

}  // namespace

Turns turns_of(const Rig& rig) {
  int relative = 0;
  for (int count = 1; count < 4; ++count)
    if (trace(quarter_turns(count) * rig.rotation) > trace(quarter_turns(relative) * rig.rotation) + 1e-9)
      relative = count;
  const Matrix3 roll = quarter_turns(relative);
  const auto [x, y, z] = between_cameras(roll * rig.rotation, roll * rig.translation);
  const int left = std::abs(x) > std::abs(y) ? (x < 0 ? 0 : 2) : (y < 0 ? 3 : 1);
  // An upside-down left camera sees the right one on its left. If none is turned, they are exchanged.
  return {left, (relative + left) % 4, left == 2 && relative == 0};
}

Rotations turn(const Rig& rig) {
  const Turns turns = turns_of(rig);
  if (turns.is_exchanged) refuse_rig("the right camera is left of the left one", "exchange the cameras");
  const Matrix3 roll_left = quarter_turns(turns.left), roll_right = quarter_turns(turns.right);
  const Matrix3 rotation = roll_right * rig.rotation * transposed(roll_left);
  const Matrix3 half = rotation_about(scaled(axis_of(rotation), -0.5));
  const Vector3 between = half * (roll_right * rig.translation);
  const double baseline = length(between);
  // Rotates about the axis perpendicular to the baseline and the x axis, by the angle between them.
  const Vector3 axis = {0, -between[2], between[1]};
  const double sine = length(axis);
  const double angle = std::acos(std::min(1.0, std::abs(between[0]) / baseline));
  const Matrix3 level = sine > 0 ? rotation_about(scaled(axis, angle / sine)) : rotation_about({});
  const Rotations turned = {level * transposed(half) * roll_left, level * half * roll_right, baseline, turns};
  // The axis of a rotation by 180° is not known.
  const bool is_opposite = trace(rotation) < -1 + 1e-9;
  if (is_opposite || !(turned.left[8] > 0 && turned.right[8] > 0))
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
  const Rotations turned = turn(rig);
  const bool on_side = turned.turns.left % 2 == 1;
  const Size own = on_side ? Size{rig.left.size.height, rig.left.size.width} : rig.left.size;
  const Size size = parameters.size == Size{} ? own : parameters.size;
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
          .size = size,
          .quarter_turns = turned.turns.left};
}

}  // namespace parallax
