// SPDX-License-Identifier: Apache-2.0
// Addresses of the features of pixels.
//
// Specialised by COST (a DataCost), FEATURE (ulong, uint, ushort), FEATURE_PLANES, and PARTS of a row: see
// OpenclInputs.

// Values of DataCost.
#define COLOUR 1
#define CENSUS 2
#define BIRCHFIELD_TOMASI 3
#define VOLUME 4
#define CENSUS_OF_OPPOSITES 6
#define GRADIENT_BIRCHFIELD_TOMASI 7

// A part of a row of the matched pair: a plane of its features, and its validity.
static global FEATURE* features_at(global uchar* memory, const OpenclInputs* inputs, int side, long y,
                                   int part, int plane) {
  return (global FEATURE*)(memory + inputs->features[side]) +
         ((y * PARTS + part) * FEATURE_PLANES + plane) * inputs->feature_stride;
}

static global uchar* validity_at(global uchar* memory, const OpenclInputs* inputs, int side, long y,
                                 int part) {
  return memory + inputs->validity[side] + (y * PARTS + part) * inputs->feature_stride;
}

// The inputs of a pair, 0 = the given one or 1 = the mirrored one, from those of the given pair. A copy, because
// some devices pass one argument to all work items.
static OpenclInputs inputs_of_pair(const OpenclInputs* given, int pair) {
  OpenclInputs inputs = *given;
  const long bytes = pair * inputs.apart;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    inputs.features[side] += bytes;
    inputs.validity[side] += bytes;
  }
  inputs.gray += bytes;
  inputs.status += bytes;
  inputs.mirrored = pair;
  return inputs;
}
