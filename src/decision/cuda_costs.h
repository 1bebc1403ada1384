// SPDX-License-Identifier: Apache-2.0
// Sub-pixel offsets and confidence from costs, in kernels: see sub_pixel.h and confidence.h.
#pragma once

#include "devices/cuda/kernel.h"

namespace parallax::decision {

// `sub_pixel`: a SubPixel.
template <int sub_pixel, class Cost>
__device__ __forceinline__ float sub_pixel_offset(Cost before, Cost best, Cost after) {
  constexpr int none = 0, parabola = 1;
  if constexpr (sub_pixel == none) return 0;
  const Cost curvature =
      sub_pixel == parabola ? before - 2 * best + after : (before < after ? after : before) - best;
  return static_cast<float>(before - after) / static_cast<float>(2 * curvature);
}

template <class Cost>
__device__ __forceinline__ float confidence(Cost best, bool has_rival, Cost rival) {
  if (!has_rival) return 1;
  if (rival == 0) return 0;
  return static_cast<float>(rival - best) / static_cast<float>(rival);
}

}  // namespace parallax::decision
