// SPDX-License-Identifier: Apache-2.0
// Makes CUDA C++ compile as C++ of the host. Included before every program. It includes no system header, so
// a program that needs one fails here as it does with NVIDIA's compiler. nvrtc.cpp removes the keywords
// __global__ and __launch_bounds__.
#pragma once

#define PARALLAX_EMULATED 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __device__
#define __host__
// The host finds constants by their names.
#define __constant__ __attribute__((visibility("default")))
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// Thread-local, because the thread-local memory of a module is one range, which is filled with garbage before
// every block.
#define __shared__ static thread_local
#define PARALLAX_SHARED(type, name) type* name = static_cast<type*>(emulated::dynamic_shared())

#include "arithmetic.h"
#include "atomics.h"
#include "collectives.h"
#include "interface.h"
#include "machine.h"
#include "packed.h"
#include "vector_types.h"

#define threadIdx (emulated::machine().thread)
#define blockIdx (emulated::machine().block)
#define blockDim (emulated::machine().block_size)
#define gridDim (emulated::machine().grid_size)

extern "C" int printf(const char* format, ...);
