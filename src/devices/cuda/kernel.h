// SPDX-License-Identifier: Apache-2.0
// What every file of kernels begins with.
#pragma once

using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;
using int64 = long long;

// Shared memory whose size the launch says.
#ifndef PARALLAX_EMULATED
#define PARALLAX_SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif

#define PARALLAX_KERNEL extern "C" __global__ void

constexpr unsigned all_lanes = 0xFFFFFFFFu;

// A kernel may be launched before the one ahead of it has ended; from here on, it has. (sm_90 and later, see
// Kernel::launch.)
__device__ __forceinline__ void wait_for_previous() {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Between blocks that run at once (a cooperative launch): what the threads of a block wrote before a barrier
// of the block is there for those who have seen what one of them counts behind it.

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

// In a loop that waits for another block.
__device__ __forceinline__ void let_others_run() {
#ifdef PARALLAX_EMULATED
  __nanosleep(0);
#endif
}

__device__ __forceinline__ void wait_for_count(const uint32* counter, uint32 count) {
  // The counter may wrap around in a long run.
  while (static_cast<int>(counted(counter) - count) < 0) let_others_run();
}

// Words that another block writes meanwhile: each is there or not yet, and says nothing of others.

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
