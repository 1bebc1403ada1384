// SPDX-License-Identifier: Apache-2.0
// How sure a disparity is: by how many pixels around it agree.
#pragma once

#include <string>
#include <vector>

#include "parallax/image.h"

#include "core/workers.h"

namespace parallax::refine {

// Two windows of 5×5 pixels around a pixel (x, y), without (x, y): (x + i·s, y + j·s), −2 ≤ i, j ≤ 2, with
// steps s of 1 and 5 pixels. A pixel there agrees with the disparity d of (x, y) if its own, e, differs by at
// most 1, or if it and the opposite one, e', are on a slope through d: |e + e' − 2·d| ≤ 1. Around a pixel
// without a value, all agree that have one.
//
//     doubt = 1448 − 200·matched − near² − far²,  confidence = 1 − doubt² / 2²²
//
// where `matched` is 1 or 0, `near` and `far` are the numbers of pixels that agree (0 to 24). The confidence
// is an integer over 2²², and exact; it is 0 where no label was in range and where the left image is masked.
inline constexpr int near_step = 1, far_step = 5;
inline constexpr int confidence_radius = 2;
inline constexpr int confidence_window = 2 * confidence_radius * far_step + 1;
inline constexpr int agreement_tolerance = 1;
inline constexpr int most_doubt = 1448, matched_weight = 200;
inline constexpr int confidence_unit = 1 << 22;

// `agreement`: near² + far².
inline float confidence_of(Status status, int agreement) {
  if (status == Status::input_masked || status == Status::out_of_range) return 0;
  const int doubt = most_doubt - (status == Status::matched ? matched_weight : 0) - agreement;
  return static_cast<float>(confidence_unit - doubt * doubt) / confidence_unit;
}

// The constants above, for kernels.
std::vector<std::string> confidence_definitions();

// Writes the confidence of every pixel, if the map has a place for it. Matched pixels of a lower one than
// `least` become ambiguous. `scratch` has at least bordered_size() of
// confidence_window.
void find_confidence(const DisparityMap& map, float least, View<float> scratch, const Workers& workers);
// The same, written directly from the equations. `scratch` has at least the size of the map.
void find_confidence_reference(const DisparityMap& map, float least, View<float> scratch);

}  // namespace parallax::refine
