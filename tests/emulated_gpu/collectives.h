// SPDX-License-Identifier: Apache-2.0
// Operations of several threads: barriers of a block, collectives of a warp.
#pragma once

#include "machine.h"

constexpr int warpSize = 32;

inline void __syncthreads() {
  emulated::machine().barrier(false);
}
inline int __syncthreads_count(int predicate) {
  return static_cast<int>(emulated::machine().barrier(predicate != 0));
}
inline int __syncthreads_or(int predicate) {
  return emulated::machine().barrier(predicate != 0) != 0;
}
inline int __syncthreads_and(int predicate) {
  return emulated::machine().barrier(predicate == 0) == 0;
}

inline void __threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {
  emulated::machine().yield();
}
inline void __trap() {
  emulated::machine().trap("the kernel called __trap()");
}
#define assert(condition) emulated::require(condition, "the assertion " #condition " is false")

namespace emulated {

inline unsigned long long collective(Collective kind, unsigned mask, unsigned long long value) {
  return machine().collective(kind, mask, value, 0);
}

template <class T>
T exchange(unsigned mask, T value, unsigned source_lane) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = machine().collective(Collective::exchange, mask, bits, source_lane);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// The `width` lanes with which a lane exchanges values, from the first to the last.
struct Segment {
  unsigned first, last;
};

inline Segment segment_of(unsigned lane, int width) {
  require(width > 0 && width <= 32 && (width & (width - 1)) == 0,
          "the width of a shuffle is no power of two");
  const unsigned first = lane & ~(static_cast<unsigned>(width) - 1);
  return {first, first + static_cast<unsigned>(width) - 1};
}

// The modes of PTX's shfl: idx, up, down, bfly.
inline unsigned source_by_index(int index, int width) {
  const Segment segment = segment_of(machine().lane, width);
  return segment.first | (static_cast<unsigned>(index) & (static_cast<unsigned>(width) - 1));
}

inline unsigned source_above(unsigned delta, int width) {
  const unsigned lane = machine().lane;
  return lane >= segment_of(lane, width).first + (delta & 31) ? lane - (delta & 31) : lane;
}

inline unsigned source_below(unsigned delta, int width) {
  const unsigned lane = machine().lane, source = lane + (delta & 31);
  return source <= segment_of(lane, width).last ? source : lane;
}

inline unsigned source_across(int lane_mask, int width) {
  const unsigned lane = machine().lane, source = lane ^ (static_cast<unsigned>(lane_mask) & 31);
  return source <= segment_of(lane, width).last ? source : lane;
}

}  // namespace emulated

// Overloads, not templates: arguments convert as they do in CUDA.
#define EMULATED_EXCHANGES(T)                                                                    \
  inline T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {                 \
    return emulated::exchange(mask, value, emulated::source_by_index(lane, width));              \
  }                                                                                              \
  inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {        \
    return emulated::exchange(mask, value, emulated::source_above(delta, width));                \
  }                                                                                              \
  inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {      \
    return emulated::exchange(mask, value, emulated::source_below(delta, width));                \
  }                                                                                              \
  inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {        \
    return emulated::exchange(mask, value, emulated::source_across(lane_mask, width));           \
  }                                                                                              \
  inline unsigned __match_any_sync(unsigned mask, T value) {                                     \
    unsigned long long bits = 0;                                                                 \
    __builtin_memcpy(&bits, &value, sizeof value);                                               \
    return static_cast<unsigned>(emulated::collective(emulated::Collective::match, mask, bits)); \
  }                                                                                              \
  inline unsigned __match_all_sync(unsigned mask, T value, int* all) {                           \
    *all = __match_any_sync(mask, value) == mask;                                                \
    return *all ? mask : 0;                                                                      \
  }

EMULATED_EXCHANGES(int)
EMULATED_EXCHANGES(unsigned)
EMULATED_EXCHANGES(long)
EMULATED_EXCHANGES(unsigned long)
EMULATED_EXCHANGES(long long)
EMULATED_EXCHANGES(unsigned long long)
EMULATED_EXCHANGES(float)
EMULATED_EXCHANGES(double)

inline void __syncwarp(unsigned mask = 0xffffffff) {
  emulated::collective(emulated::Collective::synchronise, mask, 0);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(emulated::collective(emulated::Collective::ballot, mask, predicate != 0));
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}
inline int __uni_sync(unsigned mask, int predicate) {
  const unsigned ballot = __ballot_sync(mask, predicate);
  return ballot == 0 || ballot == mask;
}
// Nothing to do, because a thread runs alone between collectives.
inline unsigned __activemask() {
  return 1u << emulated::machine().lane;
}

#define EMULATED_REDUCTION(name, T, kind)                                                      \
  inline T name(unsigned mask, T value) {                                                      \
    return static_cast<T>(                                                                     \
        emulated::collective(emulated::Collective::kind, mask, static_cast<unsigned>(value))); \
  }
EMULATED_REDUCTION(__reduce_add_sync, unsigned, add)
EMULATED_REDUCTION(__reduce_add_sync, int, add)
EMULATED_REDUCTION(__reduce_min_sync, unsigned, least)
EMULATED_REDUCTION(__reduce_min_sync, int, min_signed)
EMULATED_REDUCTION(__reduce_max_sync, unsigned, most)
EMULATED_REDUCTION(__reduce_max_sync, int, max_signed)
EMULATED_REDUCTION(__reduce_and_sync, unsigned, all_bits)
EMULATED_REDUCTION(__reduce_or_sync, unsigned, any_bits)
EMULATED_REDUCTION(__reduce_xor_sync, unsigned, odd_bits)
