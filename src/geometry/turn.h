// SPDX-License-Identifier: Apache-2.0
// The rotations of a rig's cameras that make their baseline parallel to the rows.
#pragma once

#include "parallax/rig.h"

namespace parallax {

// By how many quarter turns clockwise the images of both cameras have to be turned, so that the right one
// shows what the left one shows, and is to its right.
struct Turns {
  int left = 0, right = 0;
  bool is_exchanged = false;  // no turn helps: the right camera is to the left
};

// Rotations from each camera's axes to the rectified axes.
struct Rotations {
  Matrix3 left, right;
  double baseline;
  Turns turns;
};

// By the direction from the left camera to the right one, halfway between their axes: they may be above each
// other, and one may be mounted upside down or on its side.
Turns turns_of(const Rig& rig);

// The rotations of stereoRectify, after those turns.
// \throws Error (argument) for exchanged cameras, and for cameras facing away from each other
Rotations turn(const Rig& rig);

}  // namespace parallax
