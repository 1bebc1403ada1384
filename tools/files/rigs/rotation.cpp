// SPDX-License-Identifier: Apache-2.0
#include "tools/files/rigs/rotation.h"

#include <algorithm>
#include <cmath>

namespace parallax::tool {

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 result{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      for (std::size_t i = 0; i < 3; ++i) result[3 * row + column] += a[3 * row + i] * b[3 * i + column];
  return result;
}

Vector3 product(const Matrix3& m, const Vector3& v) {
  Vector3 result{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t i = 0; i < 3; ++i) result[row] += m[3 * row + i] * v[i];
  return result;
}

Matrix3 transposed(const Matrix3& m) {
  return {m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]};
}

double length(const Vector3& v) {
  return std::hypot(v[0], v[1], v[2]);
}

// R = I + sin θ / θ · [r]ₓ + (1 − cos θ) / θ² · [r]ₓ², with θ = |r|.
Matrix3 rotation_about(const Vector3& axis) {
  const double angle = length(axis);
  Matrix3 result{1, 0, 0, 0, 1, 0, 0, 0, 1};
  if (angle == 0) return result;
  const double half = std::sin(angle / 2) / angle;
  const double first = std::sin(angle) / angle, second = 2 * half * half;
  const auto [x, y, z] = axis;
  const Matrix3 cross{0, -z, y, z, 0, -x, -y, x, 0}, square = product(cross, cross);
  for (std::size_t i = 0; i < 9; ++i) result[i] += first * cross[i] + second * square[i];
  return result;
}

// By the quaternion, from its greatest component, so that no division loses digits.
Vector3 axis_of(const Matrix3& m) {
  const double trace = m[0] + m[4] + m[8];
  // Four times the squares of w, x, y and z.
  const std::array<double, 4> squares{1 + trace, 1 + 2 * m[0] - trace, 1 + 2 * m[4] - trace,
                                      1 + 2 * m[8] - trace};
  const auto greatest = std::max_element(squares.begin(), squares.end()) - squares.begin();
  // Four times the products of the greatest with w, x, y and z.
  const std::array<std::array<double, 4>, 4> products{{
      {squares[0], m[7] - m[5], m[2] - m[6], m[3] - m[1]},
      {m[7] - m[5], squares[1], m[1] + m[3], m[2] + m[6]},
      {m[2] - m[6], m[1] + m[3], squares[2], m[5] + m[7]},
      {m[3] - m[1], m[2] + m[6], m[5] + m[7], squares[3]},
  }};
  const auto& [w, x, y, z] = products[static_cast<std::size_t>(greatest)];
  const double sine = std::hypot(x, y, z);
  if (sine == 0) return {};
  const double angle = w < 0 ? -2 * std::atan2(sine, -w) : 2 * std::atan2(sine, w);
  return {angle * x / sine, angle * y / sine, angle * z / sine};
}

}  // namespace parallax::tool
