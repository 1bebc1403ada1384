// SPDX-License-Identifier: Apache-2.0
// Which row offset the pixels of a neighbourhood prefer, for matchers that search rows and have no smoothness: the part of
// the specification that all devices share.
//
// The rows of a pair are off by an amount that changes slowly over the image, so that a neighbourhood tells it more surely
// than a pixel. The image is cut into squares of `side` pixels. With m(v) the lowest cost of a pixel among its candidates
// of row offset v, the votes of a square for v are
//
//   M(v) = Σ m(v)   over the pixels of the square and the eight around it that have candidates of all row offsets
//
// Repetitive texture also votes for wrong row offsets, and what has no texture for any. So those that are off a surface v̂
// fitted to the votes of the whole image (data_cost/row_surface.h) cost more:
//
//   M'(v) = M(v) + row_prior·n·c·|v − v̂|
//
// where n is the number of these squares, nine away from the border, c the mean over all squares and all v of Σ m(v) over a
// square's own pixels, and v̂ that at the centre of the square.
//
// A pixel takes the row offset of least M' of those of which it has candidates; ties go to the lowest |v|, then to the
// lowest v.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/arena.h"
#include "data_cost/row_surface.h"
#include "refine/sub_pixel.h"

namespace parallax::refine {

class RowVotes {
 public:
  static constexpr int side = data_cost::RowOffsetCosts::side;
  // Pixels that decide a pixel's row offset are at most so far away.
  static constexpr int reach = 2 * side - 1;

  RowVotes() = default;
  // `rows`: searched up and down.
  RowVotes(Size image, int rows, double row_prior)
      : image_(image),
        squares_(data_cost::RowOffsetCosts::squares(image)),
        rows_(rows),
        row_prior_(row_prior) {}

  // Called twice, as Arena says.
  void reserve(Arena& arena) {
    const std::size_t count = squares_.pixels() * static_cast<std::size_t>(offsets());
    own_ = arena.reserve<std::int64_t>(count);
    sums_ = arena.reserve<std::int64_t>(count);
    order_ = arena.reserve<std::int8_t>(count);
  }

  Size squares() const { return squares_; }
  int offsets() const { return 2 * rows_ + 1; }

  // Σ m(v) of the square's own pixels, for v = −rows … rows; to be set before settle().
  std::int64_t* own(int x, int y) const { return own_ + at(x, y); }

  // Computes M, and the order of preference, of all squares.
  void settle() const;

  // The row offsets of a square's pixels, the preferred one first.
  const std::int8_t* preferred(int x, int y) const { return order_ + at(x, y); }

  // What a square's pixels that take row offset v add to it.
  float fraction(int x, int y, int v, SubPixel method) const {
    if (method == SubPixel::none || std::abs(v) == rows_) return 0;
    const std::int64_t* sums = sums_ + at(x, y) + v + rows_;
    const bool least = sums[0] <= sums[-1] && sums[0] <= sums[1];
    if (!least || (sums[-1] == sums[0] && sums[1] == sums[0])) return 0;
    return sub_pixel_offset(method, sums[-1], sums[0], sums[1]).value();
  }

 private:
  std::ptrdiff_t at(int x, int y) const {
    return (static_cast<std::ptrdiff_t>(y) * squares_.width + x) * offsets();
  }

  // Adds up M of a square, and returns the number of squares that it is of.
  int add_up(int x, int y) const;
  // Puts the row offsets in the order of M'.
  void order(const std::int64_t* sums, std::int8_t* order) const;
  double mean_of_squares() const;

  Size image_{0, 0};
  Size squares_{0, 0};
  int rows_ = 0;
  double row_prior_ = 0;
  std::int64_t* own_ = nullptr;
  std::int64_t* sums_ = nullptr;
  std::int8_t* order_ = nullptr;
};

}  // namespace parallax::refine
