// SPDX-License-Identifier: Apache-2.0
// Data costs of a pixel and a label.
//
// Specialised by the macros of opencl_features.cl.

// The features of a pixel.
typedef struct {
  FEATURE of[FEATURE_PLANES];
} Features;

// Element i of all planes.
#define FEATURES(name, planes, i) \
  Features name;                  \
  _Pragma("unroll") for (int plane = 0; plane < FEATURE_PLANES; ++plane) name.of[plane] = (planes)[plane][i];

// The distance from a value to a range.
INLINE int distance_from(int value, int low, int high) {
  return max(0, max(value - high, low - value));
}

// Distance between pixels with three planes each: value, and the lowest and highest around it.
INLINE int distance_of_ranges(const FEATURE* left, const FEATURE* right) {
  return min(distance_from(left[0], right[1], right[2]), distance_from(right[0], left[1], left[2]));
}

#if COST == CENSUS || COST == CENSUS_OF_OPPOSITES
typedef uchar Difference;  // in bits
#define DIFFERENCE_SCALE 256
#else
typedef int Difference;  // in 256ths of a gray level
#define DIFFERENCE_SCALE 1
#endif

INLINE Difference difference(Features left, Features right) {
#if COST == CENSUS || COST == CENSUS_OF_OPPOSITES
  return popcount(left.of[0] ^ right.of[0]);
#elif COST == BIRCHFIELD_TOMASI
  return distance_of_ranges(left.of, right.of);
#elif COST == GRADIENT_BIRCHFIELD_TOMASI
  return distance_of_ranges(left.of, right.of) + distance_of_ranges(left.of + 3, right.of + 3) / 4;
#elif COST == COLOUR
  const uint third = 21845;  // 1/3 in units of 1/65536
  uint sum = 0;
#pragma unroll
  for (int plane = 0; plane < 3; ++plane)
    sum += abs((int)left.of[plane] - (int)right.of[plane]) * third >> 16;
  return sum;
#else
  return abs((int)left.of[0] - (int)right.of[0]);
#endif
}

// The cost in units, not rounded.
INLINE float cost_of(const OpenclCosts* costs, Difference difference) {
  return (float)min(DIFFERENCE_SCALE * difference, costs->differences) * costs->scale;
}

// The caller's cost of a label of column x, in units, not rounded; of the mirrored pair, that of the right
// pixel.
static float volume_cost(const global uchar* memory, const OpenclInputs* inputs, int mirrored,
                         const OpenclCosts* costs, int x, long y, int label, int labels) {
  const int right = x - costs->min_disparity - label;
  const int column = clamp(mirrored ? inputs->width - 1 - right : x, 0, inputs->width - 1);
  const long pixel = y * inputs->width + column;
  const float units =
      ((const global float*)(memory + costs->volume))[pixel * labels + label] * costs->volume_scale;
  const float bounded = units < costs->volume_limit ? units : costs->volume_limit;
  return bounded > -costs->volume_limit ? bounded : -costs->volume_limit;
}
