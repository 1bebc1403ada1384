// SPDX-License-Identifier: Apache-2.0
// By how many rows a pair is off, as a plane over the image: rows that do not line up are mostly off by an amount that
// changes linearly over it, as when a camera is turned or moved, or has another focal length.
//
// The image is cut into squares. With M(v) what row offset v costs a square, between integers by linear interpolation, the
// plane v̂ is the one with the least Σ M(v̂(centre of the square)), searched on a grid of planes and from the best of
// these in ever smaller steps. v̂ is limited to [−N, N].
#pragma once

#include <cstdint>

#include "parallax/image.h"

namespace parallax::data_cost {

struct RowPlane {
  int rows = 0;  // N
  double middle = 0, by_width = 0, by_height = 0;

  // Positions are in shares of the width and of the height, from 0 to 1.
  double at(double x, double y) const;
};

// What row offsets cost squares of `side` pixels.
struct RowOffsetCosts {
  static constexpr int side = 32;

  Size image;
  int rows;                   // N
  const std::int64_t* costs;  // [square][v + N], square by square in rows

  static Size squares(Size image);
};

// Finds the plane of least costs; one of 0 if no plane costs less.
RowPlane fit_row_plane(const RowOffsetCosts& costs);

}  // namespace parallax::data_cost
