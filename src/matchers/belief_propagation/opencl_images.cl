// SPDX-License-Identifier: Apache-2.0
// From the pair to the inputs of data costs and edges.
//
// Specialised by SAMPLE (uchar, ushort) of the pair, COST (a DataCost), FEATURE_PLANES and FEATURE (ulong, ushort),
// LANES (pixels of a work item that finds features).

#define DIRECTIONS 4
#define GRAY_CHANNEL 3

// Samples of the given pair: one work item per pixel, global size z = 2 sides.
kernel void take(global uchar* memory, Pair pair, OpenclImages images) {
  const int x = get_global_id(0), side = get_global_id(2);
  const long y = get_global_id(1);
  if (x >= images.width) return;
  const int channels = pair.channels[side];
  const global SAMPLE* from =
      (const global SAMPLE*)(memory + pair.image[side]) + (y * images.width + x) * channels;
  global ushort* to = (global ushort*)(memory + images.samples[side]) + y * images.stride + x;
  for (int plane = 0; plane < images.planes; ++plane) {
    const bool is_gray = channels == 3 && plane == images.planes - 1;
    const uint value = is_gray         ? (9797u * from[0] + 19234u * from[1] + 3737u * from[2]) >> 15
                       : channels == 3 ? from[plane]
                                       : from[0];
    to[plane * images.height * images.stride] = sizeof(SAMPLE) == 1 ? 256 * value : value;
  }
}

// One direction of the Gaussian: one work item per pixel, global size z = 2 sides of all planes.
kernel void smooth(global uchar* memory, OpenclImages images, int down) {
  const int x = get_global_id(0), y = get_global_id(1), plane = get_global_id(2);
  if (x >= images.width) return;
  const int side = plane / images.planes;
  const long start = plane % images.planes * images.height * images.stride;
  const global ushort* in =
      (const global ushort*)(memory + (down ? images.half_smoothed : images.samples)[side]) + start;
  global ushort* out =
      (global ushort*)(memory + (down ? images.samples : images.half_smoothed)[side]) + start;
  const global uint* weights = (const global uint*)(memory + images.weights);
  uint sum = 32768;
  for (int i = -images.radius; i <= images.radius; ++i) {
    const int u = clamp(down ? x : x + i, 0, images.width - 1),
              v = clamp(down ? y + i : y, 0, images.height - 1);
    sum += weights[abs(i)] * in[v * images.stride + u];
  }
  out[y * images.stride + x] = sum >> 16;
}

// Row y of a plane of the matched pair, in the order of the given image.
static const global ushort* samples_of(const global uchar* memory, const OpenclImages* images, int side,
                                       int plane, int y) {
  const long row = (long)plane * images->height + clamp(y, 0, images->height - 1);
  return (const global ushort*)(memory + images->samples[side ^ images->mirrored]) + row * images->stride;
}

// Column x of the matched pair in the given image; border samples are repeated.
static int column_of(const OpenclImages* images, int x) {
  const int column = clamp(x, 0, images->width - 1);
  return images->mirrored ? images->width - 1 - column : column;
}

#define CENSUS 2
#define BIRCHFIELD_TOMASI 3
#define VOLUME 4
#define REACH_X (COST == CENSUS ? 4 : COST == BIRCHFIELD_TOMASI ? 1 : 0)

// The samples that the features of a work item's pixels need, in one row.
static void load_row(const global uchar* memory, const OpenclImages* images, int side, int plane, int x,
                     int y, ushort* row) {
  const int count = LANES + 2 * REACH_X, first = x - REACH_X, mirrored = images->width - 1 - first;
  const global ushort* samples = samples_of(memory, images, side, plane, y);
  if (first < 0 || first + count > images->width)
    for (int i = 0; i < count; ++i) row[i] = samples[column_of(images, first + i)];
  else if (images->mirrored)
    for (int i = 0; i < count; ++i) row[i] = samples[mirrored - i];
  else
    for (int i = 0; i < count; ++i) row[i] = samples[first + i];
}

#if COST == CENSUS
// Census, Zabih & Woodfill 1994: which of the 62 neighbours in a 9×7 window are darker than the centre.
static void find_features(const global uchar* memory, const OpenclImages* images, int side, int x, int y,
                          FEATURE features[FEATURE_PLANES][LANES]) {
  ushort window[7][LANES + 2 * REACH_X];
  uchar bits[LANES];
#pragma unroll
  for (int j = 0; j < 7; ++j) load_row(memory, images, side, images->planes - 1, x, y + j - 3, window[j]);
  for (int i = 0; i < LANES; ++i) features[0][i] = bits[i] = 0;
#pragma unroll
  for (int n = 0; n < 63; ++n) {
    for (int i = 0; i < LANES; ++i)
      bits[i] = bits[i] << 1 | (window[n / 9][i + n % 9] < window[3][i + 4] ? 1 : 0);
    if (n % 8 != 7 && n != 62) continue;
    for (int i = 0; i < LANES; ++i) {
      features[0][i] = features[0][i] << 8 | bits[i];
      bits[i] = 0;
    }
  }
}
#elif COST == BIRCHFIELD_TOMASI
// Birchfield & Tomasi 1998: samples, and the lowest and highest value of the row within half a pixel.
static void find_features(const global uchar* memory, const OpenclImages* images, int side, int x, int y,
                          FEATURE features[FEATURE_PLANES][LANES]) {
  ushort row[LANES + 2 * REACH_X];
  load_row(memory, images, side, images->planes - 1, x, y, row);
  for (int i = 0; i < LANES; ++i) {
    const ushort here = row[i + 1], before = (row[i] + here + 1) / 2, after = (here + row[i + 2] + 1) / 2;
    features[0][i] = here;
    features[1][i] = min(here, min(before, after));
    features[2][i] = max(here, max(before, after));
  }
}
#else
// Samples: of all three channels, or gray.
static void find_features(const global uchar* memory, const OpenclImages* images, int side, int x, int y,
                          FEATURE features[FEATURE_PLANES][LANES]) {
  for (int plane = 0; plane < FEATURE_PLANES; ++plane)
    load_row(memory, images, side, FEATURE_PLANES == 1 ? images->planes - 1 : plane, x, y, features[plane]);
}
#endif

