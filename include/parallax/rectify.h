// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rectification: turning two cameras, by computation, until the same point has the same row in both images.
#pragma once

#include "parallax/geometry.h"
#include "parallax/image.h"
#include "parallax/rig.h"

#pragma GCC visibility push(default)
namespace parallax {

/// How a value between pixels is computed.
enum class Interpolation {
  bilinear,  ///< from 2×2 pixels
  lanczos3,  ///< from 6×6 pixels, with Lanczos's window: sharper, and slower
};

/// Choices of rectify().
struct RectifyParameters {
  /// 0: the widest view in which both cameras saw every pixel; 1: the narrowest view that shows every pixel of both
  /// cameras that is within 76° of the new axis; between: in proportion. 0…1.
  double alpha = 0;
  double zoom = 1;  ///< multiplies the focal length; above 0
  /// Gives both images the same principal point, so that disparity 0 is infinitely far away. Otherwise each has its
  /// own, which suits cameras that converge; Calibration::doffs is the difference.
  bool same_centres = true;
  Size size = {};  ///< of the rectified images; 0×0 = that of the left camera's images
  /// For alpha 0: how many pixels of the border interpolation uses up.
  Interpolation interpolation = Interpolation::bilinear;

  bool operator==(const RectifyParameters&) const = default;  ///< compares every member
};

/// Two pinhole cameras of equal focal length, side by side: what rectified images show. Fields may also be given by the
/// caller.
struct Rectification {
  Matrix3 rotation_left = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< from the left camera's axes to the rectified ones
  Matrix3 rotation_right = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< the same for the right camera
  double focal = 0;                                      ///< focal length of both, in pixels
  double centre_left_x = 0;                              ///< column of the left principal point
  double centre_right_x = 0;                             ///< column of the right principal point
  double centre_y = 0;                                   ///< row of both principal points
  double baseline = 0;                                   ///< distance of the cameras, in the rig's unit
  Size size;                                             ///< of both rectified images

  /// For depth and point clouds.
  Calibration calibration() const;
  bool operator==(const Rectification&) const = default;  ///< compares every member
};

/// Rectifies a pair of cameras that stand side by side. Each is turned by half of the rotation between them, and then
/// both until the baseline is parallel to rows, as OpenCV's stereoRectify does it.
/// \throws Error (argument) for parameters out of range; for cameras without a baseline, above each other, exchanged or
/// facing away from each other; and where no rectangle was seen by both.
Rectification rectify(const Rig& rig, const RectifyParameters& parameters = {});

}  // namespace parallax
#pragma GCC visibility pop
