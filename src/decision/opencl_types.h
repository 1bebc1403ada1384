// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels that decide, on OpenCL; included by host and kernels. Offsets are in bytes, of pixel
// (0, 0), from the start of the plan's memory; strides in elements.
#ifndef PARALLAX_DECISION_OPENCL_TYPES
#define PARALLAX_DECISION_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::decision {
#endif

// Destination of decisions. Negative offsets: not wanted.
typedef struct {
  cl_long disparity, stride;
  cl_long status, status_stride;
  cl_long before, before_stride;  // the status before matching
  cl_int mirrored;                // the right map, in integer disparities
  cl_int min_disparity, labels, sub_pixel;
} OpenclDecision;

#ifdef __cplusplus
}
#endif

#endif
