// SPDX-License-Identifier: Apache-2.0
// The prior of row offsets (rows/row_prior.h), where rows are searched. On the first level that stores its
// data costs, the finest but one, or the first above those with candidates, the cost of a square for row
// offset v is the sum of its pixels' min_d D(d, v). On this level and the coarser ones, a pixel's data costs
// grow by
//
//   row_prior/10·4^level·|v − v̂|
//
// after the sums of all levels, and before its least data cost is subtracted again. v̂ is that of its middle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/integers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "rows/row_prior.h"

namespace parallax::belief_propagation {

class RowPrior : public rows::RowPrior {
 public:
  RowPrior(const Model& model, Size image)
      : RowPrior(model, image, level_sizes(image, model.parameters.levels).size()) {}

  // The first level that stores its data costs.
  std::size_t first_level() const { return first_; }
  // The first row of that level that is in a square row.
  int first_row(int square) const { return divide_round_up(square * side, 1 << first_); }

  // Adds the lowest cost of pixel (x, y) of the first level at the row offset of index `row`.
  void add(int x, int y, int row, float least) const {
    const double fine = model_.integer ? 1 : 256;
    add_cost(x << first_, y << first_, row, std::llround(fine * static_cast<double>(least)));
  }

  // The prior cost of pixel (x, y) of a level at the row offset of index `row`; in units.
  float cost(std::size_t level, int x, int y, int row) const {
    const int width = 1 << level;
    const double rows = distance(row, surface().over(x * width, y * width, width));
    return model_.rounded(static_cast<float>(rows * width * width * model_.row_prior));
  }

 private:
  RowPrior(const Model& model, Size image, std::size_t levels)
      : rows::RowPrior(image, model.row_offsets / 2,
                       model.parameters.row_prior > 0 && first_stored(model, levels) < levels),
        model_(model),
        first_(first_stored(model, levels)) {}

  static std::size_t first_stored(const Model& model, std::size_t levels) {
    return std::max<std::size_t>(1, model.candidate_levels(levels));
  }

  const Model& model_;
  std::size_t first_;
};

}  // namespace parallax::belief_propagation
