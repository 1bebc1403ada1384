// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of semi-global matching on OpenCL; included by host and kernels. Offsets are in
// bytes, from the start of the plan's memory; strides in elements.
#ifndef PARALLAX_SEMI_GLOBAL_OPENCL_TYPES
#define PARALLAX_SEMI_GLOBAL_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::semi_global {
#endif

// The costs of all pixels and labels: see opencl_values.cl.
typedef struct {
  cl_int width, height, labels;
  cl_int padding;  // data cost of labels beyond the last
  cl_long costs;
  cl_long paths, path_bytes;  // a volume for each path, this far apart
} OpenclVolumes;

// The steps from pixel to pixel of each path.
typedef struct {
  cl_int x[8], y[8];
  cl_int small_jump, large_jump;  // P1, and P2 where there are no edges
  cl_long large_jumps;            // P2 by the difference in gray levels, ushorts
  cl_long gray, gray_stride;
} OpenclPaths;

typedef struct {
  cl_int wants_rival;
  cl_int uniqueness;  // percent; 0 = none
  // The lowest sum of each right pixel, with its label in the lower half: uints in rows without gaps;
  // negative = not wanted.
  cl_long right;
  cl_int only_winners;  // whether only the left pixels' decisions are offered to right pixels
} OpenclSums;

// The right map from the sums of the left image.
typedef struct {
  cl_long disparity, stride;
  cl_long mask;  // mask of the right image; negative = valid everywhere
  cl_long right;
  cl_int width, min_disparity;
} OpenclRightMap;

#ifdef __cplusplus
}
#endif

#endif
