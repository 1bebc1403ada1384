// SPDX-License-Identifier: Apache-2.0
// Functions that the kernels of integer and of float arithmetic share.
//
// Specialised by TABLE (1 = differences are integer gray levels or bits), and by the macros of
// data_cost/cuda_costs.h.
#pragma once

#include "data_cost/cuda_costs.h"
#include "decision/cuda_decision.h"
#include "devices/cuda/kernel.h"
#include "matchers/belief_propagation/cuda_types.h"

namespace parallax::belief_propagation {

using namespace data_cost;
using namespace decision;

enum Direction { above, below, left_side, right_side };
constexpr int directions = 4;

// The column of a colour's first pixel in a row: 0 or 1.
__device__ __forceinline__ int parity(int y, int colour) {
  return (y + colour) & 1;
}

__device__ __forceinline__ int pixels_in(int width, int y, int colour) {
  return (width - parity(y, colour) + 1) / 2;
}

}  // namespace parallax::belief_propagation
