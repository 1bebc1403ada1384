// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of data costs on OpenCL; included by host and kernels. Offsets are in bytes, from
// the start of the plan's memory; strides in elements.
#ifndef PARALLAX_DATA_COST_OPENCL_TYPES
#define PARALLAX_DATA_COST_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::data_cost {
#endif

// Both images, and the inputs of data costs and edges of the matched pair: the given one, or the mirrored
// one, in which both images are mirrored and exchanged.
typedef struct {
  cl_int width, height;
  // Samples of the given pair, [side][plane][row], in 256ths of a gray level; the last plane is gray.
  cl_long samples[2], half_smoothed[2];
  cl_long stride;
  cl_int planes;
  cl_long weights;  // weights of the Gaussian: `radius` + 1 uints
  cl_int radius;
  // Features of the matched pair. A row has PARTS parts: column c is element c / PARTS of part c % PARTS.
  // Each part has FEATURE_PLANES planes of features, and bytes that are 1 where the image has a valid pixel.
  // No pixel is valid in the elements on both sides of them.
  cl_long features[2], validity[2];
  cl_long feature_stride;
  cl_long gray;    // the left gray image, ushorts in rows of `stride`
  cl_long status;  // status of the left image's pixels before matching, bytes in rows of `stride`
  cl_int mirrored;
  cl_long apart;  // bytes from the inputs of the given pair to those of the mirrored one; 0: the same place
} OpenclInputs;

typedef struct {
  cl_int min_disparity;
  cl_int differences;  // larger differences count as this one
  cl_float scale;
  cl_int per_bit;  // cost of a bit in units, if costs are proportional to differences in bits; else 0
  cl_int has_outside;
  cl_float outside;
  cl_long volume;  // the caller's costs, [row][column][label]
  cl_float volume_scale, volume_limit;
} OpenclCosts;

#ifdef __cplusplus
}
#endif

#endif
