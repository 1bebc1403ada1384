// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation on CUDA: the data costs of all pixels.
//
// Specialised by TABLE (1 = differences are integer gray levels or bits), TABLE_SIZE, HAS_OUTSIDE (a cost),
// BLOCK (threads); and by the macros of data_cost/cuda_costs.h and cuda_common.h.
#include "data_cost/cuda_costs.h"
#include "devices/cuda/kernel.h"
#include "decision/cuda_decision.h"
#include "matchers/tiled_belief_propagation/cuda_common.h"

using namespace parallax::tiled_belief_propagation;
using namespace parallax::data_cost;
namespace decision = parallax::decision;

namespace {

struct Pixel {
  int x, y, first_right;  // the right column of the thread's last label
};

// The distance of the right column of a thread's label k from the first.
__device__ __forceinline__ constexpr int from_first(int k) {
  return PER_LANE - 1 - k;
}

struct Differences {
  int of[PER_LANE];
};

// Differences of windows of 5×5 pixels. Values that windows of neighbouring labels share are loaded once.
__device__ __forceinline__ Differences window_differences(const CudaSamples& samples, const Pixel& pixel) {
  constexpr int radius = 2, side = 2 * radius + 1, pixels = side * side;
  uint32 sums[PER_LANE];
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) sums[k] = 0;
  for (int j = -radius; j <= radius; ++j) {
    const int v = min(max(pixel.y + j, 0), samples.height - 1);
    const uint16 *left = row_of(samples.left, samples, v), *right = row_of(samples.right, samples, v);
    uint32 values[PER_LANE + 2 * radius];
#pragma unroll
    for (int i = 0; i < PER_LANE + 2 * radius; ++i)
      values[i] = right[column_inside(pixel.first_right - radius + i, samples.width)];
#pragma unroll
    for (int i = 0; i < side; ++i) {
      const uint32 value = left[column_inside(pixel.x - radius + i, samples.width)];
#pragma unroll
      for (int k = 0; k < PER_LANE; ++k) sums[k] = __usad(value, values[from_first(k) + i], sums[k]);
    }
  }
  Differences found;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) found.of[k] = static_cast<int>(sums[k] / (pixels * 256) * 256);
  return found;
}

__device__ __forceinline__ Differences differences(const CudaCosts& costs, const Pixel& pixel) {
  if constexpr (COST == mean_absolute_difference) {
    return window_differences(costs.samples, pixel);
  } else {
    Differences found;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k)
      found.of[k] = difference(costs, pixel.y, pixel.x,
                               column_inside(pixel.first_right + from_first(k), costs.samples.width));
    return found;
  }
}

struct Costs {
  float of[PER_LANE];
};

// Costs regardless of the right pixels' validity.
__device__ __forceinline__ Costs all_costs(const CudaCosts& costs, const Pixel& pixel, const float* table) {
  const int width = costs.samples.width;
  Costs found;
  if constexpr (COST == volume) {
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
      const int right = pixel.first_right + from_first(k);
      const int x = costs.mirrored ? column_inside(width - 1 - right, width) : pixel.x;
      const int label = min(lane_of_pixel() * PER_LANE + k, LABELS - 1);
      found.of[k] = floorf(volume_cost(costs, pixel.y, x, label, LABELS) + 0.5f);
    }
  } else {
    const Differences of_labels = differences(costs, pixel);
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
      if constexpr (TABLE)
        found.of[k] = table[of_labels.of[k] / 256];
      else
        found.of[k] =
            floorf(static_cast<float>(min(of_labels.of[k], costs.differences)) * costs.cost_scale + 0.5f);
    }
  }
  return found;
}

__device__ __forceinline__ bool in_frame(const CudaCosts& costs, const Pixel& pixel) {
  return pixel.x < costs.frame || pixel.y < costs.frame || pixel.x >= costs.samples.width - costs.frame ||
         pixel.y >= costs.samples.height - costs.frame;
}

// Whether any, and whether all labels of the pixel have a right pixel.
struct Existence {
  bool any, all;
};

