// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversion of disparity to depth and 3D points.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Calibration of a rectified stereo rig, as in Middlebury's calib.txt.
struct Calibration {
  double focal = 0;     ///< focal length of the left camera, in pixels
  double centre_x = 0;  ///< column of the left camera's principal point, in pixels
  double centre_y = 0;  ///< row of both cameras' principal points, in pixels
  double doffs = 0;     ///< centre_x of the right camera minus centre_x of the left one, in pixels
  double baseline = 0;  ///< distance between the cameras; depth is in the same unit (Middlebury: millimetres)
  int width = 0;        ///< columns of the images; 0 = unknown
  int height = 0;       ///< rows of the images; 0 = unknown
  int disparities = 0;  ///< Middlebury's ndisp, a bound on the disparities; 0 = unknown
};

/// Returns the depth Z = focal · baseline / (disparity + doffs), in the unit of the baseline. The depth is 0
/// where there is no disparity and where disparity + doffs is not positive (at or beyond infinity).
double depth(const Calibration& calibration, float disparity);

/// Computes depth() for every pixel.
/// \throws Error (argument) when the sizes of the views differ, or the calibration is not finite.
void depth_map(const Calibration& calibration, View<const float> disparity, View<float> depth);

/// A coloured 3D point, relative to the left camera, in the unit of the baseline.
struct Point {
  float x;                             ///< to the right
  float y;                             ///< down
  float z;                             ///< forward
  std::array<std::uint8_t, 3> colour;  ///< R, G, B
};

/// Returns a point for each pixel that has a depth, row by row, coloured by the left image (by the upper byte
/// of 16-bit values). Points too far away for a float are left out.
/// \throws Error (argument) when the sizes differ, or the calibration is not finite.
std::vector<Point> point_cloud(const Calibration& calibration, View<const float> disparity,
                               const ImageView& left);

}  // namespace parallax
#pragma GCC visibility pop
