// SPDX-License-Identifier: Apache-2.0
// Steps of parallax/refine.h on CUDA, compiled together because most plans take several of them.
//
// Specialised by WARPS per block.
#include "refine/cuda_check.h"
#include "refine/cuda_directions.h"
#include "refine/cuda_fill.h"
#include "refine/cuda_guide.h"
#include "refine/cuda_median.h"
#include "refine/cuda_speckle.h"

// One thread per pixel: grid.x = rows, grid.y = blocks of a row.
PARALLAX_KERNEL copy_disparity(const float* from, int64 stride, float* to, int64 to_stride, int width) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int64 y = blockIdx.x;
  if (x < width) to[y * to_stride + x] = from[y * stride + x];
}
