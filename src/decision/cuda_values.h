// SPDX-License-Identifier: Apache-2.0
// Values of maps, in kernels: as values.h.
#pragma once

#include "devices/cuda/kernel.h"

namespace parallax::decision {

// Values of Status.
constexpr uint8 matched = 0, filled = 1, out_of_range = 2, inconsistent = 3, ambiguous = 4, textureless = 5,
                speckle = 6, input_masked = 7;

constexpr float no_value = __builtin_bit_cast(float, 0x7F800000u);

__device__ __forceinline__ bool has_value(float disparity) {
  return disparity < no_value;
}

}  // namespace parallax::decision
