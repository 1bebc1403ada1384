// SPDX-License-Identifier: Apache-2.0
// The layout of a pixel's values in memory and in registers.
//
// LANES neighbouring threads share the labels of a pixel; each has PER_LANE of them. Labels are padded with
// the bound of the data costs, which can neither win nor change a message. In registers, word k of a thread
// holds two values of 16 bits, those of its labels k and k + PER_LANE / 2; the neighbours of all labels are
// therefore in neighbouring words, except at the ends. In memory a value has 16 bits, in the same words, or
// 8, two words in one; the parts of a pixel's threads follow one another.
//
// Specialised by LABELS, LANES, PER_LANE (a multiple of 4), TRUNCATION (T), BITS of sums (data costs plus two
// messages).
#pragma once

#include "devices/cuda/lanes.h"
#include "devices/cuda/words.h"
#include "matchers/tiled_belief_propagation/cuda_types.h"

namespace parallax::tiled_belief_propagation {

constexpr int half_labels = PER_LANE / 2;
constexpr uint32 data_bound = 4 * TRUNCATION + 1;

__device__ constexpr int words_of(int bits) {
  return PER_LANE * bits / 32;
}
constexpr int sum_words = words_of(BITS);  // words of a thread
constexpr int pixel_words = LANES * sum_words;

__device__ __forceinline__ uint32 both(uint32 value) {
  return value | value << 16;
}

// A thread's labels in the form for arithmetic.
struct Labels {
  uint32 of[half_labels];
};

// A thread's labels in memory form.
template <int bits>
using Packed = cuda::Words<words_of(bits)>;
using Sums = Packed<BITS>;

using cuda::Access, cuda::access_words, cuda::Between, cuda::Plain, cuda::store;
using cuda::min_over_lanes, cuda::over_lanes;

template <int bits, class Way = Plain>
__device__ __forceinline__ Packed<bits> load(const uint32* from) {
  return cuda::load<words_of(bits), Way>(from);
}

template <int words>
__device__ __forceinline__ Labels unpack(const cuda::Words<words>& packed) {
  Labels labels;
  if constexpr (words == half_labels) {
#pragma unroll
    for (int k = 0; k < half_labels; ++k) labels.of[k] = packed.of[k];
  } else {
#pragma unroll
    for (int k = 0; k < half_labels; k += 2) {
      labels.of[k] = __byte_perm(packed.of[k / 2], 0, 0x4240);
      labels.of[k + 1] = __byte_perm(packed.of[k / 2], 0, 0x4341);
    }
  }
  return labels;
}

template <int bits>
__device__ __forceinline__ Packed<bits> pack(const Labels& labels) {
  Packed<bits> packed;
  if constexpr (bits == 16) {
#pragma unroll
    for (int k = 0; k < half_labels; ++k) packed.of[k] = labels.of[k];
  } else {
#pragma unroll
    for (int k = 0; k < half_labels; k += 2)
      packed.of[k / 2] = __byte_perm(labels.of[k], labels.of[k + 1], 0x6240);
  }
  return packed;
}

// Adds packed values; none overflows its bits.
__device__ __forceinline__ Sums add(const Sums& a, const Sums& b) {
  Sums sums;
#pragma unroll
  for (int i = 0; i < sum_words; ++i) sums.of[i] = a.of[i] + b.of[i];
  return sums;
}

__device__ __forceinline__ int lane_of_pixel() {
  return threadIdx.x % LANES;
}

// The label of one half of a word.
__device__ __forceinline__ int label_of(int word, int high) {
  return lane_of_pixel() * PER_LANE + high * half_labels + word;
}

}  // namespace parallax::tiled_belief_propagation
