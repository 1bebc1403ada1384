// SPDX-License-Identifier: Apache-2.0
// Several words of a thread, loaded and stored with the widest accesses.
#pragma once

#include "devices/cuda/kernel.h"

namespace parallax::cuda {

template <int count>
struct Words {
  uint32 of[count];
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
// Access through the second-level cache to data that blocks of the same kernel exchange.
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

// Access to data that the kernel does not use again.
struct Streaming {
  template <class Wide>
  static __device__ __forceinline__ Wide load(const Wide* from) {
    return __ldcs(from);
  }
  template <class Wide>
  static __device__ __forceinline__ void store(const Wide& value, Wide* to) {
    __stcs(to, value);
  }
};

template <int count>
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

// Number of words in the widest access that divides `count`.
__device__ constexpr int access_words(int count) {
  return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
}

template <int count, class Way = Plain>
__device__ __forceinline__ Words<count> load(const uint32* from) {
  constexpr int wide = access_words(count);
  using Wide = typename Access<wide>::Type;
  Words<count> words;
#pragma unroll
  for (int i = 0; i < count; i += wide) {
    const Wide value = Way::load(reinterpret_cast<const Wide*>(from + i));
    if constexpr (wide == 1) {
      words.of[i] = value;
    } else {
      words.of[i] = value.x, words.of[i + 1] = value.y;
      if constexpr (wide == 4) words.of[i + 2] = value.z, words.of[i + 3] = value.w;
    }
  }
  return words;
}

template <class Way = Plain, int count>
__device__ __forceinline__ void store(const Words<count>& words, uint32* to) {
  constexpr int wide = access_words(count);
#pragma unroll
  for (int i = 0; i < count; i += wide) {
    if constexpr (wide == 1)
      Way::store(words.of[i], to + i);
    else if constexpr (wide == 2)
      Way::store(make_uint2(words.of[i], words.of[i + 1]), reinterpret_cast<uint2*>(to + i));
    else
      Way::store(make_uint4(words.of[i], words.of[i + 1], words.of[i + 2], words.of[i + 3]),
                 reinterpret_cast<uint4*>(to + i));
  }
}

template <int count>
__device__ __forceinline__ void begin_copy(Words<count>* to_shared, const uint32* from) {
  constexpr int wide = access_words(count);
#pragma unroll
  for (int i = 0; i < count; i += wide) ::begin_copy<4 * wide>(to_shared->of + i, from + i);
}

}  // namespace parallax::cuda
