// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of census matching on OpenCL; included by host and kernels. Offsets are those of
// pixel (0, 0), in bytes from the start of the plan's memory; strides are in elements.
#ifndef PARALLAX_CENSUS_OPENCL_TYPES
#define PARALLAX_CENSUS_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::census {
#endif

// A level of the pyramids of both images, [side].
typedef struct {
  cl_long gray[2], validity[2];  // validity: a byte for each pixel, not 0 = valid
  // Rows of PLANES planes of words, or of bytes on a processor: bit i of a signature is bit i mod (8 · size)
  // of plane i / (8 · size). For AD-census, the last plane has 8-bit gray values. On a processor, rows repeat
  // their border beside the image: `before` columns, and as many as fill the stride.
  cl_long signatures[2];
  cl_long disparities[2];  // for levels above the image: ints, or no_disparity
  cl_long stride;          // stride of gray, validity, disparities
  cl_long signature_stride;
  cl_int width, height;
} OpenclLevel;

// The maximum number of levels that a launch makes or describes. More would not fit in a kernel's arguments
// on every device.
#define PARALLAX_CENSUS_LEVELS 3

typedef struct {
  OpenclLevel levels[PARALLAX_CENSUS_LEVELS];
  cl_int count;
  cl_int first_tile[PARALLAX_CENSUS_LEVELS + 1];  // first tiles of the described levels
} OpenclLevels;

// The transform, as an argument of kernels.
typedef struct {
  cl_int bits, planes;   // size of a signature; see OpenclLevel
  cl_int with_gray;      // whether the last plane has 8-bit gray values
  cl_int columns, rows;  // size of the window
  cl_int sparse;         // whether only every second row and column counts
  cl_int modified;       // whether pixels are compared with the mean
} OpenclTransform;

// The search of one level.
typedef struct {
  OpenclLevel level, above;  // above: its width is 0 if there is none
  cl_int is_image;           // whether this is the image; otherwise a level above it
  cl_int lowest, labels;
  cl_int search_radius, uniqueness, ad_truncation;
  cl_int masked[2];             // whether the image has a mask at all
  cl_long right, right_stride;  // the right map
} OpenclSearch;

#ifdef __cplusplus
}
#endif

#endif
