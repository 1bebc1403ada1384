// SPDX-License-Identifier: Apache-2.0
// Guided steps on OpenCL: the same results as weighted_median.cpp and bilateral.cpp.
//
// Specialised by BILATERAL (which of the two), WINDOW, and LANES of a vector of pixels (1, 2, 4, 16); by
// TILE_ROWS (0 = windows are read from global memory, else groups of TILE_LANES · TILE_ROWS work items copy
// their pixels to local memory), and KEEPS (such groups keep there the weights of the median).

#define RADIUS (WINDOW / 2)
#define WINDOW_PIXELS (WINDOW * WINDOW)

#if TILE_ROWS > 0
#define SPACE local
#define WIDTH (TILE_LANES + 2 * RADIUS)
#define HEIGHT (TILE_ROWS + 2 * RADIUS)
#define TILE_ITEMS (TILE_LANES * TILE_ROWS)
#else
#define SPACE global
#endif

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
  const SPACE float* values;
  const SPACE uchar* levels;
  const SPACE uchar* gray;
  const SPACE ushort* distance;
  long stride, level_stride;
  float step;
  local uint* kept;  // see KEEPS
} Centre;

static Floats value_at(const Centre* centre, int row, int column) {
  return LOAD(centre->values + (row - RADIUS) * centre->stride + (column - RADIUS));
}

// The weight of a neighbour, by its gray level.
static Integers weight_at(const Centre* centre, int row, int column) {
  const SPACE uchar* there = centre->levels + (row - RADIUS) * centre->level_stride + (column - RADIUS);
#if LANES == 1
  return centre->gray[abs_diff(*there, *centre->levels)];
#else
  int weights[LANES];
  for (int i = 0; i < LANES; ++i) weights[i] = centre->gray[abs_diff(there[i], centre->levels[i])];
  return OF_LANES(vload)(0, weights);
#endif
}

// Loops over `row` and `column` of the window, and `place`, row by row.
#define FOR_ROWS for (int row = 0, place = 0; row < WINDOW; ++row)
#define FOR_COLUMNS UNROLLED for (int column = 0; column < WINDOW; ++column, ++place)

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
  FOR_ROWS FOR_COLUMNS {
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

// The weights of the window are looked up once where they can be kept: in vectors on a processor, and in
// words of four weights in local memory; else for each pivot.
#if KEEPS
#define ROW_WORDS ((WINDOW + 3) / 4)
#define DECLARE_WEIGHTS uint word = 0;
#define KEEP(weight)                                                  \
  word |= (uint)(weight) << column % 4 * 8;                           \
  if (column % 4 == 3 || column == WINDOW - 1) {                      \
    centre->kept[(row * ROW_WORDS + column / 4) * TILE_ITEMS] = word; \
    word = 0;                                                         \
  }
#define LOAD_WEIGHTS     \
  uint words[ROW_WORDS]; \
  UNROLLED for (int k = 0; k < ROW_WORDS; ++k) words[k] = centre->kept[(row * ROW_WORDS + k) * TILE_ITEMS];
#define WEIGHT (words[column / 4] >> column % 4 * 8 & 0xFF)
#elif LANES == 1
#define DECLARE_WEIGHTS
#define KEEP(weight)
#define LOAD_WEIGHTS
#define WEIGHT weight_at(centre, row, column)
#else
#define DECLARE_WEIGHTS Integers weights[WINDOW_PIXELS];
#define KEEP(weight) weights[place] = weight;
#define LOAD_WEIGHTS
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
  DECLARE_WEIGHTS
  Integers all = 0;
  Bounds bounds = {none, -none};
  FOR_ROWS FOR_COLUMNS {
    const Floats value = value_at(centre, row, column);
    const Integers counts = value < none;
    const Integers weight = weight_at(centre, row, column);
    KEEP(weight)
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
    FOR_ROWS {
      LOAD_WEIGHTS
      FOR_COLUMNS {
        const Floats value = value_at(centre, row, column);
        const Integers up_to = value <= pivot;
        sum += up_to ? (Integers)WEIGHT : NO_WEIGHT;
        beside.high = up_to ? max(beside.high, value) : beside.high;
        beside.low = up_to ? beside.low : lower(beside.low, value);
      }
    }
    const Integers reaches = sum >= enough;
    bounds.high = open && reaches ? beside.high : bounds.high;
    bounds.low = open && !reaches ? beside.low : bounds.low;
  }
  return bounds.low;
}
#endif

#if TILE_ROWS > 0

// The pixels that the windows of a group cover, and the weights.
typedef struct {
  float values[HEIGHT][WIDTH];
  uchar levels[HEIGHT][WIDTH];
  uchar gray[256];
  ushort distance[WINDOW_PIXELS];
} Tile;

static void load_tile(const global uchar* memory, const Map* map, const OpenclGuidedStep* step,
                      local Tile* tile) {
  const int left = (int)get_group_id(0) * TILE_LANES - RADIUS,
            top = (int)get_group_id(1) * TILE_ROWS - RADIUS;
  const int own = get_local_id(1) * TILE_LANES + get_local_id(0);
  for (int i = own; i < HEIGHT * WIDTH; i += TILE_ITEMS) {
    // Repeats the last pixels that any window covers.
    const long x = min(left + i % WIDTH, map->width - 1 + RADIUS),
               y = min(top + i / WIDTH, map->height - 1 + RADIUS);
    tile->values[i / WIDTH][i % WIDTH] = ((const global float*)(memory + step->from))[y * step->stride + x];
    tile->levels[i / WIDTH][i % WIDTH] = (memory + step->guide)[y * step->guide_stride + x];
  }
  for (int i = own; i < 256; i += TILE_ITEMS) tile->gray[i] = (memory + step->gray)[i];
  for (int i = own; i < WINDOW_PIXELS; i += TILE_ITEMS)
    tile->distance[i] = ((const global ushort*)(memory + step->distance))[i];
  barrier(CLK_LOCAL_MEM_FENCE);
}

#endif

// One work item per LANES pixels of a row; pixels without a value are unchanged.
kernel void FILTER(global uchar* memory, Map map, OpenclGuidedStep step) {
  const int x = LANES * get_global_id(0);
  const long y = get_global_id(1);
#if TILE_ROWS > 0
  local Tile tile;
#if KEEPS
  local uint weights[WINDOW * ROW_WORDS * TILE_ITEMS];
  local uint* kept = weights + get_local_id(1) * TILE_LANES + get_local_id(0);
#else
  local uint* kept = 0;
#endif
  load_tile(memory, &map, &step, &tile);
  if (x >= map.width || y >= map.height) return;
  const Centre centre = {&tile.values[get_local_id(1) + RADIUS][get_local_id(0) + RADIUS],
                         &tile.levels[get_local_id(1) + RADIUS][get_local_id(0) + RADIUS],
                         tile.gray,
                         tile.distance,
                         WIDTH,
                         WIDTH,
                         step.step,
                         kept};
#else
  if (x >= map.width) return;
  const Centre centre = {(const global float*)(memory + step.from) + y * step.stride + x,
                         memory + step.guide + y * step.guide_stride + x,
                         memory + step.gray,
                         (const global ushort*)(memory + step.distance),
                         step.stride,
                         step.guide_stride,
                         step.step,
                         0};
#endif
  const Floats here = LOAD(centre.values);
  const Floats result = here < (Floats)NO_VALUE ? filtered(&centre, here) : here;
  store(result, (global float*)(memory + map.disparity) + y * map.stride + x, map.width - x);
}
