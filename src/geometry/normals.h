// SPDX-License-Identifier: Apache-2.0
// Normals of the surface that a disparity map shows.
#pragma once

#include "parallax/geometry.h"

namespace parallax {

// By how much disparities change from one column, and from one row, to the next.
struct Slopes {
  double x, y;
};

// The slopes at a pixel with a disparity: those of a plane fitted by least squares to the disparities in a
// window of 5×5 pixels, then of 11×11, that are within a pixel of the plane before. The first plane has the
// lesser step to a neighbour in each direction. Steps of more than a pixel are jumps, unless those to both
// neighbours are alike.
Slopes slopes_at(View<const float> disparity, int x, int y);

// A plane of disparities d + a·columns + b·rows through pixel (x, y) is a plane in space with the normal
// −(a·f, b·f, d + doffs − a·(x − cx) − b·(y − cy)), which looks towards the camera. Its length is made 1; 0
// where it has no direction.
Normal normal_at(const Calibration& calibration, View<const float> disparity, int x, int y);

}  // namespace parallax
