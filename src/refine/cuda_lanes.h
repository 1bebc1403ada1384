// SPDX-License-Identifier: Apache-2.0
// Lanes of warps, for kernels that are specialised by WARPS per block.
#pragma once

#include "devices/cuda/kernel.h"

namespace {

constexpr int lanes = 32;
constexpr int block_threads = lanes * WARPS;

// The mask of lanes up to this one.
__device__ __forceinline__ uint32 lanes_up_to(int lane) {
  return (2u << lane) - 1;
}

__device__ __forceinline__ int lowest_lane(uint32 set) {
  return __ffs(static_cast<int>(set)) - 1;
}

__device__ __forceinline__ int highest_lane(uint32 set) {
  return lanes - 1 - __clz(static_cast<int>(set));
}

}  // namespace
