// SPDX-License-Identifier: Apache-2.0
// Guided steps on CUDA: the same results as weighted_median.cpp and bilateral.cpp.
//
// Specialised by WARPS per block, WINDOW, and BILATERAL (which of the two).
#include "decision/cuda_values.h"
#include "devices/cuda/kernel.h"
#include "refine/cuda_lanes.h"
#include "refine/cuda_types.h"

using namespace parallax::decision;
using namespace parallax::refine;

namespace {

constexpr int radius = WINDOW / 2;
constexpr int places = WINDOW * WINDOW;

// The pixels that the windows of a block cover. Pixels outside the map have no value.
struct Tile {
  static constexpr int width = lanes + 2 * radius, height = WARPS + 2 * radius;
  float values[height][width];
  uint8 levels[height][width];
  uint8 gray[256];
  uint16 distance[places];

  __device__ __forceinline__ void load(const CudaGuidedStep& step) {
    const int left = static_cast<int>(blockIdx.y) * lanes - radius,
              top = static_cast<int>(blockIdx.x) * WARPS - radius;
    const int thread = threadIdx.y * lanes + threadIdx.x;
    for (int i = thread; i < height * width; i += block_threads) {
      const int row = i / width, column = i % width, x = left + column, y = top + row;
      const bool inside = x >= 0 && x < step.width && y >= 0 && y < step.height;
      const float value = inside ? step.from[y * step.stride + x] : no_value;
      values[row][column] = has_value(value) ? value : no_value;
      levels[row][column] = inside ? step.guide[static_cast<int64>(y) * step.guide_stride + x] : 0;
    }
    for (int i = thread; i < 256; i += block_threads) gray[i] = step.gray[i];
    for (int i = thread; i < places; i += block_threads) distance[i] = step.distance[i];
    __syncthreads();
  }

  // Calls each(value, weight of the gray level, row, column) for the window of this thread's pixel.
  template <class Each>
  __device__ __forceinline__ void for_window(const Each& each) const {
    const int here = levels[threadIdx.y + radius][threadIdx.x + radius];
#pragma unroll 1
    for (int row = 0; row < WINDOW; ++row) {
#pragma unroll
      for (int column = 0; column < WINDOW; ++column) {
        const float value = values[threadIdx.y + row][threadIdx.x + column];
        const int level = levels[threadIdx.y + row][threadIdx.x + column];
        each(value, gray[abs(level - here)], row, column);
      }
    }
  }
};

#if BILATERAL

// See nearest_quotient() in refine.h.
__device__ __forceinline__ int nearest_quotient(int sum, int weights) {
  const uint32 all = max(weights, 1), size = abs(sum);
  const int nearest = (2 * size + all) / (2 * all);
  return sum < 0 ? -nearest : nearest;
}

__device__ __forceinline__ float filtered(const Tile& tile, float here, float step) {
  constexpr float shift_unit = 256;
  int sum = 0, all = 0;
  tile.for_window([&](float value, int gray_weight, int row, int column) {
    const float difference = value - here;
    if (!(fabsf(difference) <= step)) return;
    const int weight = gray_weight * tile.distance[row * WINDOW + column] >> 8;
    sum += weight * __float2int_rn(difference * shift_unit);
    all += weight;
  });
  return here + static_cast<float>(nearest_quotient(sum, all)) * (1 / shift_unit);
}

#else

struct Bounds {
  float low, high;
};

// The weights of the window of each thread's pixel, by row and in words of four; kept for all pivots where
// they fit.
struct Weights {
  static constexpr int row_words = (WINDOW + 3) / 4;
  // Whether weights fit beside a tile, in the shared memory that a block has without asking for more.
  static constexpr bool kept = sizeof(uint32) * WINDOW * row_words * block_threads + sizeof(Tile) <= 48 << 10;

  uint32 words[kept ? WINDOW * row_words : 1][block_threads];
};

// Calls each(value, weight) for the window of this thread's pixel, with weights that have been kept.
template <class Each>
__device__ __forceinline__ void for_kept(const Tile& tile, const Weights& weights, const Each& each) {
  const int thread = threadIdx.y * lanes + threadIdx.x;
#pragma unroll 1
  for (int row = 0; row < WINDOW; ++row) {
    uint32 words[Weights::row_words];
#pragma unroll
    for (int k = 0; k < Weights::row_words; ++k)
      words[k] = weights.words[row * Weights::row_words + k][thread];
#pragma unroll
    for (int column = 0; column < WINDOW; ++column)
      each(tile.values[threadIdx.y + row][threadIdx.x + column],
           static_cast<int>(words[column / 4] >> column % 4 * 8 & 0xFF));
  }
}

// Weighted median by bisection, as in weighted_median.cpp.
__device__ __forceinline__ float filtered(const Tile& tile, float, float) {
  __shared__ Weights weights;
  int all = 0;
  Bounds bounds{no_value, -no_value};
  uint32 word = 0;
  tile.for_window([&](float value, int weight, int row, int column) {
    if constexpr (Weights::kept) {
      word |= static_cast<uint32>(weight) << column % 4 * 8;
      if (column % 4 == 3 || column == WINDOW - 1) {
        weights.words[row * Weights::row_words + column / 4][threadIdx.y * lanes + threadIdx.x] = word;
        word = 0;
      }
    }
    if (!has_value(value)) return;
    all += weight;
    bounds.low = fminf(bounds.low, value);
    bounds.high = fmaxf(bounds.high, value);
  });
  while (bounds.low < bounds.high) {
    const float middle = 0.5f * (bounds.low + bounds.high);
    const float pivot = middle >= bounds.low && middle < bounds.high ? middle : bounds.low;
    int sum = 0;
    Bounds beside{no_value, -no_value};
    const auto add = [&](float value, int weight) {
      if (value <= pivot) {
        sum += weight;
        beside.high = fmaxf(beside.high, value);
      } else {
        beside.low = fminf(beside.low, value);
      }
    };
    if constexpr (Weights::kept)
      for_kept(tile, weights, add);
    else
      tile.for_window([&](float value, int weight, int, int) { add(value, weight); });
    if (2 * sum >= all)
      bounds.high = beside.high;
    else
      bounds.low = beside.low;
  }
  return bounds.low;
}

#endif

}  // namespace

// A block has lanes · WARPS pixels, one per thread; pixels without a value are unchanged. grid.x = rows of
// blocks, grid.y = blocks of a row.
#if BILATERAL
#define FILTER bilateral
#else
#define FILTER weighted_median
#endif
PARALLAX_KERNEL __launch_bounds__(block_threads) FILTER(const __grid_constant__ CudaGuidedStep step) {
  wait_for_previous();
  __shared__ Tile tile;
  tile.load(step);
  const int x = blockIdx.y * lanes + threadIdx.x, y = blockIdx.x * WARPS + threadIdx.y;
  if (x >= step.width || y >= step.height) return;
  const float here = step.from[y * step.stride + x];
  step.to[y * step.to_stride + x] = has_value(here) ? filtered(tile, here, step.step) : here;
}
