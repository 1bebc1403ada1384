// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace parallax::detail {

// The length of a vector, in place of std::hypot(), whose last bit depends on the C library, and on whether
// the processor has a fused multiply-add.
inline float length_of(float x, float y) {
  return static_cast<float>(std::sqrt(double{x} * x + double{y} * y));
}

// The root of the sum of squares may be off by a unit in the last place. The correction is that of Borges,
// "An improved algorithm for hypot(a, b)", 2019. `short_side` <= `long_side`; both squares are normal.
inline double corrected_length(double long_side, double short_side) {
  const double root = std::sqrt(long_side * long_side + short_side * short_side);
  double excess;  // what the square of `root` is too large by
  if (root <= 2 * short_side) {
    const double rest = root - short_side;
    excess = long_side * (2 * rest - long_side) + (rest - 2 * (long_side - short_side)) * rest;
  } else {
    const double rest = root - long_side;
    excess = 2 * rest * (long_side - 2 * short_side) + ((4 * rest - short_side) * short_side + rest * rest);
  }
  return root - excess / (2 * root);
}

inline double length_of(double x, double y) {
  const double long_side = std::max(std::abs(x), std::abs(y)),
               short_side = std::min(std::abs(x), std::abs(y));
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  if (short_side <= 0x1p-54 * long_side) return long_side + short_side;
  if (long_side > 0x1p511) return 0x1p600 * corrected_length(0x1p-600 * long_side, 0x1p-600 * short_side);
  if (short_side < 0x1p-459) return 0x1p-600 * corrected_length(0x1p600 * long_side, 0x1p600 * short_side);
  return corrected_length(long_side, short_side);
}

}  // namespace parallax::detail
