// SPDX-License-Identifier: Apache-2.0
// The rotations of a rig's cameras that make their baseline parallel to the rows.
#pragma once

#include "parallax/rig.h"

namespace parallax {

// Rotations from each camera's axes to the rectified axes.
struct Rotations {
  Matrix3 left, right;
  double baseline;
};

// The rotations of stereoRectify.
// \throws Error (argument) for cameras above each other or facing away from each other
Rotations turn(const Rig& rig);

}  // namespace parallax
