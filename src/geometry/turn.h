// SPDX-License-Identifier: Apache-2.0
// How the cameras of a rig are turned until their baseline is parallel to rows.
#pragma once

#include "parallax/rig.h"

namespace parallax {

// From each camera's axes to the rectified ones.
struct Rotations {
  Matrix3 left, right;
  double baseline;
};

// The rotations of stereoRectify.
// \throws Error (argument) for cameras above each other or facing away from each other
Rotations turn(const Rig& rig);

}  // namespace parallax