// The features of the matched pair, its validity, and its gray image. A work item has LANES pixels of a row;
// global size z = 2 sides.
kernel void find_inputs(global uchar* memory, Pair pair, OpenclImages images) {
  const int x = LANES * get_global_id(0), side = get_global_id(2);
  const long y = get_global_id(1);
  if (x >= images.width) return;
  const long mask = pair.mask[side ^ images.mirrored];
  FEATURE features[FEATURE_PLANES][LANES];
  find_features(memory, &images, side, x, y, features);
  const global ushort* gray = samples_of(memory, &images, side, images.planes - 1, y);
  for (int i = 0; i < LANES && x + i < images.width; ++i) {
    const long row = 2 * y + ((x + i) & 1), column = column_of(&images, x + i);
    const long at = (x + i) / 2;
    global FEATURE* to = (global FEATURE*)(memory + images.features[side]);
    for (int plane = 0; plane < FEATURE_PLANES; ++plane)
      to[(row * FEATURE_PLANES + plane) * images.feature_stride + at] = features[plane][i];
    memory[images.validity[side] + row * images.feature_stride + at] =
        mask < 0 || memory[mask + y * images.width + column] != 0;
    if (side == 0) ((global ushort*)(memory + images.gray))[y * images.stride + x + i] = gray[column];
  }
}

// The gray image of a coarser level: one work item per pixel.
kernel void average(global uchar* memory, long fine, long fine_stride, int width, int height, long coarse,
                    long stride) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (2 * x >= width) return;
  const int columns = min(2, width - 2 * x), rows = min(2, height - 2 * (int)y), children = rows * columns;
  int sum = 0;
  for (int j = 0; j < rows; ++j)
    for (int i = 0; i < columns; ++i)
      sum += ((const global ushort*)(memory + fine))[(2 * y + j) * fine_stride + 2 * x + i];
  ((global ushort*)(memory + coarse))[y * stride + x] = (sum + children / 2) / children;
}

// The slope and the truncation of an edge. There are no image edges beyond the border.
static uint edge_of(const global uchar* memory, const OpenclEdges* level, int x, int y, int direction) {
  const int u = x + (direction == 3) - (direction == 2), v = y + (direction == 1) - (direction == 0);
  const global uint* table = (const global uint*)(memory + level->table);
  if (x >= level->width || u < 0 || u >= level->width || v < 0 || v >= level->height) return table[0];
  const global ushort* gray = (const global ushort*)(memory + level->gray);
  const int difference = abs((int)gray[y * level->stride + x] - (int)gray[v * level->stride + u]);
  return table[(difference + 128) / 256];
}

// Where the word of slopes of a direction is; that of truncations is `apart` words further.
static global uint* edges_at(global uchar* memory, const OpenclEdges* level, int colour, int y, int group,
                             int direction, long* apart) {
  const int word_pixels = 32 / level->value_bits;
  const int across = (level->width + 7) / 8, down = (level->height + 7) / 8;
  *apart = level->pitch > 0 ? level->pitch / word_pixels : 8;
  const long row =
      level->pitch > 0 ? (long)colour * level->height + y : ((long)colour * down + y / 8) * across + group;
  const long pair = (row * DIRECTIONS + direction) * 2;
  return (global uint*)(memory + level->edges) + pair * *apart + (level->pitch > 0 ? group : y % 8);
}

// One work item for each word; global size z = 2 colours.
kernel void find_edges(global uchar* memory, OpenclEdges level) {
  const int group = get_global_id(0), y = get_global_id(1), colour = get_global_id(2);
  const int odd = (y + colour) & 1, bits = level.value_bits, word_pixels = 32 / bits;
  if (2 * group * word_pixels >= level.width) return;
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    uint slope = 0, truncation = 0;
    for (int p = 0; p < word_pixels; ++p) {
      const uint edge = edge_of(memory, &level, 2 * (group * word_pixels + p) + odd, y, direction);
      slope |= (edge & 0xFFFF) << p * bits;
      truncation |= edge >> 16 << p * bits;
    }
    long apart;
    global uint* to = edges_at(memory, &level, colour, y, group, direction, &apart);
    to[0] = slope;
    to[apart] = truncation;
  }
}
