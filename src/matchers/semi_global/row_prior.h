// SPDX-License-Identifier: Apache-2.0
// The prior of row offsets (rows/row_prior.h), where rows are searched. The cost of a square for row offset v
// is the sum of min_d Σ D(p, d, v) over its groups of four pixels p side by side, on every eighth row, where
// D is the data cost of a single pixel: groups tell rows apart better than pixels do. C(p, d, v) grows by
//
//   2·row_prior·max(0, |v − v̂| − ½)
//
// rounded, where v̂ is that of the middle of p: the row offsets on both sides of v̂ cost nothing or little.
// Images of fewer than four columns or five rows have no groups, and v̂ = 0.
#pragma once

#include <algorithm>

#include "matchers/semi_global/semi_global.h"
#include "rows/row_prior.h"

namespace parallax::semi_global {

class RowPrior : public rows::RowPrior {
 public:
  RowPrior(const Model& model, Size image)
      : rows::RowPrior(image, model.row_offsets / 2, model.parameters.row_prior > 0),
        weight_(static_cast<double>(model.row_prior())) {}

  static constexpr int group = 4;
  // Calls each(y) for the rows of a row of squares that count.
  template <class Each>
  void for_rows(int square, const Each& each) const {
    constexpr int step = 8;
    for (int y = square * side + step / 2; y < std::min(image().height, (square + 1) * side); y += step)
      each(y);
  }

  // Adds the lowest cost of the group from pixel (x, y) at the row offset of index `row`.
  void add(int x, int y, int row, int least) const { add_cost(x, y, row, least); }

  // v̂ of pixel (x, y).
  double expected(int x, int y) const { return surface().over(x, y, 1); }
  // The prior cost of the row offset of index `row` where v̂ is `expected`.
  int cost(double expected, int row) const {
    return static_cast<int>(std::max(0.0, distance(row, expected) - 0.5) * weight_ + 0.5);
  }

 private:
  double weight_;
};

}  // namespace parallax::semi_global
