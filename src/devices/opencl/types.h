// SPDX-License-Identifier: Apache-2.0
// A pair and its map in a plan's memory, as kernel arguments; included by host and kernels. Offsets are in
// bytes, from the start of that memory.
#ifndef PARALLAX_OPENCL_TYPES
#define PARALLAX_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/driver.h"

namespace parallax::opencl {
#endif

// Rows without gaps, in the depth of the plan's format.
typedef struct {
  cl_long image[2];  // [left, right]
  cl_long mask[2];   // a byte for each pixel; negative = valid everywhere
  cl_int channels[2];
  cl_long costs;  // the caller's data costs, floats [row][column][label], if the plan takes them
} Pair;

// Strides are in elements.
typedef struct {
  cl_long disparity, stride;
  cl_long status, status_stride;
  cl_long confidence, confidence_stride;  // negative = not wanted
  cl_int width, height;
} Map;

#ifdef __cplusplus
}
#endif

#endif
