// SPDX-License-Identifier: Apache-2.0
// The row offsets that a pair has by its data costs in the large, where rows are searched, and what other ones cost. On
// the first level that stores its data costs, the finest but one, or the first above those with candidates, the costs of a
// square for row offset v are the sum of its pixels' min_d D(d, v). The surface v̂ fits them (rows/row_surface.h). On this
// level and the coarser ones, a pixel's data costs grow by
//
//   row_prior/10·4^level·|v − v̂|
//
// after the sums of all levels, and before its least data cost is subtracted again. v̂ is that of its middle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/arena.h"
#include "core/round_up.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "rows/row_surface.h"

namespace parallax::belief_propagation {

class RowPrior {
 public:
  RowPrior(const Model& model, Size image)
      : model_(model),
        costs_{image, model.row_offsets / 2},
        levels_(level_sizes(image, model.parameters.levels).size()) {
    first_ = std::max<std::size_t>(1, model.candidate_levels(levels_));
  }

  bool exists() const {
    return model_.row_offsets > 1 && model_.parameters.row_prior > 0 && first_ < levels_;
  }
  // The first that stores its data costs.
  std::size_t first_level() const { return first_; }

  // Called twice, as Arena says.
  void reserve(Arena& arena) {
    if (exists()) costs_.reserve(arena);
  }

  Size squares() const { return costs_.squares(); }
  // The first row of the first level that is in a square row.
  int first_row(int square) const {
    return divide_round_up(square * data_cost::RowOffsetCosts::side, 1 << first_);
  }

  void clear() const { costs_.clear(); }
  // Adds what pixel (x, y) of the first level has at the row offset of index `row`.
  void add(int x, int y, int row, float least) const {
    const double fine = model_.integer ? 1 : 256;
    costs_.of(square_of(x), square_of(y))[row] += std::llround(fine * static_cast<double>(least));
  }
  void fit() { surface_ = fit_row_surface(costs_); }

  // What pixel (x, y) of a level pays at the row offset of index `row`; in units.
  float cost(std::size_t level, int x, int y, int row) const {
    const int side = 1 << level;
    const double expected = surface_.at(data_cost::position(x * side, side, costs_.image.width),
                                        data_cost::position(y * side, side, costs_.image.height));
    const double rows = std::abs(model_.min_row_offset + row - expected);
    return model_.rounded(static_cast<float>(rows * side * side * model_.row_prior));
  }

 private:
  int square_of(int pixel) const { return (pixel << first_) / data_cost::RowOffsetCosts::side; }

  const Model& model_;
  data_cost::RowOffsetCosts costs_;
  std::size_t levels_, first_;
  data_cost::RowSurface surface_;
};

}  // namespace parallax::belief_propagation
