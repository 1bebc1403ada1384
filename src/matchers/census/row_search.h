// SPDX-License-Identifier: Apache-2.0
// The choice of row offsets on the CPU: what the searches of all row offsets of a level have found, and the
// votes on it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "matchers/census/census.h"
#include "matchers/census/cpu_kernels.h"
#include "rows/row_votes.h"

namespace parallax::census {

class RowSearch {
 public:
  RowSearch(const std::vector<Level>& levels, int side, double row_prior);

  // Called twice (see Arena).
  void reserve(Arena& arena);

  // Memory for the results of a row offset's search on a level; the next level uses the same memory.
  Found found(int level, int row_offset) const;

  // The number of rows of squares of a level.
  int squares(int level) const { return votes(level).squares().height; }
  // Sums the votes of a row of squares.
  void count_votes(int level, int row) const;
  // Called when all votes are counted.
  void settle_votes(int level) const { votes(level).settle(); }

  // Writes the labels of a row of a level, or, for a row of the image, the right disparities or the map.
  void choose_labels(int level, int y, std::uint16_t* labels) const;
  void choose_disparities(int y, float* disparities) const;
  void choose_row(int y, const std::uint8_t* mask, SubPixel sub_pixel, int uniqueness,
                  const DisparityMap& map) const;

 private:
  const Level& level_of(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  const rows::RowVotes& votes(int level) const { return votes_[static_cast<std::size_t>(level)]; }
  // Index of the first pixel of a row of what is kept of a row offset.
  std::ptrdiff_t place(int level, int row_offset, int y) const {
    return (row_offset + level_of(level).rows) * plane_ + y * memory_.stride;
  }
  void count_votes_of_square(int level, int column, int row) const;
  // Writes all row offsets of a square, the preferred one first.
  void order_rows(int level, int column, int row, int* rows) const;

  // Calls each(x, row offset) for the pixels of a row; `no_row` without a candidate.
  template <class Each>
  void for_chosen(int level, int y, const Each& each) const;

  std::vector<Level> levels_;
  int side_;
  std::vector<rows::RowVotes> votes_;  // by level
  Found memory_;                       // of the lowest row offset
  std::ptrdiff_t plane_ = 0;           // elements of a row offset
};

}  // namespace parallax::census
