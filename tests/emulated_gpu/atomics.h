// SPDX-License-Identifier: Apache-2.0
// One thread runs at a time, uninterrupted, so plain operations are atomic.
#pragma once

namespace emulated {

template <class T>
T replace(T* address, T value) {
  const T before = *address;
  *address = value;
  return before;
}

}  // namespace emulated

#define EMULATED_ATOMIC(name, T, result)                       \
  inline T name(T* address, T value) {                         \
    const T before = *address;                                 \
    return emulated::replace(address, static_cast<T>(result)); \
  }                                                            \
  inline T name##_block(T* address, T value) {                 \
    return name(address, value);                               \
  }                                                            \
  inline T name##_system(T* address, T value) {                \
    return name(address, value);                               \
  }

// Computed in the unsigned type, because signed atomics wrap around.
#define EMULATED_INTEGER_ATOMICS(T, Unsigned)                                                 \
  EMULATED_ATOMIC(atomicAdd, T, static_cast<Unsigned>(before) + static_cast<Unsigned>(value)) \
  EMULATED_ATOMIC(atomicExch, T, value)                                                       \
  EMULATED_ATOMIC(atomicMin, T, value < before ? value : before)                              \
  EMULATED_ATOMIC(atomicMax, T, value > before ? value : before)                              \
  EMULATED_ATOMIC(atomicAnd, T, before& value)                                                \
  EMULATED_ATOMIC(atomicOr, T, before | value)                                                \
  EMULATED_ATOMIC(atomicXor, T, before ^ value)                                               \
  inline T atomicCAS(T* address, T expected, T value) {                                       \
    return emulated::replace(address, *address == expected ? value : *address);               \
  }

EMULATED_INTEGER_ATOMICS(int, unsigned)
EMULATED_INTEGER_ATOMICS(unsigned, unsigned)
EMULATED_INTEGER_ATOMICS(unsigned long long, unsigned long long)
EMULATED_ATOMIC(atomicSub, int, static_cast<unsigned>(before) - static_cast<unsigned>(value))
EMULATED_ATOMIC(atomicSub, unsigned, before - value)
EMULATED_ATOMIC(atomicInc, unsigned, before >= value ? 0 : before + 1)
EMULATED_ATOMIC(atomicDec, unsigned, before == 0 || before > value ? value : before - 1)
EMULATED_ATOMIC(atomicMin, long long, value < before ? value : before)
EMULATED_ATOMIC(atomicMax, long long, value > before ? value : before)
EMULATED_ATOMIC(atomicAdd, float, before + value)
EMULATED_ATOMIC(atomicAdd, double, before + value)
EMULATED_ATOMIC(atomicExch, float, value)

inline unsigned short atomicCAS(unsigned short* address, unsigned short expected, unsigned short value) {
  return emulated::replace(address, *address == expected ? value : *address);
}
