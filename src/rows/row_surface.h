// SPDX-License-Identifier: Apache-2.0
// By how many rows a pair is off, as a smooth surface over the image: rows that do not line up are mostly off by an amount
// that changes little by little, as when a camera is turned or moved, has another focal length, or a lens whose
// distortion is not quite corrected.
//
// The surface is a polynomial of second order in x and y, which go from −1 to 1 across the image,
//
//   v̂(x, y) = c₀ + c₁·x + c₂·y + c₃·(x² − 1/3) + c₄·x·y + c₅·(y² − 1/3),   limited to [−N, N].
//
// The image is cut into squares. With M(v) what row offset v costs a square, between integers by linear interpolation, and
// m the sum over all squares of the mean of M, the surface is the one with the least
//
//   Σ M(v̂) + m/100·(|c₃| + |c₄| + |c₅|)
//
// where the second term keeps repetitive texture from bending it. It is searched among planes and among surfaces without
// slope, and from the best of these in ever smaller steps. Cells of k×k squares, at most 16×16 of them, take their squares'
// place, each at its centre.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "parallax/image.h"

#include "core/arena.h"
#include "core/round_up.h"

namespace parallax::data_cost {

struct RowSurface {
  int rows = 0;                  // N
  std::array<double, 6> c = {};  // c₀ … c₅

  // Positions go from −1 to 1.
  double at(double x, double y) const;
};

// The position of the middle of the `count` pixels from `first` on, as far as the image has them; from −1 to 1.
inline double position(int first, int count, int length) {
  return static_cast<double>(first + std::min(first + count, length)) / length - 1;
}

// What row offsets cost squares of `side` pixels; nothing costs less than 0.
struct RowOffsetCosts {
  static constexpr int side = 32;

  Size image{0, 0};
  int rows = 0;                   // N
  std::int64_t* costs = nullptr;  // [square][v + N], square by square in rows

  // Called twice, as Arena says.
  void reserve(Arena& arena) { costs = arena.reserve<std::int64_t>(count()); }
  void clear() const { std::fill_n(costs, count(), 0); }

  Size squares() const { return {divide_round_up(image.width, side), divide_round_up(image.height, side)}; }
  int offsets() const { return 2 * rows + 1; }
  std::size_t count() const { return squares().pixels() * static_cast<std::size_t>(offsets()); }
  // The index of square (x, y), and its costs for v = −N … N.
  std::ptrdiff_t index(int x, int y) const {
    return (static_cast<std::ptrdiff_t>(y) * squares().width + x) * offsets();
  }
  std::int64_t* of(int x, int y) const { return costs + index(x, y); }
};

// Finds the surface of least costs; one of 0 if none costs less.
RowSurface fit_row_surface(const RowOffsetCosts& costs);

}  // namespace parallax::data_cost
