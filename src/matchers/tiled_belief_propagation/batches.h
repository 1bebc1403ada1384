// SPDX-License-Identifier: Apache-2.0
// The order in which tiles can be visited in parallel, from one anti-diagonal to the next.
#pragma once

#include <algorithm>
#include <vector>

#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {

// Neighbouring tiles of an anti-diagonal, from top to bottom.
struct Batch {
  int column, row;  // of the first
  int tiles;
};

class Batches {
 public:
  Batches(const TileGrid& grid, int most) : grid_(grid), most_(most) {
    for (int d = 0; d < grid.columns + grid.rows - 1; ++d) {
      first_of_diagonal_.push_back(static_cast<int>(batches_.size()));
      for (int row = first_row(d); row <= last_row(d); row += most)
        batches_.push_back({d - row, row, std::min(most, last_row(d) + 1 - row)});
    }
  }
  int count() const { return static_cast<int>(batches_.size()); }
  const Batch& operator[](int index) const { return batches_[static_cast<std::size_t>(index)]; }

  // The position of a tile.
  struct Place {
    int batch, tile;
  };
  Place place(int column, int row) const {
    const int d = column + row, index = row - first_row(d);
    return {first_of_diagonal_[static_cast<std::size_t>(d)] + index / most_, index % most_};
  }

  // Batches [first, last), of the previous or the next diagonal, whose messages a batch reads.
  struct Needed {
    int first, last;
  };
  Needed needed(int index, bool reverse) const {
    const Batch& batch = (*this)[index];
    const int d = batch.column + batch.row, other = reverse ? d + 1 : d - 1;
    if (other < 0 || other >= static_cast<int>(first_of_diagonal_.size())) return {0, 0};
    // Neighbours to the left or right are in the same rows, those above or below in the next.
    const int low = std::max(batch.row - (reverse ? 0 : 1), first_row(other));
    const int high = std::min(batch.row + batch.tiles - (reverse ? 0 : 1), last_row(other));
    const int begin = first_of_diagonal_[static_cast<std::size_t>(other)];
    return {begin + (low - first_row(other)) / most_, begin + (high - first_row(other)) / most_ + 1};
  }

 private:
  int first_row(int diagonal) const { return std::max(0, diagonal - grid_.columns + 1); }
  int last_row(int diagonal) const { return std::min(grid_.rows - 1, diagonal); }

  TileGrid grid_;
  int most_;
  std::vector<Batch> batches_;
  std::vector<int> first_of_diagonal_;
};

}  // namespace parallax::tiled_belief_propagation
