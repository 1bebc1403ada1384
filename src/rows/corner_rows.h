// SPDX-License-Identifier: Apache-2.0
// The model of row differences from corners: first shift, rotation and scale by MSAC (Torr and Zisserman
// 2000), then all terms by iteratively reweighted least squares with Tukey's weights.
#pragma once

#include <vector>

#include "parallax/check.h"

namespace parallax::rows {

inline constexpr double min_noise = 0.03;  // least noise of corners' rows, in pixels
// Points farther from the model than this many pixels, and than 4 standard deviations, are wrong matches.
inline constexpr double wrong = 1.5;

// Fits the model, sets the points' residuals, and removes points that do not agree with it.
RowModel fit_corners(Size size, std::vector<CheckedPoint>& points);

}  // namespace parallax::rows
