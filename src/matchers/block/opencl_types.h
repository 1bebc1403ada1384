// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of block matching on OpenCL; included by host and kernels. Offsets are those of
// pixel (0, 0), in bytes from the start of the plan's memory; strides are in elements.
#ifndef PARALLAX_BLOCK_OPENCL_TYPES
#define PARALLAX_BLOCK_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::block {
#endif

// The images in the form that is compared: filtered, and extended by repeating their border pixels: `before`
// columns, `radius` rows, and as many columns as fill the stride.
typedef struct {
  cl_long gray[2], gray_stride;
  cl_long filtered[2], stride;
  cl_long responses;  // left image's responses, plus cap; negative = not wanted
  // A byte for each pixel: 1 where the image has a valid pixel. Zeros lie beside the columns of the image.
  cl_long validity[2], validity_stride;
  // Statistics of ZNCC: Σ and 1/√(n·Σ² − (Σ)²) of a window, as two doubles.
  cl_long statistics[2], statistics_stride;
  // Strips only: each pixel's key, and that of the cheapest label not beside the best; negative = not wanted.
  cl_long keys[2], rivals, key_stride;
  cl_int width, height;
  cl_int before, radius;
  cl_int cap;
} OpenclImages;

typedef struct {
  cl_int lowest, labels;
  cl_int texture_threshold;
  cl_int masked[2];             // whether the image has a mask at all
  cl_long right, right_stride;  // the right map
} OpenclSearch;

#ifdef __cplusplus
}
#endif

#endif
