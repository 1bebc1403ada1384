// SPDX-License-Identifier: Apache-2.0
// refit() on CUDA: the same results as refit.cpp. Specialised by WINDOW.
#include "data_cost/cuda_types.h"
#include "decision/cuda_values.h"
#include "devices/cuda/kernel.h"

using namespace parallax::decision;
using parallax::data_cost::CudaCosts;

namespace {

constexpr int radius = WINDOW / 2;

// A row of an image.
struct Row {
  const uint64* signatures;
  const uint32* validity;
  int width;

  __device__ __forceinline__ bool has(int x) const {
    return x >= 0 && x < width && (validity[x / 32] >> x % 32 & 1) != 0;
  }
};

__device__ __forceinline__ Row row_of(const CudaCosts& costs, bool is_left, int y) {
  const void* features = is_left ? costs.left_features : costs.right_features;
  const uint32* validity = is_left ? costs.validity.left : costs.validity.right;
  return {static_cast<const uint64*>(features) + static_cast<int64>(y) * costs.samples.stride,
          validity + static_cast<int64>(y) * costs.validity.words, costs.samples.width};
}

// Sums of Hamming distances over a window, for the label before a pixel's, its own and the one after it.
struct LabelCosts {
  int before = 0, here = 0, after = 0;

  __device__ __forceinline__ void add_row(const Row& left, const Row& right, int x, int label) {
    for (int u = x - radius; u <= x + radius; ++u) {
      const int match = u - label;
      if (!left.has(u) || !right.has(match + 1) || !right.has(match) || !right.has(match - 1)) continue;
      const uint64 signature = left.signatures[u];
      before += __popcll(signature ^ right.signatures[match + 1]);
      here += __popcll(signature ^ right.signatures[match]);
      after += __popcll(signature ^ right.signatures[match - 1]);
    }
  }
};

}  // namespace

// One thread per pixel: grid.x = rows, grid.y = blocks of a row. `costs`: the inputs of census costs.
PARALLAX_KERNEL refit(CudaCosts costs, float* disparity, int64 stride) {
  wait_for_previous();
  const int width = costs.samples.width, height = costs.samples.height;
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  float& value = disparity[y * stride + x];
  const float here = value, label = ceilf(here - 0.5f);
  // Beyond this limit, the whole window is outside the right image.
  if (!(here < no_value && fabsf(label) <= static_cast<float>(width + WINDOW))) return;
  LabelCosts sums;
  for (int v = max(0, y - radius); v <= min(height - 1, y + radius); ++v)
    sums.add_row(row_of(costs, true, v), row_of(costs, false, v), x, static_cast<int>(label));
  const int highest = max(sums.before, sums.after);
  if (sums.here > min(sums.before, sums.after) || sums.here >= highest) return;
  const float offset =
      static_cast<float>(sums.before - sums.after) / static_cast<float>(2 * (highest - sums.here));
  value = (label + offset + here) * 0.5f;
}
