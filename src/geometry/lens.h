// SPDX-License-Identifier: Apache-2.0
// The mapping of rays by a camera's lens: where a ray ends in the image, and which ray ends at a position.
#pragma once

#include <array>
#include <optional>

#include "parallax/rig.h"

namespace parallax {

class Lens {
 public:
  explicit Lens(const Camera& camera);

  // The position where a ray from the camera's centre ends, inside the image or not; empty if the lens does
  // not bring the ray into the image plane: it comes from behind, or from beyond the angle at which the model
  // turns back.
  std::optional<Position> project(const Vector3& ray) const;
  // The ray of length 1 that ends at a position; empty if no ray does.
  std::optional<Vector3> ray(const Position& position) const;

 private:
  // The position on the sensor, in units of the focal lengths, from the principal point.
  Position bend(const Position& plane) const;
  std::optional<Position> straighten(const Position& bent) const;
  Position apply(const Matrix3& homography, const Position& position) const;
  bool tilts() const { return bending_[12] != 0 || bending_[13] != 0; }

  std::optional<Vector3> unit_ray(const Position& bent) const;

  Camera camera_;
  std::array<double, 14> bending_;  // the coefficients of Brown's model
  Matrix3 tilt_, tilt_back_;
  // The limit up to which the model moves rays farther out the more they are inclined: a tangent of the angle
  // for the radial-tangential model, an angle for the equidistant one, and a distance in the plane before it is
  // bent for the others.
  double limit_;
};

}  // namespace parallax
