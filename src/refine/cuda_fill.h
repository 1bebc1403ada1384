// SPDX-License-Identifier: Apache-2.0
// The fills along rows and in directions on CUDA: the same results as fill.cpp and fill_directions.cpp.
#pragma once

#include "decision/cuda_values.h"
#include "refine/cuda_lanes.h"
#include "refine/cuda_types.h"

using namespace parallax::decision;
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

namespace {

struct Candidate {
  float weight, value;
};

// `step` and `guide_step` are from one pixel to the next.
struct Direction {
  int64 step, guide_step;
  int reach;
};

__device__ __forceinline__ Direction direction_from(const CudaFill& fill, int x, int y, int direction) {
  switch (direction) {
    case 0:
      return {-fill.stride, -fill.guide_stride, min(y, fill.reach)};
    case 1:
      return {fill.stride, fill.guide_stride, min(fill.height - 1 - y, fill.reach)};
    case 2:
      return {-1, -1, x};
    default:
      return {1, 1, fill.width - 1 - x};
  }
}

// The first value in a direction. Reads a few pixels at once, because a load takes long.
__device__ __forceinline__ Candidate first_in(const float* from, const uint8* guide,
                                              const Direction& direction) {
  constexpr int together = 8;
  const int level = *guide;
  int difference = 0;
  for (int passed = 0; passed < direction.reach; passed += together) {
    float values[together];
    int levels[together];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      // Meeting the last pixel again changes nothing.
      const int distance = min(passed + i + 1, direction.reach);
      values[i] = from[distance * direction.step];
      levels[i] = guide[distance * direction.guide_step];
    }
#pragma unroll
    for (int i = 0; i < together; ++i) {
      difference = max(difference, abs(levels[i] - level));
      if (has_value(values[i]))
        return {values[i] + 0.5f * static_cast<float>(difference + passed + i + 1), values[i]};
    }
  }
  return {no_value, no_value};
}

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row. A block's threads share the directions of
// its pixels without a value.
PARALLAX_KERNEL __launch_bounds__(block_threads) fill_directions(const __grid_constant__ CudaFill fill) {
  wait_for_previous();
  constexpr int directions = 4;
  __shared__ int empty, columns[block_threads];
  __shared__ Candidate candidates[directions][block_threads];
  const int first = blockIdx.y * blockDim.x, x = first + threadIdx.x, y = blockIdx.x;
  const bool is_inside = x < fill.width;
  const float* from = fill.from + y * fill.stride;
  uint8* status = fill.status + y * fill.status_stride;
  float* to = fill.to + y * fill.to_stride;
  const float here = is_inside ? from[x] : 0.0f;
  if (threadIdx.x == 0) empty = 0;
  __syncthreads();
  if (!has_value(here) && status[x] != input_masked)
    columns[atomicAdd(&empty, 1)] = x;
  else if (is_inside)
    to[x] = here;
  __syncthreads();
  const uint8* guide = fill.guide + static_cast<int64>(y) * fill.guide_stride;
  for (int i = threadIdx.x; i < directions * empty; i += block_threads) {
    const int direction = i / empty, pixel = i % empty, column = columns[pixel];
    candidates[direction][pixel] =
        first_in(from + column, guide + column, direction_from(fill, column, y, direction));
  }
  __syncthreads();
  if (threadIdx.x >= empty) return;
  Candidate best{no_value, no_value};
  for (int direction = 0; direction < directions; ++direction) {
    const Candidate& candidate = candidates[direction][threadIdx.x];
    if (candidate.weight < best.weight) best = candidate;
  }
  const int column = columns[threadIdx.x];
  to[column] = best.value;
  if (has_value(best.value)) status[column] = filled;
}
