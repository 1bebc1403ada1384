// SPDX-License-Identifier: Apache-2.0
// Converts the pair to the inputs of data costs and edges.
//
// Specialised by SAMPLE (uchar, ushort) of the pair, LANES (pixels of a work item that finds features),
// CENSUS_TOLERANCE (in 256ths of a gray level), and by the macros of opencl_features.cl.

// Samples of the given pair: one work item per pixel, global size z = 2 sides.
kernel void take(global uchar* memory, Pair pair, OpenclInputs inputs) {
  const int x = get_global_id(0), side = get_global_id(2);
  const long y = get_global_id(1);
  if (x >= inputs.width) return;
  const int channels = EITHER(pair.channels, side);
  const global SAMPLE* from =
      (const global SAMPLE*)(memory + EITHER(pair.image, side)) + (y * inputs.width + x) * channels;
  global ushort* to = (global ushort*)(memory + EITHER(inputs.samples, side)) + y * inputs.stride + x;
  for (int plane = 0; plane < inputs.planes; ++plane) {
    const bool is_gray = channels == 3 && plane == inputs.planes - 1;
    const uint value = is_gray         ? (9797u * from[0] + 19234u * from[1] + 3737u * from[2]) >> 15
                       : channels == 3 ? from[plane]
                                       : from[0];
    to[plane * inputs.height * inputs.stride] = sizeof(SAMPLE) == 1 ? 256 * value : value;
  }
}

// One direction of the Gaussian: one work item per pixel, global size z = 2 sides of all planes.
kernel void smooth(global uchar* memory, OpenclInputs inputs, int down) {
  const int x = get_global_id(0), y = get_global_id(1), plane = get_global_id(2);
  if (x >= inputs.width) return;
  const int side = plane / inputs.planes;
  const long start = plane % inputs.planes * inputs.height * inputs.stride;
  const global ushort* in = (const global ushort*)(memory + (down ? EITHER(inputs.half_smoothed, side)
                                                                  : EITHER(inputs.samples, side))) +
                            start;
  global ushort* out =
      (global ushort*)(memory + (down ? EITHER(inputs.samples, side) : EITHER(inputs.half_smoothed, side))) +
      start;
  const global uint* weights = (const global uint*)(memory + inputs.weights);
  uint sum = 32768;
  for (int i = -inputs.radius; i <= inputs.radius; ++i) {
    const int u = clamp(down ? x : x + i, 0, inputs.width - 1),
              v = clamp(down ? y + i : y, 0, inputs.height - 1);
    sum += weights[abs(i)] * in[v * inputs.stride + u];
  }
  out[y * inputs.stride + x] = sum >> 16;
}

// Row y of a plane of the matched pair, in the order of the given image.
static const global ushort* samples_of(const global uchar* memory, const OpenclInputs* inputs, int mirrored,
                                       int side, int plane, int y) {
  const long row = (long)plane * inputs->height + clamp(y, 0, inputs->height - 1);
  return (const global ushort*)(memory + EITHER(inputs->samples, side ^ mirrored)) + row * inputs->stride;
}

// Column x of the matched pair in the given image; border samples are repeated.
static int column_of(const OpenclInputs* inputs, int mirrored, int x) {
  const int column = clamp(x, 0, inputs->width - 1);
  return mirrored ? inputs->width - 1 - column : column;
}

#if COST == CENSUS || COST == CENSUS_OF_OPPOSITES
#define REACH_X 4
#elif COST == GRADIENT_BIRCHFIELD_TOMASI
#define REACH_X 2
#elif COST == BIRCHFIELD_TOMASI
#define REACH_X 1
#else
#define REACH_X 0
#endif

// Loads the samples of one row that the features of a work item's pixels need.
static void load_row(const global uchar* memory, const OpenclInputs* inputs, int mirrored, int side,
                     int plane, int x, int y, ushort* row) {
  const int count = LANES + 2 * REACH_X, first = x - REACH_X, last = inputs->width - 1 - first;
  const global ushort* samples = samples_of(memory, inputs, mirrored, side, plane, y);
  if (first < 0 || first + count > inputs->width)
    for (int i = 0; i < count; ++i) row[i] = samples[column_of(inputs, mirrored, first + i)];
  else if (mirrored)
    for (int i = 0; i < count; ++i) row[i] = samples[last - i];
  else
    for (int i = 0; i < count; ++i) row[i] = samples[first + i];
}

#if COST == BIRCHFIELD_TOMASI || COST == GRADIENT_BIRCHFIELD_TOMASI
// Birchfield & Tomasi 1998: values, and the lowest and highest within half a pixel. Those of pixel i are
// around element i + `reach` of the row.
static void find_ranges(const ushort* row, int reach, FEATURE features[3][LANES]) {
  for (int i = 0; i < LANES; ++i) {
    const ushort* at = row + i + reach;
    const ushort here = at[0], before = (at[-1] + here + 1) / 2, after = (here + at[1] + 1) / 2;
    features[0][i] = here;
    features[1][i] = min(here, min(before, after));
    features[2][i] = max(here, max(before, after));
  }
}
#endif

#if COST == GRADIENT_BIRCHFIELD_TOMASI
// Horizontal Sobel gradients, cut at ±15 gray levels, which are then added; none at the borders of a row.
// The gradient of pixel i is element i + 1.
static void find_gradients(const OpenclInputs* inputs, ushort rows[3][LANES + 2 * REACH_X], int x,
                           ushort* gradients) {
  const int steepest = 15 * 256;
  for (int i = 0; i < LANES + 2; ++i) {
    const int sum =
        rows[0][i + 2] - rows[0][i] + 2 * (rows[1][i + 2] - rows[1][i]) + rows[2][i + 2] - rows[2][i];
    const bool is_inside = x + i - 1 > 0 && x + i - 1 < inputs->width - 1;
    gradients[i] = (is_inside ? clamp(sum, -steepest, steepest) : 0) + steepest;
  }
}
#endif

