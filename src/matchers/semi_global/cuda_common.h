// SPDX-License-Identifier: Apache-2.0
// The layout of a pixel's costs in memory and in registers.
//
// LANES neighbouring threads share the labels of a pixel; each has PER_LANE of them. In registers, word k of
// a thread holds two costs of 16 bits each, those of its labels k and k + PER_LANE / 2; the neighbours of all
// labels are therefore in neighbouring words, except at the ends. In memory a cost has BITS: 16, in the same
// words, or 8, two words in one. The parts of a pixel's threads follow one another.
//
// Labels are padded to LANES · PER_LANE with data costs of PAD, the highest data cost plus P2. They neither
// win nor change a path, because the lowest path cost of a pixel is at most the highest data cost.
//
// Specialised by LABELS, LANES, PER_LANE (a multiple of 4), BITS of a path cost (8, 16), PAD.
#pragma once

#include "devices/cuda/lanes.h"
#include "devices/cuda/words.h"
#include "matchers/semi_global/cuda_types.h"

namespace parallax::semi_global {

constexpr int padded_labels = LANES * PER_LANE;
constexpr int lane_words = PER_LANE * BITS / 32;
constexpr int pixel_words = LANES * lane_words;
constexpr int half_labels = PER_LANE / 2;

using cuda::over_lanes, cuda::min_over_lanes;

// A lane's costs in memory form.
using Packed = cuda::Words<lane_words>;

// A lane's costs in computing form.
struct Costs {
  uint32 of[half_labels];
};

__device__ __forceinline__ Costs unpack(const Packed& packed) {
  Costs costs;
#pragma unroll
  for (int k = 0; k < half_labels; ++k)
    costs.of[k] = BITS == 16 ? packed.of[k] : __byte_perm(packed.of[k / 2], 0, k % 2 == 0 ? 0x4240 : 0x4341);
  return costs;
}

__device__ __forceinline__ Packed pack(const Costs& costs) {
  Packed packed;
#pragma unroll
  for (int i = 0; i < lane_words; ++i)
    packed.of[i] = BITS == 16 ? costs.of[i] : __byte_perm(costs.of[2 * i], costs.of[2 * i + 1], 0x6240);
  return packed;
}

// The position in memory of the cost of a lane's label k: the word, and the lowest bit in it.
__device__ __forceinline__ constexpr int word_of(int k) {
  return k % half_labels * BITS / 16;
}
__device__ __forceinline__ constexpr int shift_of(int k) {
  return k / half_labels * 16 + (BITS == 8 ? k % 2 * 8 : 0);
}

// Calls action(k, cost) for a lane's labels.
template <class Action>
__device__ __forceinline__ void for_each_label(const Costs& costs, const Action& action) {
#pragma unroll
  for (int k = 0; k < half_labels; ++k) {
    action(k, costs.of[k] & 0xFFFF);
    action(k + half_labels, costs.of[k] >> 16);
  }
}

__device__ __forceinline__ uint32 both(uint32 value) {
  return value | value << 16;
}

__device__ __forceinline__ int lane_of_pixel() {
  return threadIdx.x % LANES;
}

// The index of a lane's costs in a volume, whose words can be counted in 32 bits.
__device__ __forceinline__ uint32 lane_index(int64 pixel) {
  return static_cast<uint32>(pixel) * pixel_words + lane_of_pixel() * lane_words;
}

template <class Way = cuda::Plain>
__device__ __forceinline__ Packed load_lane(const uint32* volume, int64 pixel) {
  return cuda::load<lane_words, Way>(volume + lane_index(pixel));
}

__device__ __forceinline__ void store_lane(const Packed& packed, uint32* volume, int64 pixel) {
  cuda::store(packed, volume + lane_index(pixel));
}

// Whether a lane's label k is padding.
__device__ __forceinline__ bool beyond_labels(int k) {
  return padded_labels > LABELS && lane_of_pixel() * PER_LANE + k >= LABELS;
}

__device__ __forceinline__ void set_padding(Costs& costs, uint32 value) {
  const auto padded = [&](uint32 cost, int k) { return beyond_labels(k) ? value : cost; };
#pragma unroll
  for (int k = 0; k < half_labels; ++k)
    costs.of[k] = padded(costs.of[k] & 0xFFFF, k) | padded(costs.of[k] >> 16, k + half_labels) << 16;
}

}  // namespace parallax::semi_global
