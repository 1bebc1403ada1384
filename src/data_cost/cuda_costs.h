// SPDX-License-Identifier: Apache-2.0
// Data costs of a pixel and label, in kernels.
//
// Specialised by COST (a DataCost).
#pragma once

#include "data_cost/cuda_types.h"
#include "devices/cuda/kernel.h"

namespace parallax::data_cost {

// Values of DataCost.
constexpr int absolute_difference = 0, absolute_difference_colour = 1, census_distance = 2,
              birchfield_tomasi = 3, volume = 4, mean_absolute_difference = 5, census_of_opposites = 6,
              gradient_birchfield_tomasi = 7;

__device__ __forceinline__ int column_inside(int x, int width) {
  return min(max(x, 0), width - 1);
}

template <class Value>
__device__ __forceinline__ const Value* row_of(const Value* plane, const CudaSamples& samples, int y) {
  return plane + static_cast<int64>(y) * samples.stride;
}

// The validity bits of 64 pixels from a column on; 0 outside the image.
__device__ __forceinline__ uint64 valid_bits(const uint32* plane, int words, int y, int first) {
  const uint32* row = plane + static_cast<int64>(y) * words;
  const auto word = [&](int index) -> uint32 { return index >= 0 && index < words ? row[index] : 0; };
  const int index = first >> 5, shift = first & 31;
  const uint32 low = __funnelshift_r(word(index), word(index + 1), shift);
  const uint32 high = __funnelshift_r(word(index + 1), word(index + 2), shift);
  return static_cast<uint64>(high) << 32 | low;
}

// One of the caller's costs, in units; NaN counts as the highest cost.
__device__ __forceinline__ float volume_cost(const CudaCosts& costs, int64 y, int64 x, int label,
                                             int labels) {
  const float units = costs.volume[y * costs.volume_row_stride + x * labels + label] * costs.volume_scale;
  return fmaxf(fminf(units, costs.volume_limit), -costs.volume_limit);
}

// The distance from a sample to a range, whose ends are the halves of a word.
__device__ __forceinline__ int distance(int sample, uint32 range) {
  return max(0, max(sample - static_cast<int>(range >> 16), static_cast<int>(range & 0xFFFF) - sample));
}

// The difference between pixels of the left and the right row, both inside the image; in 256ths of a gray
// level or of a bit. Not for windows or volumes.
__device__ __forceinline__ int difference(const CudaCosts& costs, int y, int left, int right) {
  const CudaSamples& samples = costs.samples;
  const auto gray = [&](const uint16* plane, int x) -> int { return row_of(plane, samples, y)[x]; };
  if constexpr (COST == census_distance) {
    const uint64 first = row_of(static_cast<const uint64*>(costs.left_features), samples, y)[left];
    const uint64 second = row_of(static_cast<const uint64*>(costs.right_features), samples, y)[right];
    return __popcll(first ^ second) * 256;
  } else if constexpr (COST == census_of_opposites) {
    return __popc(row_of(static_cast<const uint32*>(costs.left_features), samples, y)[left] ^
                  row_of(static_cast<const uint32*>(costs.right_features), samples, y)[right]) *
           256;
  } else if constexpr (COST == gradient_birchfield_tomasi) {
    const CudaGradient first =
        row_of(static_cast<const CudaGradient*>(costs.left_features), samples, y)[left];
    const CudaGradient second =
        row_of(static_cast<const CudaGradient*>(costs.right_features), samples, y)[right];
    const int of_gray = min(distance(gray(samples.left, left), second.gray_range),
                            distance(gray(samples.right, right), first.gray_range));
    return min(distance(static_cast<int>(first.gradient), second.range),
               distance(static_cast<int>(second.gradient), first.range)) +
           of_gray / 4;
  } else if constexpr (COST == birchfield_tomasi) {
    const uint32 first = row_of(static_cast<const uint32*>(costs.left_features), samples, y)[left];
    const uint32 second = row_of(static_cast<const uint32*>(costs.right_features), samples, y)[right];
    return min(distance(gray(samples.left, left), second), distance(gray(samples.right, right), first));
  } else if constexpr (COST == absolute_difference_colour) {
    constexpr uint32 third = 21845;  // 1/3 in units of 1/65536
    uint32 sum = 0;
#pragma unroll
    for (int channel = 0; channel < 3; ++channel) {
      const int64 plane = channel * samples.plane;
      sum += static_cast<uint32>(abs(gray(samples.left + plane, left) - gray(samples.right + plane, right))) *
                 third >>
             16;
    }
    return static_cast<int>(sum);
  } else {
    return abs(gray(samples.left, left) - gray(samples.right, right));
  }
}

}  // namespace parallax::data_cost
