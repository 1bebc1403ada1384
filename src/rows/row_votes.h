// SPDX-License-Identifier: Apache-2.0
// Which row offset the pixels of a neighbourhood prefer, for matchers that search rows and have no
// smoothness: the part of the specification that all devices share.
//
// The rows of a pair are off by an amount that changes slowly over the image, so that a neighbourhood tells
// it more surely than a pixel. The image is cut into squares of `side` pixels. With m(v) the lowest cost of a
// pixel among its candidates of row offset v, the votes of a square for v are
//
//   M(v) = Σ m(v)   over the pixels of the square and of the eight around it that have candidates in all rows
//
// Repetitive texture also votes for wrong row offsets, and what has no texture for any. So those that are off
// a surface v̂ fitted to the votes of the whole image (row_prior.h) cost more:
//
//   M'(v) = M(v) + row_prior·n·c·|v − v̂|/10
//
// where n is the number of these squares, nine away from the border, c the mean over all squares and all v of
// Σ m(v) over a square's own pixels, and v̂ that at the centre of the square.
//
// A pixel takes the row offset of least M' of those of which it has candidates; ties go to the lowest |v|,
// then to the lowest v.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "core/arena.h"
#include "decision/sub_pixel.h"
#include "rows/row_prior.h"

namespace parallax::rows {

class RowVotes {
 public:
  static constexpr int side = RowOffsetCosts::side;
  // Pixels that decide a pixel's row offset are at most so far away.
  static constexpr int reach = 2 * side - 1;

  RowVotes() = default;
  // `rows`: searched up and down.
  RowVotes(Size image, int rows, double row_prior) : own_{image, rows}, row_prior_(row_prior * share) {}

  void reserve(Arena& arena) {
    own_.reserve(arena);
    sums_ = arena.reserve<std::int64_t>(own_.count());
    order_ = arena.reserve<std::int8_t>(own_.count());
  }

  Size squares() const { return own_.squares(); }
  int offsets() const { return own_.offsets(); }

  // Σ m(v) of the square's own pixels, for v = −rows … rows; to be set before settle().
  std::int64_t* own(int x, int y) const { return own_.of(x, y); }

  // Computes M, and the order of preference, of all squares.
  void settle() const;

  // The row offsets of a square's pixels, the preferred one first.
  const std::int8_t* preferred(int x, int y) const { return order_ + own_.index(x, y); }

  // What a square's pixels that take row offset v add to it.
  float fraction(int x, int y, int v, SubPixel method) const {
    if (method == SubPixel::none || std::abs(v) == own_.rows) return 0;
    const std::int64_t* sums = sums_ + own_.index(x, y) + v + own_.rows;
    const bool least = sums[0] <= sums[-1] && sums[0] <= sums[1];
    if (!least || (sums[-1] == sums[0] && sums[1] == sums[0])) return 0;
    return decision::sub_pixel_offset(method, sums[-1], sums[0], sums[1]).value();
  }

 private:
  // Adds up M of a square, and returns the number of squares that it is of.
  int add_up(int x, int y) const;
  // Puts the row offsets in the order of M'.
  void order(const double* costs, std::int8_t* order) const;
  double mean_of_squares() const;

  RowOffsetCosts own_;
  // Share of the mean cost that a row away from the surface costs at row_prior 1.
  static constexpr double share = 0.1f;
  double row_prior_ = 0;
  std::int64_t* sums_ = nullptr;
  std::int8_t* order_ = nullptr;
};

}  // namespace parallax::rows
