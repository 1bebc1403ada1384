// SPDX-License-Identifier: Apache-2.0
// The order in which tiles can be visited in parallel, from one anti-diagonal to the next. Tiles on one of
// them do not depend on each other: as many as fit side by side in a vector are a batch.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

#include "core/cpp20.h"
#include "core/workers.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {

// Neighbouring tiles of an anti-diagonal, from top to bottom.
struct Batch {
  int column, row;  // position of the first tile
  int tiles;
};

class Batches {
 public:
  Batches(const TileGrid& grid, int most) : grid_(grid), max_(most) {
    for (int d = 0; d < grid.columns + grid.rows - 1; ++d) {
      first_of_diagonal_.push_back(static_cast<int>(batches_.size()));
      for (int row = first_row(d); row <= last_row(d); row += most)
        batches_.push_back({d - row, row, std::min(most, last_row(d) + 1 - row)});
    }
  }
  int count() const { return static_cast<int>(batches_.size()); }
  const Batch& operator[](int index) const { return batches_[to_size(index)]; }

  // The position of a tile.
  struct Place {
    int batch, tile;
  };
  Place place(int column, int row) const {
    const int d = column + row, index = row - first_row(d);
    return {first_of_diagonal_[to_size(d)] + index / max_, index % max_};
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
    const int begin = first_of_diagonal_[to_size(other)];
    return {begin + (low - first_row(other)) / max_, begin + (high - first_row(other)) / max_ + 1};
  }

 private:
  int first_row(int diagonal) const { return std::max(0, diagonal - grid_.columns + 1); }
  int last_row(int diagonal) const { return std::min(grid_.rows - 1, diagonal); }

  TileGrid grid_;
  int max_;
  std::vector<Batch> batches_;
  std::vector<int> first_of_diagonal_;
};

// Calls visit(index, slot) for all batches, in one pass. Threads take them in an order in which each follows
// those it needs, and wait for these: only for batches that another thread is working on. `done` has a flag
// for each batch, and then the next batch to take.
template <class Visit>
void visit_all(const Batches& batches, bool reverse, int* done, const Workers& workers, const Visit& visit) {
  const int count = batches.count();
  std::fill_n(done, count + 1, 0);
  AtomicRef<int> next(done[count]);
  const auto wait_for = [](int& flag) {
    constexpr int tries = 2000;
    const AtomicRef<int> set(flag);
    for (int i = 0; set.load(std::memory_order_acquire) == 0; ++i) {
      if (i < tries) continue;
      stop_if_cancelled();
      std::this_thread::yield();
    }
  };
  workers.for_each(workers.slots(), [&](int, int slot) {
    for (int taken = next++; taken < count; taken = next++) {
      stop_if_cancelled();
      const int index = reverse ? count - 1 - taken : taken;
      const Batches::Needed needed = batches.needed(index, reverse);
      for (int other = needed.first; other < needed.last; ++other) wait_for(done[other]);
      visit(index, slot);
      AtomicRef<int>(done[index]).store(1, std::memory_order_release);
    }
  });
}

}  // namespace parallax::tiled_belief_propagation