__device__ __forceinline__ Existence existence(uint64 right_valid) {
  const int labels = min(max(LABELS - lane_of_pixel() * PER_LANE, 0), PER_LANE);
  const uint64 wanted = ((1ull << labels) - 1) << (PER_LANE - labels), found = right_valid & wanted;
  constexpr uint32 some = 1, some_not = 2;
  const uint32 flags = over_lanes((found != 0 ? some : 0) | (found != wanted ? some_not : 0),
                                  [](uint32 a, uint32 b) { return a | b; });
  return {(flags & some) != 0, (flags & some_not) == 0};
}

__device__ __forceinline__ float min_cost(float cost) {
  return __uint_as_float(over_lanes(__float_as_uint(cost), [](uint32 a, uint32 b) {
    return __float_as_uint(fminf(__uint_as_float(a), __uint_as_float(b)));
  }));
}

}  // namespace

// Data costs, and each pixel's initial status: LANES threads per pixel, grid.x = rows, grid.y = blocks of a
// row. Also sets the later kernels' counters to 0, and numbers their passes.
PARALLAX_KERNEL __launch_bounds__(BLOCK) find_costs(CudaCosts costs, uint32* data, uint32* progress,
                                                    uint32 counters, uint32* numbered, uint32 passes) {
  __shared__ float table[TABLE_SIZE];
  wait_for_previous();
  for (int64 i = (static_cast<int64>(blockIdx.x) * gridDim.y + blockIdx.y) * BLOCK + threadIdx.x;
       i < counters; i += static_cast<int64>(gridDim.x) * gridDim.y * BLOCK)
    progress[i] = 0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *numbered += passes;
  if constexpr (TABLE) {
    for (int i = threadIdx.x; i < TABLE_SIZE; i += BLOCK) table[i] = costs.table[i];
    __syncthreads();
  }
  const int column = (blockIdx.y * BLOCK + threadIdx.x) / LANES, width = costs.samples.width;
  const bool inside = column < width;
  Pixel pixel;
  pixel.x = min(column, width - 1);
  pixel.y = blockIdx.x;
  pixel.first_right = pixel.x - costs.min_disparity - lane_of_pixel() * PER_LANE - (PER_LANE - 1);
  const int words = costs.validity.words;
  const bool valid = (valid_bits(costs.validity.left, words, pixel.y, pixel.x) & 1) != 0;
  // A volume's labels correspond to no right pixels.
  const bool everywhere = COST == volume && !costs.mirrored;
  const uint64 right_valid =
      everywhere ? ~0ull : valid_bits(costs.validity.right, words, pixel.y, pixel.first_right);
  const Existence exists = existence(right_valid);

  Costs cost = all_costs(costs, pixel, table);
  float least = 3e38f;
#pragma unroll
  for (int k = 0; k < PER_LANE; ++k) {
    if ((right_valid >> from_first(k) & 1) == 0) cost.of[k] = costs.outside;
    if (lane_of_pixel() * PER_LANE + k < LABELS) least = fminf(least, cost.of[k]);
  }
  least = min_cost(least);
  const bool has_data = valid && !in_frame(costs, pixel) && (HAS_OUTSIDE || exists.all);
  Labels kept;
#pragma unroll
  for (int word = 0; word < half_labels; ++word) {
    kept.of[word] = 0;
#pragma unroll
    for (int high = 0; high < 2; ++high) {
      uint32 units = data_bound;
      if (label_of(word, high) < LABELS)
        units = has_data ? static_cast<uint32>(fminf(cost.of[high * half_labels + word] - least,
                                                     static_cast<float>(data_bound)))
                         : 0;
      kept.of[word] |= units << 16 * high;
    }
  }
  if (!inside) return;
  const int64 index = static_cast<int64>(pixel.y) * width + pixel.x;
  store(pack<BITS>(kept), data + index * pixel_words + lane_of_pixel() * sum_words);
  if (lane_of_pixel() == 0)
    costs.status[static_cast<int64>(pixel.y) * costs.samples.stride + pixel.x] =
        !valid       ? decision::input_masked
        : exists.any ? decision::matched
                     : decision::out_of_range;
}
