// SPDX-License-Identifier: Apache-2.0
// Definitions for all files of kernels, each of which includes this file first.
#pragma once

using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;
using int64 = long long;

// Dynamic shared memory: its size is an argument of the launch.
#ifndef PARALLAX_EMULATED
#define PARALLAX_SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif

#define PARALLAX_KERNEL extern "C" __global__ void

constexpr unsigned all_lanes = 0xFFFFFFFFu;

// Waits for the stream's previous kernel to end, because this one may be launched earlier (sm_90 and later,
// see Kernel::launch).
__device__ __forceinline__ void wait_for_previous() {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Copies of 4, 8 or 16 bytes, aligned to their size, from global to shared memory, which go on while the
// thread computes (sm_80 and later). A thread waits for its own copies.

template <int bytes>
__device__ __forceinline__ void begin_copy(void* to_shared, const void* from) {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ >= 800
  const uint32 to = static_cast<uint32>(__cvta_generic_to_shared(to_shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes) : "memory");
#else
  memcpy(to_shared, from, bytes);
#endif
}

__device__ __forceinline__ void end_copies() {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all groups except the last `still_running`.
template <int still_running>
__device__ __forceinline__ void wait_for_copies() {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(still_running) : "memory");
#endif
}

// A counter shared by blocks that run at once (a cooperative launch). Threads that have seen a count also see
// what the counting block's threads wrote before the preceding barrier.

__device__ __forceinline__ void count_one(uint32* counter) {
#ifdef PARALLAX_EMULATED
  ++*counter;
#else
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
#endif
}

__device__ __forceinline__ uint32 counted(const uint32* counter) {
#ifdef PARALLAX_EMULATED
  return *counter;
#else
  uint32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
#endif
}

// Called in loops that wait for another block.
__device__ __forceinline__ void let_others_run() {
#ifdef PARALLAX_EMULATED
  __nanosleep(0);
#endif
}

__device__ __forceinline__ void wait_for_count(const uint32* counter, uint32 count) {
  // A signed difference, because the counter may wrap around in a long run.
  while (static_cast<int>(counted(counter) - count) < 0) let_others_run();
}

// Words that another block may be writing: a read returns each word's old or new value, independently of the
// others.

template <class Words>
__device__ __forceinline__ Words load_relaxed(const Words* from) {
#ifdef PARALLAX_EMULATED
  return *from;
#else
  Words value;
  if constexpr (sizeof(Words) == 4) {
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  } else if constexpr (sizeof(Words) == 8) {
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(value.x), "=r"(value.y)
                 : "l"(from)
                 : "memory");
  } else {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from)
                 : "memory");
  }
  return value;
#endif
}

template <class Words>
__device__ __forceinline__ void store_relaxed(const Words& value, Words* to) {
#ifdef PARALLAX_EMULATED
  *to = value;
#else
  if constexpr (sizeof(Words) == 4)
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  else if constexpr (sizeof(Words) == 8)
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(value.x), "r"(value.y)
                 : "memory");
  else
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y),
                 "r"(value.z), "r"(value.w)
                 : "memory");
#endif
}
