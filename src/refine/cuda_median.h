// SPDX-License-Identifier: Apache-2.0
// The median on CUDA: the same result as median.cpp. A thread has two pixels, one above the other, whose
// windows share all rows but one each.
#pragma once

#include "decision/cuda_values.h"
#include "refine/cuda_lanes.h"

using namespace parallax::decision;
using namespace parallax::refine;

namespace {

constexpr int pixels_of_thread = 2;

__device__ __forceinline__ void exchange(float& low, float& high) {
  const float lower = fminf(low, high);
  high = fmaxf(low, high);
  low = lower;
}

// Moves the smallest of `count` values to the front and the largest to the back.
template <int count>
__device__ __forceinline__ void move_extremes_out(float* values) {
  constexpr int half = count / 2;
#pragma unroll
  for (int i = 0; i < half; ++i) exchange(values[i], values[count - 1 - i]);
#pragma unroll
  for (int i = 1; i < half; ++i) {
    exchange(values[0], values[i]);
    exchange(values[count - 1 - i], values[count - 1]);
  }
  if constexpr (count % 2 == 1 && count > 1) {
    exchange(values[0], values[half]);
    exchange(values[half], values[count - 1]);
  }
}

// Forgetful selection, as in median.cpp: both extremes of `count` values leave, and the next value comes in
// at the front, until all values [brought, all) have come in and the extremes have left.
template <int count, int brought, int all, class Value>
__device__ __forceinline__ void forget_extremes(float* values, const Value& value) {
  move_extremes_out<count>(values);
  if constexpr (brought < all) {
    values[0] = value(brought);
    forget_extremes<count - 1, brought + 1, all>(values, value);
  }
}

struct Medians {
  float of[pixels_of_thread];
};

// `value(row, column)` is in the upper pixel's window, or in the row below it.
template <int window, class Value>
__device__ __forceinline__ Medians find_medians(const Value& value) {
  constexpr int shared = window * (window - 1);
  constexpr int in_play = window * window / 2 + 2;
  constexpr int in_play_at_last = in_play - (shared - in_play) - 1;
  const auto shared_value = [&](int i) { return value(1 + i / window, i % window); };
  float values[in_play];
#pragma unroll
  for (int i = 0; i < in_play; ++i) values[i] = shared_value(i);
  forget_extremes<in_play, in_play, shared>(values, shared_value);
  Medians medians;
#pragma unroll
  for (int pixel = 0; pixel < pixels_of_thread; ++pixel) {
    const auto own_value = [&](int i) { return value(pixel * window, i); };
    float own[in_play_at_last];
#pragma unroll
    for (int i = 1; i < in_play_at_last; ++i) own[i] = values[i];
    own[0] = own_value(0);
    forget_extremes<in_play_at_last, 1, window>(own, own_value);
    medians.of[pixel] = own[1];
  }
  return medians;
}

template <int window>
struct MedianTile {
  static constexpr int radius = window / 2;
  static constexpr int width = lanes + 2 * radius, height = pixels_of_thread * WARPS + 2 * radius;
  float values[height][width];
};

// Pixels outside the map have no value. Returns, to every thread of the block, whether any pixel has none.
template <int window>
__device__ __forceinline__ bool load(MedianTile<window>& tile, const float* from, int64 stride, int width,
                                     int height) {
  const int left = static_cast<int>(blockIdx.y) * lanes - tile.radius;
  const int top = static_cast<int>(blockIdx.x) * pixels_of_thread * WARPS - tile.radius;
  bool all_have_values = true;
  for (int i = threadIdx.y * lanes + threadIdx.x; i < tile.height * tile.width; i += block_threads) {
    const int row = i / tile.width, column = i % tile.width, x = left + column, y = top + row;
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    const float value = inside ? from[static_cast<int64>(y) * stride + x] : no_value;
    all_have_values = all_have_values && has_value(value);
    tile.values[row][column] = has_value(value) ? value : no_value;
  }
  return __syncthreads_or(!all_have_values) != 0;
}

// A neighbour without a value counts as the pixel itself. So the median is at most that with infinite values
// there, at least that with minus infinite ones, and the pixel itself if that lies between.
template <int window>
__device__ __forceinline__ void filter(const float* from, int64 stride, float* to, int64 to_stride, int width,
                                       int height) {
  __shared__ MedianTile<window> tile;
  const bool some_without_value = load(tile, from, stride, width, height);
  const int first_row = threadIdx.y * pixels_of_thread;
  const auto value = [&](int row, int column) { return tile.values[first_row + row][threadIdx.x + column]; };
  const Medians most = find_medians<window>(value);
  Medians least = most;
  if (some_without_value)
    least = find_medians<window>([&](int row, int column) {
      const float neighbour = value(row, column);
      return has_value(neighbour) ? neighbour : -no_value;
    });
  const int x = blockIdx.y * lanes + threadIdx.x;
  const int64 y = static_cast<int64>(blockIdx.x) * pixels_of_thread * WARPS + first_row;
  for (int pixel = 0; pixel < pixels_of_thread; ++pixel) {
    const float here = value(pixel + tile.radius, tile.radius);
    if (has_value(here))
      to[(y + pixel) * to_stride + x] = fmaxf(least.of[pixel], fminf(here, most.of[pixel]));
  }
}

}  // namespace

// `to` already holds the results of pixels without a value. A block has lanes · 2 WARPS pixels: grid.x = rows
// of blocks, grid.y = blocks of a row.
PARALLAX_KERNEL __launch_bounds__(block_threads)
    median_3(const float* from, int64 stride, float* to, int64 to_stride, int width, int height) {
  wait_for_previous();
  filter<3>(from, stride, to, to_stride, width, height);
}

PARALLAX_KERNEL __launch_bounds__(block_threads)
    median_5(const float* from, int64 stride, float* to, int64 to_stride, int width, int height) {
  wait_for_previous();
  filter<5>(from, stride, to, to_stride, width, height);
}
