// SPDX-License-Identifier: Apache-2.0
// The row offsets that a pair has by its data costs in the large, where rows are searched, and what other ones cost. The
// costs of a square for row offset v are the sum of min_d Σ D(p, d, v) over its groups of four pixels p side by side, on
// every eighth row, where D is the data cost of a single pixel: groups tell rows apart better than pixels do. The surface v̂
// fits them (rows/row_surface.h). C(p, d, v) grows by
//
//   2·row_prior·max(0, |v − v̂| − ½)
//
// rounded, where v̂ is that of the middle of p: the row offsets on both sides of v̂ cost nothing or little. Images of fewer
// than four columns or five rows have no groups, and v̂ = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "matchers/semi_global/semi_global.h"
#include "rows/row_surface.h"

namespace parallax::semi_global {

class RowPrior {
 public:
  RowPrior(const Model& model, Size image) : model_(model), costs_{image, model.row_offsets / 2} {}

  bool exists() const { return model_.row_offsets > 1 && model_.parameters.row_prior > 0; }

  // Called twice, as Arena says.
  void reserve(Arena& arena) {
    if (exists()) costs_.reserve(arena);
  }

  static constexpr int group = 4;
  Size squares() const { return costs_.squares(); }
  // Calls each(y) for the rows of a row of squares that count.
  template <class Each>
  void for_rows(int square, const Each& each) const {
    constexpr int side = data_cost::RowOffsetCosts::side, step = 8;
    for (int y = square * side + step / 2; y < std::min(costs_.image.height, (square + 1) * side); y += step)
      each(y);
  }

  void clear() const { costs_.clear(); }
  // Adds what the group from pixel (x, y) has at the row offset of index `row`.
  void add(int x, int y, int row, int least) const {
    constexpr int side = data_cost::RowOffsetCosts::side;
    costs_.of(x / side, y / side)[row] += least;
  }
  void fit() { surface_ = fit_row_surface(costs_); }

  // v̂ of pixel (x, y).
  double expected(int x, int y) const {
    return surface_.at(data_cost::position(x, 1, costs_.image.width),
                       data_cost::position(y, 1, costs_.image.height));
  }
  // What the row offset of index `row` costs where v̂ is `expected`.
  int cost(double expected, int row) const {
    const double away = std::abs(model_.min_row_offset + row - expected) - 0.5;
    return static_cast<int>(std::max(0.0, away) * static_cast<double>(model_.row_prior()) + 0.5);
  }

 private:
  const Model& model_;
  data_cost::RowOffsetCosts costs_;
  data_cost::RowSurface surface_;
};

}  // namespace parallax::semi_global
