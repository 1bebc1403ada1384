// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels on OpenCL; included by host and kernels. Offsets are those of pixel (0, 0), in bytes
// from the start of the plan's memory; strides are in elements.
#ifndef PARALLAX_REFINE_OPENCL_TYPES
#define PARALLAX_REFINE_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::refine {
#endif

// Arguments of guided filters: see guide.h.
typedef struct {
  cl_long from, stride;  // a copy of the map with "no value" around it
  cl_long guide, guide_stride;
  cl_long gray;      // weights: one byte for each difference
  cl_long distance;  // weights of the bilateral filter: two bytes for each position in the window
  cl_float step;     // bilateral filter only, in pixels
} OpenclGuidedStep;

// Arguments of Fill::directions.
typedef struct {
  cl_long guide, guide_stride;
  cl_long candidates;  // two floats for each pixel: the best weight so far, and its value
  cl_int reach;        // rows up and down
} OpenclFill;

// See FittedPlane in planes.h.
typedef struct {
  cl_int base, a, b, c;
} OpenclPlane;

// A superpixel of Fill::planes: its centre, and its plane if it has one. See planes.h.
typedef struct {
  cl_int x, y, colour[3];
  cl_int has_plane;
  OpenclPlane plane;
  cl_int lowest, highest;  // range of its samples' values
} OpenclSuperpixel;

// Arguments of Fill::planes.
typedef struct {
  cl_long image;        // the left image
  cl_long joined;       // see PlaneFill in planes.h; cell by cell
  cl_long superpixels;  // an OpenclSuperpixel for each cell
  cl_int channels, bits;
  cl_int cells_across, cells_down;
} OpenclPlaneFill;

#ifdef __cplusplus
}
#endif

#endif
