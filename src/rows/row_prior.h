// SPDX-License-Identifier: Apache-2.0
// The surface of row offsets (row_surface.h) from what row offsets cost, for matchers that search rows.
//
// The image is cut into squares. With M(v) the cost of row offset v in a square, between integers by linear
// interpolation, and m the sum over all squares of the mean of M, the surface is the one with the least
//
//   Σ M(v̂) + m/100·(|c₃| + |c₄| + |c₅|),   v̂ limited to [−N, N]
//
// where the second term keeps repetitive texture from bending it. It is searched among planes and among
// surfaces without slope, and from the best of these in ever smaller steps. Cells of k×k squares, at most
// 16×16 of them, take their squares' place, each at its centre.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "core/integers.h"
#include "rows/row_surface.h"

namespace parallax::rows {

// The costs of row offsets in squares of `side` pixels; none is negative.
struct RowOffsetCosts {
  static constexpr int side = 32;

  Size image{0, 0};
  int rows = 0;                   // N
  std::int64_t* costs = nullptr;  // [square][v + N], square by square in rows

  void reserve(Arena& arena) { costs = arena.reserve<std::int64_t>(count()); }
  void clear() const { std::fill_n(costs, count(), 0); }

  Size squares() const { return {divide_round_up(image.width, side), divide_round_up(image.height, side)}; }
  int offsets() const { return 2 * rows + 1; }
  std::size_t count() const { return squares().pixels() * to_size(offsets()); }
  // The index of square (x, y), and its costs for v = −N … N.
  std::ptrdiff_t index(int x, int y) const {
    return (static_cast<std::ptrdiff_t>(y) * squares().width + x) * offsets();
  }
  std::int64_t* of(int x, int y) const { return costs + index(x, y); }
};

// Finds the surface of least costs; one of 0 if none costs less.
RowSurface fit_row_surface(const RowOffsetCosts& costs);

// Base of the priors of methods with smoothness: collects the costs of squares, fits the surface, and tells
// how far a row offset is from it. Row offsets have the indices 0 … 2N.
class RowPrior {
 public:
  static constexpr int side = RowOffsetCosts::side;

  // `rows`: N. Without `exists`, there is nothing to collect.
  RowPrior(Size image, int rows, bool exists) : costs_{image, rows}, exists_(rows > 0 && exists) {}

  bool exists() const { return exists_; }
  void reserve(Arena& arena) {
    if (exists_) costs_.reserve(arena);
  }

  Size squares() const { return costs_.squares(); }
  void clear() const { costs_.clear(); }
  void fit() { surface_ = fit_row_surface(costs_); }

 protected:
  // Adds the cost of a row offset to the square of pixel (x, y).
  void add_cost(int x, int y, int row, std::int64_t cost) const {
    costs_.of(x / side, y / side)[row] += cost;
  }
  const RowSurface& surface() const { return surface_; }
  // Distance in rows between two row offsets.
  double distance(int row, double from) const { return std::abs(row - costs_.rows - from); }

  Size image() const { return costs_.image; }

 private:
  RowOffsetCosts costs_;
  bool exists_;
  RowSurface surface_;
};

}  // namespace parallax::rows
