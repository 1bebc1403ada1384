// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of belief propagation on OpenCL; included by host and kernels. Offsets are in
// bytes, from the start of the plan's memory; strides in elements.
#ifndef PARALLAX_BELIEF_PROPAGATION_OPENCL_TYPES
#define PARALLAX_BELIEF_PROPAGATION_OPENCL_TYPES

#ifdef __cplusplus
#include "devices/opencl/types.h"

namespace parallax::belief_propagation {
#endif

// Both images, and what data costs and edges need of the pair that is matched: the given one, or the mirrored
// one, where both images are mirrored and swapped.
typedef struct {
  cl_int width, height;
  // Of the given pair, [side][plane][row]: samples in 256ths of a gray level, the last plane is gray.
  cl_long samples[2], half_smoothed[2];
  cl_long stride;
  cl_int planes;
  cl_long weights;  // of the Gaussian: `radius` + 1 uints
  cl_int radius;
  // Of the matched pair. A row has its even columns, then its odd ones; FEATURE_PLANES planes of features each, and
  // a byte that is 1 where the image has a valid pixel. Column c is element c / 2; no pixel is valid in the
  // elements on both sides of them.
  cl_long features[2], validity[2];
  cl_long feature_stride;
  cl_long gray;    // of the left image, ushorts in rows of `stride`
  cl_long status;  // of its pixels before matching, bytes in rows of `stride`
  cl_int mirrored;
} OpenclImages;

typedef struct {
  cl_int min_disparity;
  cl_int differences;  // that count
  cl_float scale;
  cl_int has_outside;
  cl_float outside;
  cl_long volume;  // the caller's costs, [row][column][label]
  cl_float volume_scale, volume_limit;
} OpenclCosts;

// A level that considers all labels. Of each colour: rows of `pitch` values of neighbouring pixels, of which
// the last is no pixel.
typedef struct {
  cl_int width, height, labels;
  cl_long pitch;
  cl_long data[2];      // [colour], [row][label]
  cl_long messages[2];  // [colour], [direction][row + 1][label]; rows around the level send zeros
  cl_long edges;        // [colour][row][direction][slope, truncation]; negative = alike everywhere
} OpenclLevel;

// A level where tiles consider candidate labels. A word holds the four pixels of one colour in a row of a tile.
typedef struct {
  cl_int width, height, labels;
  cl_int across;        // tiles in a row of them
  cl_long data[2];      // [colour], [tile][slot][row]
  cl_long messages[2];  // [colour], [tile][slot][direction][row]
  cl_long edges;        // [colour][tile][direction][slope, truncation][row]; negative = alike everywhere
  cl_long ranges;       // [tile]: see opencl_tiles.cl
  cl_long slots;        // [tile][slot]
} OpenclTiles;

// Where the edges of a level are found.
typedef struct {
  cl_int width, height;
  cl_long gray, stride;
  cl_long table;  // a uint for each difference: the slope, and in the upper half the truncation
  cl_long edges;
  cl_long pitch;  // of an OpenclLevel; 0: edges are those of OpenclTiles
  cl_int value_bits;
} OpenclEdges;

typedef struct {
  cl_int slope, truncation;  // where all edges have the same
  cl_int reach;              // shares of labels that a message travels until it meets its bound
} OpenclSmoothness;

// The labels that pixels of a level believe most: ushorts, in rows without gaps.
typedef struct {
  cl_int width, height;
  cl_long labels;
} OpenclLabels;

// Where decisions go. Negative offsets: not wanted.
typedef struct {
  cl_long disparity, stride;
  cl_long status, status_stride;
  cl_long confidence, confidence_stride;
  cl_long before, before_stride;  // the status before matching
  cl_int mirrored;                // the right map, in integer disparities
  cl_int min_disparity, labels, sub_pixel;
  cl_float min_confidence;
  cl_float full_gap;  // the gap that gives confidence one half
} OpenclDecision;

#ifdef __cplusplus
}
#endif

#endif
