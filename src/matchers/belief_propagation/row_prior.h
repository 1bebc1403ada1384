// SPDX-License-Identifier: Apache-2.0
// The row offsets that a pair has by its data costs in the large, where rows are searched, and what other ones cost. On
// the first level that stores its data costs, the finest but one, or the first above those with candidates, the costs of a
// square for row offset v are the sum of its pixels' min_d D(d, v). The surface v̂ fits them (data_cost/row_surface.h). On this
// level and the coarser ones, a pixel's data costs grow by
//
//   row_prior·4^level·|v − v̂|
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
#include "data_cost/row_surface.h"
#include "matchers/belief_propagation/belief_propagation.h"

namespace parallax::belief_propagation {

class RowPrior {
 public:
  RowPrior(const Model& model, Size image)
      : model_(model),
        image_(image),
        squares_(data_cost::RowOffsetCosts::squares(image)),
        levels_(level_sizes(image, model.parameters.levels).size()) {
    first_ = std::max<std::size_t>(1, model.candidate_levels(levels_));
  }

  bool exists() const {
    return model_.row_offsets > 1 && model_.parameters.row_prior > 0 && first_ < levels_;
  }
  // The first that stores its data costs.
  std::size_t first_level() const { return first_; }

  // Called twice, as Arena says.
  void reserve(Arena& arena) { costs_ = arena.reserve<std::int64_t>(exists() ? cost_count() : 0); }

  Size squares() const { return squares_; }
  // The first row of the first level that is in a square row.
  int first_row(int square) const {
    return divide_round_up(square * data_cost::RowOffsetCosts::side, 1 << first_);
  }

  void clear() const { std::fill_n(costs_, cost_count(), 0); }
  // Adds what pixel (x, y) of the first level has at the row offset of index `row`.
  void add(int x, int y, int row, float least) const {
    const double fine = model_.integer ? 1 : 256;
    costs_[(square_of(y) * squares_.width + square_of(x)) * model_.row_offsets + row] +=
        std::llround(fine * static_cast<double>(least));
  }
  void fit() { surface_ = data_cost::fit_row_surface({image_, model_.row_offsets / 2, costs_}); }

  // What pixel (x, y) of a level pays at the row offset of index `row`; in units.
  float cost(std::size_t level, int x, int y, int row) const {
    const int side = 1 << level;
    const double expected = surface_.at(data_cost::position(x * side, (x + 1) * side, image_.width),
                                        data_cost::position(y * side, (y + 1) * side, image_.height));
    const double rows = std::abs(model_.min_row_offset + row - expected);
    return model_.rounded(static_cast<float>(rows * side * side * model_.row_prior));
  }

 private:
  int square_of(int pixel) const { return (pixel << first_) / data_cost::RowOffsetCosts::side; }
  std::size_t cost_count() const { return squares_.pixels() * static_cast<std::size_t>(model_.row_offsets); }

  const Model& model_;
  Size image_, squares_;
  std::size_t levels_, first_;
  std::int64_t* costs_ = nullptr;
  data_cost::RowSurface surface_;
};

}  // namespace parallax::belief_propagation
