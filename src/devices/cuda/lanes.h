// SPDX-License-Identifier: Apache-2.0
// Neighbouring threads of a warp that share a pixel, or a group of pixels.
//
// Specialised by LANES, their number: a power of two, at most 32.
#pragma once

#include "devices/cuda/kernel.h"

namespace parallax::cuda {

// Reduces the values of all lanes with combine(); every lane gets the result.
template <class Combine>
__device__ __forceinline__ uint32 over_lanes(uint32 value, const Combine& combine) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, step, LANES));
  return value;
}

__device__ __forceinline__ uint32 min_over_lanes(uint32 value) {
  return over_lanes(value, [](uint32 a, uint32 b) { return min(a, b); });
}

}  // namespace parallax::cuda
