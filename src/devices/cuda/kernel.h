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

constexpr unsigned whole_warp = 0xFFFFFFFFu;

// A kernel may be launched before the one ahead of it has ended; from here on, it has. (sm_90 and later, see
// Kernel::launch.)
__device__ __forceinline__ void wait_for_previous() {
#if !defined(PARALLAX_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
