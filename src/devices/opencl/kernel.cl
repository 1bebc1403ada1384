// SPDX-License-Identifier: Apache-2.0
// The first source of every program.
//
// Specialised by NVIDIA and DIVIDES: see DeviceInfo::nvidia_capability and divides_correctly.
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

// One of the two elements of an array in an argument. Compilers for GPUs copy an argument to memory, in every
// work item, where a variable is an index.
#define EITHER(array, which) ((which) ? (array)[1] : (array)[0])

// The type or function for vectors of LANES, float4 of `float`; both names are expanded first.
#define JOINED_AS_THEY_ARE(first, second) first##second
#define JOINED(first, second) JOINED_AS_THEY_ARE(first, second)
#define OF_LANES(name) JOINED(name, LANES)

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

// a / b, rounded to the nearest float, of normal floats or a = 0; the quotient must be normal, too.
INLINE float quotient(float a, float b) {
#if DIVIDES
  return a / b;
#else
  const uint sign = (as_uint(a) ^ as_uint(b)) & 0x80000000u, x = as_uint(a) & 0x7FFFFFFFu,
             y = as_uint(b) & 0x7FFFFFFFu;
  if (x == 0) return as_float(sign);
  uint numerator = (x & 0x7FFFFFu) | 0x800000u, exponent = (x >> 23) - (y >> 23) + 126;
  const uint denominator = (y & 0x7FFFFFu) | 0x800000u;
  if (numerator < denominator) {
    numerator *= 2;
    --exponent;
  }
  // 25 bits; no quotient of two floats is half-way between two others, so the last one rounds.
  const uint bits = (uint)(((ulong)numerator << 24) / denominator);
  return as_float(sign | ((exponent << 23) + (bits + 1) / 2));
#endif
}

static bool has_value(float disparity) {
  return disparity < NO_VALUE;
}
