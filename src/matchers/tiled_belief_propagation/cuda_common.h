// SPDX-License-Identifier: Apache-2.0
// How the values of a pixel lie in memory and in registers.
//
// LANES neighbouring threads share the labels of a pixel; each has PER_LANE of them. Labels are padded with
// the bound of the data costs, which can neither win nor change a message. In registers, word k of a thread
// holds two values of 16 bits, those of its labels k and k + PER_LANE / 2: so the neighbours of all labels
// are in neighbouring words, except at the ends. In memory a value has 16 bits, in the same words, or 8,
// two words in one; the parts of a pixel's threads follow one another.
//
// Specialised by LABELS, LANES, PER_LANE (a multiple of 4), TRUNCATION (T), BITS of sums (data costs plus two
// messages).
#pragma once

#include "devices/cuda/kernel.h"
#include "matchers/tiled_belief_propagation/cuda_types.h"

namespace parallax::tiled_belief_propagation {

constexpr int half_labels = PER_LANE / 2;
constexpr uint32 data_bound = 4 * TRUNCATION + 1;

__device__ constexpr int words_of(int bits) {
  return PER_LANE * bits / 32;
}
constexpr int sum_words = words_of(BITS);  // of a thread
constexpr int pixel_words = LANES * sum_words;

__device__ __forceinline__ uint32 both(uint32 value) {
  return value | value << 16;
}

// Labels in computing form.
struct Labels {
  uint32 of[half_labels];
};

// Labels in memory form.
template <int bits>
struct Packed {
  uint32 of[words_of(bits)];
};
using Sums = Packed<BITS>;

// The widest access to so many words.
__device__ constexpr int access_words(int words) {
  return words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1;
}

template <int words>
struct Access;
template <>
struct Access<1> {
  using Type = uint32;
};
template <>
struct Access<2> {
  using Type = uint2;
};
template <>
struct Access<4> {
  using Type = uint4;
};

// Kinds of memory access.
struct Plain {
  template <class Wide>
  static __device__ __forceinline__ Wide load(const Wide* from) {
    return *from;
  }
  template <class Wide>
  static __device__ __forceinline__ void store(const Wide& value, Wide* to) {
    *to = value;
  }
};
// Access to data that other blocks of the same kernel write and read, through the second-level cache.
struct Between {
  template <class Wide>
  static __device__ __forceinline__ Wide load(const Wide* from) {
    return load_relaxed(from);
  }
  template <class Wide>
  static __device__ __forceinline__ void store(const Wide& value, Wide* to) {
    store_relaxed(value, to);
  }
};

template <int bits, class Way = Plain>
__device__ __forceinline__ Packed<bits> load(const uint32* from) {
  constexpr int wide = access_words(words_of(bits));
  using Wide = typename Access<wide>::Type;
  Packed<bits> packed;
#pragma unroll
  for (int i = 0; i < words_of(bits); i += wide) {
    const Wide value = Way::load(reinterpret_cast<const Wide*>(from + i));
    if constexpr (wide == 1) {
      packed.of[i] = value;
    } else {
      packed.of[i] = value.x, packed.of[i + 1] = value.y;
      if constexpr (wide == 4) packed.of[i + 2] = value.z, packed.of[i + 3] = value.w;
    }
  }
  return packed;
}

template <class Way = Plain, int bits>
__device__ __forceinline__ void store(const Packed<bits>& packed, uint32* to) {
  constexpr int wide = access_words(words_of(bits));
#pragma unroll
  for (int i = 0; i < words_of(bits); i += wide) {
    if constexpr (wide == 1)
      Way::store(packed.of[i], to + i);
    else if constexpr (wide == 2)
      Way::store(make_uint2(packed.of[i], packed.of[i + 1]), reinterpret_cast<uint2*>(to + i));
    else
      Way::store(make_uint4(packed.of[i], packed.of[i + 1], packed.of[i + 2], packed.of[i + 3]),
                 reinterpret_cast<uint4*>(to + i));
  }
}

template <int bits>
__device__ __forceinline__ Labels unpack(const Packed<bits>& packed) {
  Labels labels;
  if constexpr (bits == 16) {
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

// Adds packed values: none overflows its bits.
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

template <class Combine>
__device__ __forceinline__ uint32 over_lanes(uint32 value, const Combine& combine) {
#pragma unroll
  for (int step = LANES / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, step, LANES));
  return value;
}

__device__ __forceinline__ uint32 least_value(uint32 value) {
  return over_lanes(value, [](uint32 a, uint32 b) { return min(a, b); });
}

}  // namespace parallax::tiled_belief_propagation
