// SPDX-License-Identifier: Apache-2.0
// Planes on CUDA: what data costs compare, and the edges of the grid.
//
// Specialised by LOOK_ALIKE, FEWEST_ALIKE and ZERO_GRADIENT.
#include "data_cost/cuda_types.h"
#include "devices/cuda/kernel.h"
#include "matchers/planes/cuda_types.h"

using namespace parallax::planes;
using parallax::data_cost::CudaSamples, parallax::data_cost::CudaValidity;

namespace {

constexpr int per_level = 256;

__device__ __forceinline__ int clamped(int value, int end) {
  return min(max(value, 0), end - 1);
}

__device__ __forceinline__ int64 place(const CudaSamples& samples, int x, int y) {
  return static_cast<int64>(y) * samples.stride + x;
}

// The gray level and half the gradient of a pixel: see levels_of().
__device__ __forceinline__ uint16 levels_at(const uint16* row, int x, int width) {
  const int before = row[max(x - 1, 0)], after = row[min(x + 1, width - 1)];
  const int gray = min((row[x] + per_level / 2) / per_level, 255);
  const int gradient = (after - before + 2 * per_level * ZERO_GRADIENT + per_level) / (2 * per_level);
  return static_cast<uint16>(gray | min(max(gradient, 0), 255) << 8);
}

// Which neighbours in a 9×7 window look like a pixel, in the order of bits of a census.
__device__ __forceinline__ uint64 neighbours_alike(const CudaSamples& samples, int x, int y) {
  constexpr int channels = 3;
  int own[channels];
#pragma unroll
  for (int c = 0; c < channels; ++c)
    own[c] = samples.left[c * samples.plane + place(samples, x, y)] / per_level;
  uint32 high = 0, low = 0;
  for (int j = -3; j <= 3; ++j) {
    const uint16* row = samples.left + place(samples, 0, clamped(y + j, samples.height));
#pragma unroll
    for (int i = -4; i <= 4; ++i) {
      if (i == 0 && j == 0) continue;
      const uint16* sample = row + clamped(x + i, samples.width);
      int difference = 0;
#pragma unroll
      for (int c = 0; c < channels; ++c)
        difference = max(difference, abs(sample[c * samples.plane] / per_level - own[c]));
      uint32& bits = j < 0 || (j == 0 && i < 0) ? high : low;
      bits = bits << 1 | (difference <= LOOK_ALIKE);
    }
  }
  return static_cast<uint64>(high) << 32 | low;
}

__device__ __forceinline__ uint16 edge(const uint16* weights, int sample, int other) {
  return weights[(abs(sample - other) + per_level / 2) / per_level];
}

}  // namespace

// All kernels: one thread per pixel, grid.x = rows, grid.y = blocks of a row.

// The pair as images of three channels, in rows without gaps. grid.z = 2 images.
PARALLAX_KERNEL write_pair(CudaSamples samples, CudaValidity validity, int bits, void* left, void* right,
                           uint8* left_mask, uint8* right_mask) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= samples.width) return;
  const bool is_left = blockIdx.z == 0;
  const int64 pixel = static_cast<int64>(y) * samples.width + x;
  const uint32 word =
      (is_left ? validity.left : validity.right)[static_cast<int64>(y) * validity.words + x / 32];
  (is_left ? left_mask : right_mask)[pixel] = word >> x % 32 & 1;
  for (int channel = 0; channel < 3; ++channel) {
    const uint16 sample =
        (is_left ? samples.left : samples.right)[channel * samples.plane + place(samples, x, y)];
    if (bits == 16)
      static_cast<uint16*>(is_left ? left : right)[3 * pixel + channel] = sample;
    else
      static_cast<uint8*>(is_left ? left : right)[3 * pixel + channel] = sample / per_level;
  }
}

// The gray right image 1, 2 and 3 quarters of a pixel to the right of each pixel: see shift_row(). grid.z = 3
// planes.
PARALLAX_KERNEL shift_right(CudaSamples gray, uint16* shifted) {
  // In 128ths.
  constexpr int weights[3][4] = {{-9, 111, 29, -3}, {-8, 72, 72, -8}, {-3, 29, 111, -9}};
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x, width = gray.width;
  if (x >= width) return;
  const uint16* row = gray.right + place(gray, 0, y);
  int sum = 64;
#pragma unroll
  for (int quarter = 0; quarter < 3; ++quarter) {
    if (quarter != blockIdx.z) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += weights[quarter][i] * row[clamped(x + i - 1, width)];
  }
  shifted[blockIdx.z * gray.plane + place(gray, x, y)] = min(max(sum >> 7, 0), 65535);
}

// The features of the left image, except its signatures. `bit_costs`: by the number of neighbours that look
// alike; `edge_weights`: by the difference of gray levels.
PARALLAX_KERNEL find_left_features(CudaSamples samples, const uint16* bit_costs, const uint16* edge_weights,
                                   CudaFeatures to) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x;
  if (x >= samples.width) return;
  const int64 at = place(samples, x, y);
  const uint16* gray = samples.left + (samples.planes - 1) * samples.plane + place(samples, 0, y);
  to.levels[at] = levels_at(gray, x, samples.width);
  to.edge_before[at] = x > 0 ? edge(edge_weights, gray[x], gray[x - 1]) : 0;
  to.edge_above[at] = y > 0 ? edge(edge_weights, gray[x], gray[x - samples.stride]) : 0;
  uint64 alike = neighbours_alike(samples, x, y);
  constexpr uint64 all = 0x7FFFFFFF7FFFFFFFull;  // 31 bits in each half
  if (__popcll(alike) < FEWEST_ALIKE) alike = all;
  to.alike[at] = alike;
  to.bit_cost[at] = bit_costs[__popcll(alike)];
}

// The levels of the right image. grid.z = 4 planes, the first being that of pixels as they are.
PARALLAX_KERNEL find_right_levels(CudaSamples gray, const uint16* shifted, uint16* levels) {
  wait_for_previous();
  const int x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x, quarter = blockIdx.z;
  if (x >= gray.width) return;
  const uint16* plane = quarter == 0 ? gray.right : shifted + (quarter - 1) * gray.plane;
  levels[quarter * gray.plane + place(gray, x, y)] = levels_at(plane + place(gray, 0, y), x, gray.width);
}
