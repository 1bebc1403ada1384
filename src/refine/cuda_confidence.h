// SPDX-License-Identifier: Apache-2.0
// The confidence on CUDA: see confidence.h.
//
// Specialised by confidence_definitions().
#pragma once

#include "decision/cuda_values.h"

using namespace parallax::decision;

namespace {

// A map before the pixels of low confidence are rejected.
struct MapBefore {
  const float* disparity;
  int64 stride;
  int width, height;
};

// The number of pixels in a window around (x, y) that agree.
template <int step>
__device__ __forceinline__ int count_agreeing(const MapBefore& map, int x, int y) {
  constexpr int reach = CONFIDENCE_RADIUS * step;
  const float here = map.disparity[y * map.stride + x];
  int count = 0;
#pragma unroll
  for (int j = -reach; j <= reach; j += step)
#pragma unroll
    for (int i = -reach; i <= reach; i += step) {
      const int u = x + i, v = y + j;
      if ((i == 0 && j == 0) || u < 0 || v < 0 || u >= map.width || v >= map.height) continue;
      const float other = map.disparity[v * map.stride + u];
      count += has_value(here) ? fabsf(other - here) <= AGREEMENT_TOLERANCE : has_value(other);
    }
  return count;
}

}  // namespace

// `confidence` has the stride of the map, and is null if nobody wants it. One thread per pixel: grid.x =
// rows, grid.y = blocks of a row.
PARALLAX_KERNEL find_confidence(const float* before, int64 before_stride, float* disparity, int64 stride,
                                uint8* status, int64 status_stride, float* confidence, int width, int height,
                                float least) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x;
  const int y = blockIdx.x;
  if (x >= width) return;
  const MapBefore map{before, before_stride, width, height};
  uint8& own = status[y * status_stride + x];
  const int near = count_agreeing<NEAR_STEP>(map, x, y), far = count_agreeing<FAR_STEP>(map, x, y);
  const int doubt = MOST_DOUBT - (own == matched ? MATCHED_WEIGHT : 0) - near * near - far * far;
  const bool undecided = own == input_masked || own == out_of_range;
  const float found =
      undecided ? 0.0f : static_cast<float>(CONFIDENCE_UNIT - doubt * doubt) / CONFIDENCE_UNIT;
  if (confidence != nullptr) confidence[y * stride + x] = found;
  if (own != matched || found >= least) return;
  own = ambiguous;
  disparity[y * stride + x] = no_value;
}
