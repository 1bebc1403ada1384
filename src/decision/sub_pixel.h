// SPDX-License-Identifier: Apache-2.0
// Sub-pixel offsets from the costs of integer disparities.
#pragma once

#include <algorithm>

#include "parallax/refine.h"

namespace parallax::decision {

// Numerator and denominator are integers converted to floats, and divided once, so the result is the same on
// every device.
struct Fraction {
  float numerator = 0, denominator = 1;
  float value() const { return numerator / denominator; }
};

// Offset of the minimum of the parabola through three costs, of which the middle one is below the first and
// not above the last; in (−½, ½].
template <class Cost>
Fraction parabola_offset(Cost before, Cost best, Cost after) {
  return {static_cast<float>(before - after), static_cast<float>(2 * (before - 2 * best + after))};
}

// Offset of the tip of the V with equally steep sides through the same costs; in (−½, ½].
template <class Cost>
Fraction v_shape_offset(Cost before, Cost best, Cost after) {
  return {static_cast<float>(before - after), static_cast<float>(2 * (std::max(before, after) - best))};
}

template <class Cost>
Fraction sub_pixel_offset(SubPixel method, Cost before, Cost best, Cost after) {
  switch (method) {
    case SubPixel::none:
      break;
    case SubPixel::parabola:
      return parabola_offset(before, best, after);
    case SubPixel::v_shape:
      return v_shape_offset(before, best, after);
  }
  return {};
}

}  // namespace parallax::decision
