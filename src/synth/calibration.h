// SPDX-License-Identifier: Apache-2.0
// The invented rig of synthetic pairs, with a baseline of 100 mm.
#pragma once

#include "parallax/geometry.h"

namespace parallax::synth {

inline Calibration synthetic_calibration(Size size, int disparities) {
  Calibration calibration;
  calibration.focal = size.width;
  calibration.centre_x = 0.5 * (size.width - 1);
  calibration.centre_y = 0.5 * (size.height - 1);
  calibration.baseline = 100;
  calibration.metres_per_unit = 0.001;
  calibration.width = size.width;
  calibration.height = size.height;
  calibration.disparities = disparities;
  return calibration;
}

}  // namespace parallax::synth
