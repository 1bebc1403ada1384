// SPDX-License-Identifier: Apache-2.0
// Matrices of 3 rows and 3 columns.
#pragma once

#include <cmath>
#include <cstddef>

#include "parallax/rig.h"

namespace parallax {

inline Matrix3 operator*(const Matrix3& a, const Matrix3& b) {
  Matrix3 product{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      for (std::size_t i = 0; i < 3; ++i) product[3 * row + column] += a[3 * row + i] * b[3 * i + column];
  return product;
}

inline Vector3 operator*(const Matrix3& a, const Vector3& v) {
  return {a[0] * v[0] + a[1] * v[1] + a[2] * v[2], a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
          a[6] * v[0] + a[7] * v[1] + a[8] * v[2]};
}

inline Matrix3 transposed(const Matrix3& a) {
  return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]};
}

// Computed by cofactors; the determinant must not be 0.
inline Matrix3 inverse(const Matrix3& a) {
  const Matrix3 cofactors = {a[4] * a[8] - a[5] * a[7], a[5] * a[6] - a[3] * a[8], a[3] * a[7] - a[4] * a[6],
                             a[2] * a[7] - a[1] * a[8], a[0] * a[8] - a[2] * a[6], a[1] * a[6] - a[0] * a[7],
                             a[1] * a[5] - a[2] * a[4], a[2] * a[3] - a[0] * a[5], a[0] * a[4] - a[1] * a[3]};
  const double determinant = a[0] * cofactors[0] + a[1] * cofactors[1] + a[2] * cofactors[2];
  Matrix3 result = transposed(cofactors);
  for (double& value : result) value /= determinant;
  return result;
}

inline double length(const Vector3& v) {
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

inline Vector3 scaled(const Vector3& v, double factor) {
  return {factor * v[0], factor * v[1], factor * v[2]};
}

// The rotation about an axis by the axis's length in radians (Rodrigues 1840).
inline Matrix3 rotation_about(const Vector3& axis) {
  const double angle = length(axis);
  if (angle == 0) return {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const auto [x, y, z] = scaled(axis, 1 / angle);
  const double c = std::cos(angle), s = std::sin(angle), rest = 1 - c;
  return {c + rest * x * x,     rest * x * y - s * z, rest * x * z + s * y,
          rest * x * y + s * z, c + rest * y * y,     rest * y * z - s * x,
          rest * x * z - s * y, rest * y * z + s * x, c + rest * z * z};
}

// The axis of a rotation by less than π; its length is the angle.
inline Vector3 axis_of(const Matrix3& rotation) {
  const Vector3 twice_sine = {rotation[7] - rotation[5], rotation[2] - rotation[6],
                              rotation[3] - rotation[1]};
  const double sine = length(twice_sine) / 2, cosine = (rotation[0] + rotation[4] + rotation[8] - 1) / 2;
  return sine == 0 ? Vector3{} : scaled(twice_sine, std::atan2(sine, cosine) / (2 * sine));
}

}  // namespace parallax