// Bits of a signature that are collected at once: a processor has vectors of bytes, a GPU shifts a sign bit
// into a word.
#if LANES > 4
typedef uchar CensusBits;
#define IS_NEGATIVE(value) ((value) < 0)
#else
typedef uint CensusBits;
#define IS_NEGATIVE(value) ((uint)(value) >> 31)
#endif

static void find_features(const global uchar* memory, const OpenclInputs* inputs, int mirrored, int side,
                          int x, int y, FEATURE features[FEATURE_PLANES][LANES]) {
#if COST == CENSUS
  // Zabih & Woodfill 1994: which of the 62 neighbours in a 9×7 window are darker than the centre; see
  // census_bit() in data_cost.h.
  ushort middle[LANES + 2 * REACH_X], other[LANES + 2 * REACH_X];
  CensusBits bits[LANES];
  load_row(memory, inputs, mirrored, side, inputs->planes - 1, x, y, middle);
  for (int i = 0; i < LANES; ++i) features[0][i] = bits[i] = 0;
#pragma unroll
  for (int n = 0; n < 63; ++n) {
    const ushort* row = n / 9 == 3 ? middle : other;
    if (n % 9 == 0 && row == other)
      load_row(memory, inputs, mirrored, side, inputs->planes - 1, x, y + n / 9 - 3, other);
    const int kind = CENSUS_TOLERANCE == 0 ? 0 : (abs(n % 9 - 4) + n / 9) % 3;
    for (int i = 0; i < LANES; ++i) {
      const int difference = (int)row[i + n % 9] - middle[i + REACH_X];
      const int negative_if_counts = kind == 0   ? difference
                                     : kind == 1 ? difference + CENSUS_TOLERANCE
                                                 : CENSUS_TOLERANCE - difference;
      bits[i] = bits[i] << 1 | IS_NEGATIVE(negative_if_counts);
    }
    const int bits_at_once = 8 * sizeof(CensusBits);
    if ((n + 1) % bits_at_once != 0 && n != 62) continue;
    for (int i = 0; i < LANES; ++i) {
      features[0][i] = features[0][i] << bits_at_once | bits[i];
      bits[i] = 0;
    }
  }
#elif COST == CENSUS_OF_OPPOSITES
  // For each pair of opposite pixels in a 9×7 window, whether the first one, row by row, is brighter.
  ushort window[7][LANES + 2 * REACH_X];
#pragma unroll
  for (int j = 0; j < 7; ++j)
    load_row(memory, inputs, mirrored, side, inputs->planes - 1, x, y + j - 3, window[j]);
  for (int i = 0; i < LANES; ++i) features[0][i] = 0;
#pragma unroll
  for (int n = 0; n < 31; ++n)
    for (int i = 0; i < LANES; ++i)
      features[0][i] =
          features[0][i] << 1 | (window[n / 9][i + n % 9] > window[6 - n / 9][i + 8 - n % 9] ? 1 : 0);
#elif COST == GRADIENT_BIRCHFIELD_TOMASI
  ushort rows[3][LANES + 2 * REACH_X], gradients[LANES + 2];
#pragma unroll
  for (int j = 0; j < 3; ++j)
    load_row(memory, inputs, mirrored, side, inputs->planes - 1, x, y + j - 1, rows[j]);
  find_gradients(inputs, rows, x, gradients);
  find_ranges(gradients, 1, features);
  find_ranges(rows[1], REACH_X, features + 3);
#elif COST == BIRCHFIELD_TOMASI
  ushort row[LANES + 2 * REACH_X];
  load_row(memory, inputs, mirrored, side, inputs->planes - 1, x, y, row);
  find_ranges(row, REACH_X, features);
#else
  // The samples of all three channels, or the gray samples.
  for (int plane = 0; plane < FEATURE_PLANES; ++plane)
    load_row(memory, inputs, mirrored, side, FEATURE_PLANES == 1 ? inputs->planes - 1 : plane, x, y,
             features[plane]);
#endif
}

// Writes the features of the matched pairs, their validity, and their gray images. A work item has LANES
// pixels of a row; global size z = 2 sides of each pair, from `first` on.
kernel void find_inputs(global uchar* memory, Pair pair, OpenclInputs inputs, int first) {
  const int x = LANES * get_global_id(0), side = get_global_id(2) % 2,
            mirrored = first + get_global_id(2) / 2;
  const long y = get_global_id(1);
  if (x >= inputs.width) return;
  const long mask = EITHER(pair.mask, side ^ mirrored);
  FEATURE features[FEATURE_PLANES][LANES];
  find_features(memory, &inputs, mirrored, side, x, y, features);
  const global ushort* gray = samples_of(memory, &inputs, mirrored, side, inputs.planes - 1, y);
  global uchar* to = memory + mirrored * inputs.apart;
  for (int i = 0; i < LANES && x + i < inputs.width; ++i) {
    const long column = column_of(&inputs, mirrored, x + i);
    const int part = (x + i) % PARTS, at = (x + i) / PARTS;
    for (int plane = 0; plane < FEATURE_PLANES; ++plane)
      features_at(to, &inputs, side, y, part, plane)[at] = features[plane][i];
    validity_at(to, &inputs, side, y, part)[at] = mask < 0 || memory[mask + y * inputs.width + column] != 0;
    if (side == 0) ((global ushort*)(to + inputs.gray))[y * inputs.stride + x + i] = gray[column];
  }
}
