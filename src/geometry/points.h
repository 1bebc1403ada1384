// SPDX-License-Identifier: Apache-2.0
// The points of the pixels of a disparity map.
#pragma once

#include <optional>

#include "parallax/geometry.h"

namespace parallax {

// The value of depth(), or 0 outside the limits.
double limited_depth(const Calibration& calibration, float disparity, const DepthLimits& limits);

// Finite values give finite results, unless they overflow.
// \throws Error (argument)
void check_calibration(const Calibration& calibration);

class PixelPoints {
 public:
  // \throws Error (argument)
  PixelPoints(const Calibration& calibration, View<const float> disparity, const ImageView& left,
              const DepthLimits& limits, bool normals);

  // Empty for a pixel without a depth within the limits, or whose point is too far away for a float.
  std::optional<Point> at(int x, int y) const;
  bool exists(int x, int y) const { return without_normal(x, y).has_value(); }

 private:
  std::optional<Point> without_normal(int x, int y) const;

  Calibration calibration_;
  View<const float> disparity_;
  ImageView left_;
  DepthLimits limits_;
  bool normals_;
};

}  // namespace parallax
