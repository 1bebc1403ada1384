// SPDX-License-Identifier: Apache-2.0
// The fill along rows on CUDA: the same result as fill.cpp.
#pragma once

#include "decision/cuda_values.h"
#include "refine/cuda_lanes.h"

using namespace parallax::refine;

namespace {

// The first value in columns [first, end) of a row; infinite if there is none. Called by a full warp.
__device__ __forceinline__ float first_value(const float* row, int first, int end, int lane) {
  for (; first < end; first += lanes) {
    const float value = first + lane < end ? row[first + lane] : no_value;
    const uint32 found = __ballot_sync(all_lanes, has_value(value));
    if (found != 0) return __shfl_sync(all_lanes, value, lowest_lane(found));
  }
  return no_value;
}

__device__ __forceinline__ float last_value(const float* row, int first, int end, int lane) {
  for (; first < end; end -= lanes) {
    const int x = end - lanes + lane;
    const float value = x >= first ? row[x] : no_value;
    const uint32 found = __ballot_sync(all_lanes, has_value(value));
    if (found != 0) return __shfl_sync(all_lanes, value, highest_lane(found));
  }
  return no_value;
}

// The value of one of the lanes `among`, or `otherwise` if there are none; `pick` says which.
template <class Pick>
__device__ __forceinline__ float pick_value(float value, uint32 among, float otherwise, const Pick& pick) {
  const float picked = __shfl_sync(all_lanes, value, among != 0 ? pick(among) : 0);
  return among != 0 ? picked : otherwise;
}

}  // namespace

// One block per row; each warp has a part of it. `to` may be `from`: a warp reads only its own part of a row,
// and none of what it has already filled.
PARALLAX_KERNEL __launch_bounds__(block_threads)
    fill_row(const float* from, int64 stride, float* to, int64 to_stride, uint8* status, int64 status_stride,
             int width) {
  wait_for_previous();
  __shared__ float first[WARPS], last[WARPS];
  const int64 y = blockIdx.x;
  const int warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const int part = (width + block_threads - 1) / block_threads * lanes;
  const int begin = min(warp * part, width), end = min(begin + part, width);
  const float* row = from + y * stride;
  first[warp] = first_value(row, begin, end, lane);
  last[warp] = last_value(row, begin, end, lane);
  __syncthreads();
  float before = no_value, beyond = no_value, after = no_value;
  for (int other = 0; other < warp; ++other)
    if (has_value(last[other])) before = last[other];
  for (int other = WARPS - 1; other > warp; --other)
    if (has_value(first[other])) beyond = first[other];
  for (int start = begin; start < end; start += lanes) {
    const int x = start + lane;
    const float value = x < end ? row[x] : no_value;
    const uint8 mark = x < end ? status[y * status_stride + x] : input_masked;
    const uint32 found = __ballot_sync(all_lanes, has_value(value));
    if (found != 0 || start == begin) {
      after = first_value(row, start + lanes, end, lane);
      if (!has_value(after)) after = beyond;
    }
    const float left = pick_value(value, found & lanes_up_to(lane), before, highest_lane);
    const float right = pick_value(value, found & ~lanes_up_to(lane), after, lowest_lane);
    const float lower = right < left ? right : left;
    const bool fills = !has_value(value) && has_value(lower) && mark != input_masked;
    if (x < end) to[y * to_stride + x] = fills ? lower : value;
    if (fills) status[y * status_stride + x] = filled;
    before = pick_value(value, found, before, highest_lane);
  }
}
