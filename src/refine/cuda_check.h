// SPDX-License-Identifier: Apache-2.0
// The left-right check on CUDA: the same result as left_right_check.cpp.
#pragma once

#include "decision/cuda_values.h"

using namespace parallax::refine;

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL check_left_right(float* disparity, int64 stride, uint8* status, int64 status_stride,
                                 const float* right, int64 right_stride, int width, float tolerance) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x >= width) return;
  const float here = disparity[y * stride + x];
  if (!has_value(here)) return;
  const float column = static_cast<float>(x) - ceilf(here - 0.5f);
  if (column >= 0.0f && column < static_cast<float>(width) &&
      fabsf(right[y * right_stride + static_cast<int>(column)] - here) <= tolerance)
    return;
  disparity[y * stride + x] = no_value;
  status[y * status_stride + x] = inconsistent;
}
