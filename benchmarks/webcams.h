// SPDX-License-Identifier: Apache-2.0
// A rig for benchmarks: two webcams that are turned by about 1.5° about each axis.
#pragma once

#include "parallax/rig.h"

namespace parallax::benchmarks {

inline Rig webcams(Size size) {
  Camera left;
  left.size = size;
  left.focal_x = left.focal_y = 0.8 * size.width;
  left.centre_x = 0.51 * size.width, left.centre_y = 0.49 * size.height;
  left.distortion = {-0.28, 0.09, 0.0004, -0.0003, -0.01};
  Camera right = left;
  right.centre_x = 0.49 * size.width, right.centre_y = 0.51 * size.height;
  const Matrix3 rotation = {0.99931, 0.02599,  0.02634,  -0.02668, 0.99930,
                            0.02598, -0.02565, -0.02666, 0.99932};
  return {left, right, rotation, {-0.12, 0.002, -0.001}};
}

}  // namespace parallax::benchmarks
