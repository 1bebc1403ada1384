// SPDX-License-Identifier: Apache-2.0
/// \file
/// From disparity to depth and points in space.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// A rectified rig, as Middlebury's calib.txt describes it.
struct Calibration {
  double focal = 0;     ///< focal length of the left camera, in pixels
  double centre_x = 0;  ///< principal point of the left camera, in pixels
  double centre_y = 0;
  double doffs = 0;     ///< centre_x of the right camera minus centre_x of the left one, in pixels
  double baseline = 0;  ///< distance of the cameras; depth comes out in its unit (Middlebury: millimetres)
  int width = 0;        ///< image size; 0 = not said
  int height = 0;
  int disparities = 0;  ///< Middlebury's ndisp, a bound of the disparities; 0 = not said
};

/// Depth Z = focal · baseline / (disparity + doffs), in the unit of the baseline. 0 where there is no
/// disparity, and where disparity + doffs is not positive (at or beyond infinity).
double depth(const Calibration& calibration, float disparity);

/// depth() for every pixel; the views have one size. \throws Error (argument) when they have not, or the
/// calibration is not finite.
void depth_map(const Calibration& calibration, View<const float> disparity, View<float> depth);

struct Point {
  float x, y, z;  ///< right, down, forward from the left camera, in the unit of the baseline
  std::array<std::uint8_t, 3> colour;  ///< R, G, B
};

/// One point for each pixel that has a depth, coloured by the left image (16-bit values by their upper byte),
/// row by row; but for those too far away for a float. \throws Error (argument) when the sizes differ, or the
/// calibration is not finite.
std::vector<Point> point_cloud(const Calibration& calibration, View<const float> disparity,
                               const ImageView& left);

}  // namespace parallax
#pragma GCC visibility pop
