// SPDX-License-Identifier: Apache-2.0
// Fractions of vectors from gray levels: a step of Lucas & Kanade 1981, "An iterative image registration
// technique with an application to stereo vision", from the nearest integer vector.
//
// A pixel q of vector (d, v) has the nearest integer shift m(q) = (−⌈d − ½⌉, ⌈v − ½⌉) and the right pixel q +
// m(q). It is usable if it has a vector, and neither pixel is in the outermost columns and rows of its image.
// In 8-bit gray levels (the upper 8 of 16-bit images), with L and its neighbours around q and R around q +
// m(q),
//
//   g = (L(+1, 0) − L(−1, 0) + R(+1, 0) − R(−1, 0), L(0, +1) − L(0, −1) + R(0, +1) − R(0, −1))
//   e = 4·(L − R)
//
// so the image shifts by e = g·δ for a small shift δ. The shift m(p) + δ of a pixel p fits the usable pixels
// q of the window around p whose m(q) is within one pixel of m(p) on both axes, up to a constant difference
// of the images: the least squares of e(q) + g(q)·(m(q) − m(p)) − g(q)·δ − constant, plus stiffness times the
// number of pixels times |δ − f|², where m(p) + f is the shift before. The vector stays if fewer than a
// quarter of the window's pixels are taken, or a component of δ is beyond ±1. Sums are integers; then each
// operation is rounded to the nearest double.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/arena.h"
#include "core/workers.h"
#include "refine/refine.h"

namespace parallax::refine {

// ⌈value − ½⌉ of values that are near integers of 31 bits.
inline int nearest_integer(float value) {
  const float lower = value - 0.5f;
  const int truncated = static_cast<int>(lower);
  return truncated + (lower > static_cast<float>(truncated) ? 1 : 0);
}

// In units of g², where g is 4 times the gradient of an image.
inline constexpr double refit_stiffness = 32;

// Sums over the pixels that a window takes; e includes g·(m(q) − m(p)).
struct ShiftSums {
  std::int32_t count = 0, x = 0, y = 0, e = 0, xx = 0, xy = 0, yy = 0, xe = 0, ye = 0;
};

// The disparity and the row offset that refit_vectors() gives a pixel. `shift_x`, `shift_y`: m(p).
inline void refit_vector(const ShiftSums& sums, int window, int shift_x, int shift_y, float& disparity,
                         float& row_offset) {
  if (4 * sums.count < window * window) return;
  const double n = sums.count, x = sums.x, y = sums.y, e = sums.e, stiffness = refit_stiffness * n * n;
  const double xx = n * sums.xx - x * x + stiffness, yy = n * sums.yy - y * y + stiffness,
               xy = n * sums.xy - x * y;
  const double xe = n * sums.xe - x * e + stiffness * (-static_cast<double>(disparity) - shift_x),
               ye = n * sums.ye - y * e + stiffness * (static_cast<double>(row_offset) - shift_y);
  const double determinant = xx * yy - xy * xy;
  const double delta_x = (yy * xe - xy * ye) / determinant, delta_y = (xx * ye - xy * xe) / determinant;
  if (!(std::abs(delta_x) <= 1 && std::abs(delta_y) <= 1)) return;
  // Never −0, which medians cannot distinguish from 0.
  disparity = static_cast<float>(-(shift_x + delta_x)) + 0.0f;
  row_offset = static_cast<float>(shift_y + delta_y) + 0.0f;
}

// Terms of the left image's pixels, with a border of unusable ones: column x of the image is element x
// + border of row y + border.
struct Shifts {
  static constexpr int border = 8, widest_vector = 16;
  // m of an unusable pixel, which is not within a pixel of any other m.
  static constexpr std::int32_t unusable = 1 << 28;

  View<std::uint8_t> gray[2];
  View<std::int32_t> x, y, gradient_x, gradient_y, difference;

  Shifts() = default;
  // Called twice (see Arena).
  Shifts(Size image, Arena& arena);
};

// `disparity` and `row_offset` have the size of the images.
void refit_vectors(const DisparityMap& map, const StereoPair& pair, int window, const Shifts& shifts,
                   const Workers& workers);
// The same, written directly from the definition.
void refit_vectors_reference(const DisparityMap& map, const StereoPair& pair, int window,
                             const Shifts& shifts);

}  // namespace parallax::refine
