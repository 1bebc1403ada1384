// SPDX-License-Identifier: Apache-2.0
// CUDA's vector types, with the layout and alignment of vector_types.h, and the functions that make them.
#pragma once

#include "interface.h"

#define EMULATED_VECTORS(scalar, name, alignment2, alignment4)            \
  struct name##1 {                                                        \
    scalar x;                                                             \
  };                                                                      \
  struct __align__(alignment2) name##2 {                                  \
    scalar x, y;                                                          \
  };                                                                      \
  struct name##3 {                                                        \
    scalar x, y, z;                                                       \
  };                                                                      \
  struct __align__(alignment4) name##4 {                                  \
    scalar x, y, z, w;                                                    \
  };                                                                      \
  inline name##1 make_##name##1(scalar x) {                               \
    return {x};                                                           \
  }                                                                       \
  inline name##2 make_##name##2(scalar x, scalar y) {                     \
    return {x, y};                                                        \
  }                                                                       \
  inline name##3 make_##name##3(scalar x, scalar y, scalar z) {           \
    return {x, y, z};                                                     \
  }                                                                       \
  inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { \
    return {x, y, z, w};                                                  \
  }

EMULATED_VECTORS(signed char, char, 2, 4)
EMULATED_VECTORS(unsigned char, uchar, 2, 4)
EMULATED_VECTORS(short, short, 4, 8)
EMULATED_VECTORS(unsigned short, ushort, 4, 8)
EMULATED_VECTORS(int, int, 8, 16)

struct uint1 {
  unsigned x;
};
struct __align__(8) uint2 {
  unsigned x, y;
};
using uint3 = emulated::Index;
struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
inline uint1 make_uint1(unsigned x) {
  return {x};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
  return {x, y, z};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 index) : x(index.x), y(index.y), z(index.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

EMULATED_VECTORS(float, float, 8, 16)
EMULATED_VECTORS(long, long, 16, 16)
EMULATED_VECTORS(unsigned long, ulong, 16, 16)
EMULATED_VECTORS(long long, longlong, 16, 16)
EMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
EMULATED_VECTORS(double, double, 16, 16)
