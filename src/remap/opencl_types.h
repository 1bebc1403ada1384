// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernel of rectification on OpenCL; included by host and kernels. Offsets are in bytes.
#ifndef PARALLAX_REMAP_OPENCL_TYPES
#define PARALLAX_REMAP_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::remap {
#endif

// Both sides, [left, right]. Images have rows without gaps.
typedef struct {
  cl_long x[2], y[2], blocks[2];  // the maps, see map.h
  cl_long taps;                   // shorts [64][8]
  cl_long from[2];
  cl_long to[2], mask[2];  // in the memory of the rectified images; a negative mask = not wanted
  cl_int channels[2];
  cl_int camera_width[2], camera_height[2];
  cl_int stride;         // stride of x and y; the stride of blocks is an eighth of it
  cl_int width, height;  // size of the rectified images
} OpenclRemap;

#ifdef __cplusplus
}
#endif

#endif
