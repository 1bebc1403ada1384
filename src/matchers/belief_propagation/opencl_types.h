// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of belief propagation on OpenCL; included by host and kernels. Offsets are in
// bytes, from the start of the plan's memory; strides in elements.
#ifndef PARALLAX_BELIEF_PROPAGATION_OPENCL_TYPES
#define PARALLAX_BELIEF_PROPAGATION_OPENCL_TYPES

#ifdef __cplusplus
#include "decision/opencl_types.h"
#include "devices/opencl/types.h"

namespace parallax::belief_propagation {
using decision::OpenclDecision;
#endif

// A level that considers all labels. Each colour has rows of `pitch` values of neighbouring pixels, in
// groups of PIXELS; the last element is no pixel. On a processor, a label's groups are neighbours in
// memory: rows are [label][group]; on a GPU, a group's labels are: [group][label], see LABEL_AT() in
// opencl_values.cl.
typedef struct {
  cl_int width, height, labels;
  cl_int stored_labels;  // at least `labels`
  cl_long pitch;
  cl_long data[2];      // [colour], rows
  cl_long messages[2];  // [colour], [direction][row + 1]; rows around the level send zeros
  cl_long edges;        // [colour][row][direction][slope, truncation]; negative = the same everywhere
} OpenclLevel;

// A level whose tiles consider candidate labels. A word holds the four pixels of one colour in a row of a
// tile.
typedef struct {
  cl_int width, height, labels;
  cl_int across;        // tiles in a row of tiles
  cl_long data[2];      // [colour], [tile][slot][row]
  cl_long messages[2];  // [colour], [tile][slot][direction][row]
  cl_long edges;        // [colour][tile][direction][slope, truncation][row]; negative = the same everywhere
  cl_long ranges;       // [tile]: see opencl_tiles.cl
  cl_long slots;        // [tile][slot]
} OpenclTiles;

// Levels of which edges are found, as many as one kernel takes.
#define EDGE_LEVELS 8
typedef struct {
  cl_int width, height;
  cl_long gray, stride;
  cl_long edges;
  cl_long pitch;  // pitch of an OpenclLevel; 0: the edges are those of OpenclTiles
} OpenclEdges;
typedef struct {
  OpenclEdges of[EDGE_LEVELS];
  cl_int count;
  cl_int value_bits;
  cl_long table;  // a uint for each difference: the slope, and in the upper half the truncation
} OpenclEdgeLevels;

// The pairs that a kernel matches: from `first` on, as many as the global size says. 0 = the given pair, 1 =
// the mirrored one. Offsets are those of pair 0.
typedef struct {
  cl_int first;
  cl_long apart;        // bytes from the levels of pair 0 to those of pair 1
  cl_long tiles_apart;  // the same for data costs, messages, ranges and slots of tiles
} OpenclPairs;

// Data costs that are found from the image: see opencl_image_costs.cl.
typedef struct {
  cl_long has_data;  // bytes that are 1 where a left pixel has data costs, laid out like the validity
  cl_int side;       // pixels of the image along a side of a pixel of the level
} OpenclImageCosts;

// Destinations of the given pair's decisions, and of the mirrored pair's.
typedef struct {
  OpenclDecision of[2];
} OpenclDecisions;

typedef struct {
  cl_int slope, truncation;  // used if all edges have the same
  cl_int reach;              // number of shares that a message travels until it reaches its bound
} OpenclSmoothness;

// The label of each pixel's lowest belief on a level: ushorts, in rows without gaps.
typedef struct {
  cl_int width, height;
  cl_long labels;
} OpenclLabels;

#ifdef __cplusplus
}
#endif

#endif
