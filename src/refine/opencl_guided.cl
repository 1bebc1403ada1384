// SPDX-License-Identifier: Apache-2.0
// Guided steps on OpenCL: the same results as weighted_median.cpp and bilateral.cpp.
//
// Specialised by BILATERAL (which of the two), WINDOW, and LANES of a vector of pixels (1, 2, 4, 16).

#define RADIUS (WINDOW / 2)
#define WINDOW_PIXELS (WINDOW * WINDOW)

#if LANES == 1
typedef float Floats;
typedef int Integers;
typedef uint Unsigned;
#define LOAD(from) (*(from))
#define ANY(condition) (condition)
#define TO_FLOATS convert_float
#define TO_UNSIGNED convert_uint
#define TO_INTEGERS convert_int
#define NEAREST convert_int_rte
static void store(Floats values, global float* to, int count) {
  *to = values;
}
#else
typedef OF_LANES(float) Floats;
typedef OF_LANES(int) Integers;
typedef OF_LANES(uint) Unsigned;
#define LOAD(from) OF_LANES(vload)(0, from)
#define ANY any
#define TO_FLOATS OF_LANES(convert_float)
#define TO_UNSIGNED OF_LANES(convert_uint)
#define TO_INTEGERS OF_LANES(convert_int)
#define NEAREST JOINED(OF_LANES(convert_int), _rte)
static void store(Floats values, global float* to, int count) {
  if (count >= LANES) {
    OF_LANES(vstore)(values, 0, to);
    return;
  }
  float all[LANES];
  OF_LANES(vstore)(values, 0, all);
  for (int i = 0; i < count; ++i) to[i] = all[i];
}
#endif

// The first pixel of a work item, and the weights of its neighbours.
typedef struct {
  const global float* values;
  const global uchar* levels;
  const global uchar* gray;
  const global ushort* distance;
  long stride, level_stride;
  float step;
} Centre;

static Floats value_at(const Centre* centre, int row, int column) {
  return LOAD(centre->values + (row - RADIUS) * centre->stride + (column - RADIUS));
}

// The weight of a neighbour, by its gray level.
static Integers weight_at(const Centre* centre, int row, int column) {
  const global uchar* there = centre->levels + (row - RADIUS) * centre->level_stride + (column - RADIUS);
#if LANES == 1
  return centre->gray[abs_diff(*there, *centre->levels)];
#else
  int weights[LANES];
  for (int i = 0; i < LANES; ++i) weights[i] = centre->gray[abs_diff(there[i], centre->levels[i])];
  return OF_LANES(vload)(0, weights);
#endif
}

// Loops over `row` and `column` of the window, and `place`, row by row.
#define FOR_WINDOW                                  \
  for (int place = 0, row = 0; row < WINDOW; ++row) \
    for (int column = 0; column < WINDOW; ++column, ++place)

#define NO_WEIGHT ((Integers)0)

#if BILATERAL
#define FILTER bilateral

// See nearest_quotient() in refine.h.
static Integers nearest_quotient(Integers sum, Integers weights) {
  const Unsigned all = TO_UNSIGNED(max(weights, 1));
  const Unsigned nearest = (2u * abs(sum) + all) / (2u * all);
  const Integers size = TO_INTEGERS(nearest);
  return sum < 0 ? -size : size;
}

static Floats filtered(const Centre* centre, Floats here) {
  const float shift_unit = 256.0f;
  Integers sum = 0, all = 0;
  FOR_WINDOW {
    const Floats difference = value_at(centre, row, column) - here;
    const Integers counts = fabs(difference) <= centre->step;
    const int distance = centre->distance[place];
    const Integers weight = counts ? weight_at(centre, row, column) * distance >> 8 : NO_WEIGHT;
    sum += weight * NEAREST((counts ? difference : (Floats)0.0f) * shift_unit);
    all += weight;
  }
  return here + TO_FLOATS(nearest_quotient(sum, all)) * (1.0f / shift_unit);
}

#else
#define FILTER weighted_median

// A processor keeps the weights of the window. A GPU has too few registers, and looks them up for each pivot.
#if LANES == 1
#define KEPT_WEIGHTS 1
#define WEIGHT weight_at(centre, row, column)
#else
#define KEPT_WEIGHTS WINDOW_PIXELS
#define WEIGHT weights[place]
#endif

typedef struct {
  Floats low, high;
} Bounds;

// `b` may be NaN, for which min() is undefined; the result is then `a`.
static Floats lower(Floats a, Floats b) {
  return b < a ? b : a;
}

// Weighted median by bisection, as in weighted_median.cpp. Lanes without a value in `here` do not take part.
static Floats filtered(const Centre* centre, Floats here) {
  const Floats none = NO_VALUE;
  Integers weights[KEPT_WEIGHTS];
  Integers all = 0;
  Bounds bounds = {none, -none};
  FOR_WINDOW {
    const Floats value = value_at(centre, row, column);
    const Integers counts = value < none;
    const Integers weight = weight_at(centre, row, column);
    if (KEPT_WEIGHTS > 1) weights[place] = weight;
    all += counts ? weight : NO_WEIGHT;
    bounds.low = lower(bounds.low, value);
    bounds.high = counts ? max(bounds.high, value) : bounds.high;
  }
  const Integers takes_part = here < none;
  bounds.low = takes_part ? bounds.low : none;
  bounds.high = takes_part ? bounds.high : none;
  const Integers enough = (all + 1) >> 1;
  for (Integers open = bounds.low < bounds.high; ANY(open); open = bounds.low < bounds.high) {
    const Floats middle = 0.5f * (bounds.low + bounds.high);
    const Integers between = middle >= bounds.low && middle < bounds.high;
    const Floats pivot = between ? middle : bounds.low;
    Integers sum = 0;
    Bounds beside = {none, -none};
    FOR_WINDOW {
      const Floats value = value_at(centre, row, column);
      const Integers up_to = value <= pivot;
      sum += up_to ? WEIGHT : NO_WEIGHT;
      beside.high = up_to ? max(beside.high, value) : beside.high;
      beside.low = up_to ? beside.low : lower(beside.low, value);
    }
    const Integers reaches = sum >= enough;
    bounds.high = open && reaches ? beside.high : bounds.high;
    bounds.low = open && !reaches ? beside.low : bounds.low;
  }
  return bounds.low;
}
#endif

// One work item per LANES pixels of a row; pixels without a value are unchanged.
kernel void FILTER(global uchar* memory, Map map, OpenclGuidedStep step) {
  const int x = LANES * get_global_id(0);
  const long y = get_global_id(1);
  if (x >= map.width) return;
  const Centre centre = {(const global float*)(memory + step.from) + y * step.stride + x,
                         memory + step.guide + y * step.guide_stride + x,
                         memory + step.gray,
                         (const global ushort*)(memory + step.distance),
                         step.stride,
                         step.guide_stride,
                         step.step};
  const Floats here = LOAD(centre.values);
  const Floats result = here < (Floats)NO_VALUE ? filtered(&centre, here) : here;
  store(result, (global float*)(memory + map.disparity) + y * map.stride + x, map.width - x);
}
