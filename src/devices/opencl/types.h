// SPDX-License-Identifier: Apache-2.0
// A pair and its map in the memory of a plan, as the host tells them to kernels; included by both. Offsets
// are in bytes, from the start of that memory.
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
