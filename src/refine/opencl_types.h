// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of guided steps on OpenCL; included by host and kernels. Offsets are in bytes, of
// pixel (0, 0), from the start of the plan's memory; strides in elements.
#ifndef PARALLAX_REFINE_OPENCL_TYPES
#define PARALLAX_REFINE_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::refine {
#endif

// See guide.h.
typedef struct {
  cl_long from, stride;  // a copy of the map with "no value" around it
  cl_long guide, guide_stride;
  cl_long gray;      // a byte for each difference: weights
  cl_long distance;  // two bytes for each place in the window: weights of the bilateral filter
  cl_float step;     // of the bilateral filter, in pixels
} OpenclGuidedStep;

#ifdef __cplusplus
}
#endif

#endif
