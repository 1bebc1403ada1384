// SPDX-License-Identifier: Apache-2.0
// Pairs of two pinhole cameras with known faults. The right view is ray-cast through the exact camera, so
// that points have known positions in it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "parallax/image.h"

namespace parallax {

struct Faults {
  double rows = 0;  // by which the right picture is shifted down, in pixels
  double roll =
      0;  // turns of the right camera, in radians: about the optical axis, clockwise as the picture shows it
  double pitch = 0;       // about the horizontal axis; what it shows moves down
  double yaw = 0;         // about the vertical axis; what it shows moves right
  double scale = 1;       // factor of the right focal length
  double higher = 0;      // the right camera stands lower by this share of the baseline
  double forward = 0;     // it stands before the left one by this share of the baseline
  double distortion = 0;  // k1 of the right lens
  double noise = 0;       // amplitude of uniform noise in both pictures, in gray levels
  double gain = 1;        // factor of the right picture
  double offset = 0;
};

class FaultyPair {
 public:
  FaultyPair(Size size, std::uint64_t seed, const Faults& faults);

  // The left camera's focal length in pixels.
  double focal() const { return 1.2 * size_.width; }
  StereoPair pair() const { return {left_.view(), right_.view()}; }
  const Plane<std::uint8_t>& left() const { return left_; }
  const Plane<std::uint8_t>& right() const { return right_; }

  // The disparity without faults of a left position.
  double true_disparity(double x, double y) const { return nearest(x, y)->disparity(x, y); }
  // The position in the right picture of the point at this left position.
  std::array<double, 2> true_position(double x, double y) const;

 private:
  using Vector = std::array<double, 3>;

  // A plane of the disparity a + b·x + c·y inside a rectangle of the left picture.
  struct Surface {
    double a, b, c, left, top, right, bottom;
    std::uint64_t texture;
    double disparity(double x, double y) const { return a + b * x + c * y; }
    bool covers(double x, double y) const { return x >= left && x < right && y >= top && y < bottom; }
  };

  double centre_x() const { return 0.5 * (size_.width - 1); }
  double centre_y() const { return 0.5 * (size_.height - 1); }
  Vector right_camera() const { return {1, faults_.higher, faults_.forward}; }
  std::array<Vector, 3> rotation() const;
  void make_scene();
  const Surface* nearest(double x, double y) const;
  double seen_by_right(double column, double row) const;
  std::uint8_t level(double value, double gain, double offset, double random) const;

  Size size_;
  Faults faults_;
  std::uint64_t seed_;
  std::vector<Surface> surfaces_;
  Plane<std::uint8_t> left_, right_;
};

}  // namespace parallax
