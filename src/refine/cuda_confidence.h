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

__device__ __forceinline__ float value_at(const MapBefore& map, int x, int y) {
  const bool inside = x >= 0 && y >= 0 && x < map.width && y < map.height;
  return inside ? map.disparity[y * map.stride + x] : no_value;
}

__device__ __forceinline__ bool agrees(float disparity, float other, float opposite) {
  if (!has_value(disparity)) return has_value(other);
  return fabsf(other - disparity) <= AGREEMENT_TOLERANCE ||
         fabsf(other + opposite - 2 * disparity) <= AGREEMENT_TOLERANCE;
}

// The number of pixels in a window around (x, y) that agree, pair by pair of opposite ones.
template <int step>
__device__ __forceinline__ int count_agreeing(const MapBefore& map, int x, int y) {
  constexpr int side = 2 * CONFIDENCE_RADIUS + 1;
  const float here = map.disparity[y * map.stride + x];
  int count = 0;
#pragma unroll
  for (int place = 0; place < side * side / 2; ++place) {
    const int i = (place % side - CONFIDENCE_RADIUS) * step, j = (place / side - CONFIDENCE_RADIUS) * step;
    const float one = value_at(map, x + i, y + j), opposite = value_at(map, x - i, y - j);
    count += agrees(here, one, opposite) + agrees(here, opposite, one);
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
