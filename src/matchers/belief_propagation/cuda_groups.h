// SPDX-License-Identifier: Apache-2.0
// Groups: four or two neighbours of one colour in a row, whose values for a label are one word. Shared by the
// kernels of all labels and of candidates.
//
// Specialised by BITS of a value (8, 16), LANES, PER_LANE, VECTOR, BOUND, EDGES: see cuda_updates.cu; and by
// the macros of cuda_common.h.
#pragma once

#include "matchers/belief_propagation/cuda_common.h"

namespace parallax::belief_propagation {

constexpr int padded_labels = LANES * PER_LANE;
constexpr int group_pixels = 32 / BITS;
// A word unpacked for arithmetic: two 16-bit values in each half.
constexpr int halves = group_pixels / 2;
constexpr uint32 data_bound = 4 * BOUND + 1;

struct Split {
  uint32 half[halves];
};

__device__ __forceinline__ Split split(uint32 word) {
  Split result;
  result.half[0] = halves == 1 ? word : word & 0x00FF00FFu;
  if constexpr (halves == 2) result.half[halves - 1] = word >> 8 & 0x00FF00FFu;
  return result;
}

__device__ __forceinline__ uint32 join(const Split& split) {
  return halves == 1 ? split.half[0] : split.half[0] | split.half[halves - 1] << 8;
}

__device__ __forceinline__ uint32 both(uint32 value) {
  return value | value << 16;
}

__device__ __forceinline__ Split all_halves(uint32 value) {
  Split result;
#pragma unroll
  for (int h = 0; h < halves; ++h) result.half[h] = value;
  return result;
}

// Value of pixel p of a word.
__device__ __forceinline__ uint32 element(uint32 word, int p) {
  return word >> p * BITS & ((1u << BITS) - 1);
}

template <int count>
__device__ __forceinline__ void load(const uint32* from, uint32* to) {
  if constexpr (count == 4) {
    const uint4 v = *reinterpret_cast<const uint4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    const uint2 v = *reinterpret_cast<const uint2*>(from);
    to[0] = v.x, to[1] = v.y;
  }
}

template <int count>
__device__ __forceinline__ void store(const uint32* from, uint32* to) {
  if constexpr (count == 4)
    *reinterpret_cast<uint4*>(to) = make_uint4(from[0], from[1], from[2], from[3]);
  else
    *reinterpret_cast<uint2*>(to) = make_uint2(from[0], from[1]);
}

__device__ __forceinline__ int64 group_offset(const CudaIntegerLevel& level, int y, int group) {
  return (static_cast<int64>(y + 1) * (level.groups + 2) + group + 1) * padded_labels;
}

// The position of a label's word in a group.
__device__ __forceinline__ int label_offset(int label) {
  const int lane = label / PER_LANE, k = label % PER_LANE;
  return (k / VECTOR * LANES + lane) * VECTOR + k % VECTOR;
}

template <class Level>
__device__ __forceinline__ uint32* messages(const Level& level, int colour, int direction) {
  return level.messages + (colour * directions + direction) * level.plane_words;
}

// A mask for the pixels of a group that are in the image.
__device__ __forceinline__ uint32 inside_mask(int pixels, int group) {
  const int count = pixels - group * group_pixels;
  if (count >= group_pixels) return ~0u;
  return count <= 0 ? 0 : (1u << count * BITS) - 1;
}

// Slopes and truncations of the edges of a group, by direction.
struct Weights {
  uint32 slope[directions], truncation[directions];
};

template <class Level>
__device__ __forceinline__ Weights weights(const Level& level, const CudaSmoothness& alike, int colour, int y,
                                           int group) {
  Weights result;
#pragma unroll
  for (int direction = 0; direction < directions; ++direction) {
    if constexpr (EDGES) {
      const int64 at =
          (((static_cast<int64>(colour) * level.height + y) * level.groups + group) * directions +
           direction) *
          2;
      uint32 pair[2];
      load<2>(level.edges + at, pair);
      result.slope[direction] = pair[0];
      result.truncation[direction] = pair[1];
    } else {
      result.slope[direction] = alike.slope;
      result.truncation[direction] = alike.truncation;
    }
  }
  return result;
}

}  // namespace parallax::belief_propagation
