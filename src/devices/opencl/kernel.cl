// SPDX-License-Identifier: Apache-2.0
// The first source of every program.
//
// Specialised by NVIDIA: see DeviceInfo::nvidia_capability.
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define INLINE __attribute__((always_inline)) static
// Before loops over arrays that only constants index, so that they stay in registers; but not for compilers
// for processors, which are slow at it.
#if defined(__x86_64__) || defined(__aarch64__)
#define UNROLLED _Pragma("unroll 1")
#else
#define UNROLLED _Pragma("unroll")
#endif

typedef int cl_int;
typedef long cl_long;
typedef float cl_float;

// Values of Status.
#define MATCHED 0
#define FILLED 1
#define OUT_OF_RANGE 2
#define INCONSISTENT 3
#define AMBIGUOUS 4
#define TEXTURELESS 5
#define SPECKLE 6
#define INPUT_MASKED 7

#define NO_VALUE INFINITY

static bool has_value(float disparity) {
  return disparity < NO_VALUE;
}
