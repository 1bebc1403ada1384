// SPDX-License-Identifier: Apache-2.0
// By how many rows is a pair off? This room answers that: one model, its estimates, and what is done with
// them.
//
// Sign and unit. A row offset v, in pixels, says that left (x, y) shows the same point as right
// (x − d, y + v): it is positive where the right picture is lower.
//
// Model. Rows that do not line up are mostly off by an amount that changes little by little across the image,
// as when a camera is turned or moved, has another focal length, or a lens whose distortion is not quite
// corrected. So v is a surface of second order in x and y, which go from −1 to 1 across the image:
//
//   v̂(x, y) = c₀ + c₁·x + c₂·y + c₃·(x² − 1/3) + c₄·x·y + c₅·(y² − 1/3),   limited to [lowest, highest].
//
// Estimates. They differ in what they know of a pair:
//
//   row_prior.h      the cost of each row offset, everywhere → a surface, by search, because these costs have
//                    many minima; for row_tolerance of all methods
//   row_votes.h      the same, where no smoothness relates pixels → the row offset of each square; for block
//                    and census
//   row_alignment.h  corners of both images → a surface, by least absolute residuals; for rows auto
//   corner_rows.h    corners, of which many may match wrongly → RowModel, whose eight terms are the faults
//                    that two cameras can have, and need disparities; for the check
//
// The repair (repair/repair.h) estimates the cameras themselves from the corners. least_squares.h has the
// algebra of all.
//
// Application. Matchers that search rows add costs to those off the surface; row_alignment.h moves the rows
// of the right image before a match; row_offsets.h completes the map of row offsets after one.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "parallax/image.h"

namespace parallax::rows {

// From −1 to 1: the position of the left border of a pixel, or of the middle of the `count` pixels from
// `first` on, as far as the image has them.
inline double position(double pixel, int length) {
  return 2 * pixel / length - 1;
}
inline double position(int first, int count, int length) {
  return static_cast<double>(first + std::min(first + count, length)) / length - 1;
}

struct RowSurface {
  Size image{1, 1};
  double lowest = -std::numeric_limits<double>::infinity(), highest = -lowest;
  std::array<double, 6> c = {};  // c₀ … c₅

  // Positions go from −1 to 1.
  double at(double x, double y) const {
    const double v =
        c[0] + c[1] * x + c[2] * y + c[3] * (x * x - 1.0 / 3) + c[4] * x * y + c[5] * (y * y - 1.0 / 3);
    return std::clamp(v, lowest, highest);
  }
  double at_pixel(double x, double y) const {
    return at(position(x, image.width), position(y, image.height));
  }
  // In the middle of the `side`×`side` pixels from (x, y) on.
  double over(int x, int y, int side) const {
    return at(position(x, side, image.width), position(y, side, image.height));
  }
};

}  // namespace parallax::rows
