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

// A part of a row of the matched pair: a plane of its features, and its validity. `memory`: that of the given
// pair, or as much later as the mirrored pair's inputs are.
static global FEATURE* features_at(global uchar* memory, const OpenclInputs* inputs, int side, long y,
                                   int part, int plane) {
  return (global FEATURE*)(memory + EITHER(inputs->features, side)) +
         ((y * PARTS + part) * FEATURE_PLANES + plane) * inputs->feature_stride;
}

static global uchar* validity_at(global uchar* memory, const OpenclInputs* inputs, int side, long y,
                                 int part) {
  return memory + EITHER(inputs->validity, side) + (y * PARTS + part) * inputs->feature_stride;
}
