// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h on OpenCL: the same results as the functions beside this file.
//
// Where neighbours of a row depend on each other, ITEMS_OF_ROW work items share a row, a stretch each.
// Specialised by that, by WINDOW (3, 5) of the median, LANES of a vector of medians (1, 2, 4, 8), and the
// speckle filter's TILE_WIDTH, TILE_HEIGHT, TILE_ITEMS of a tile's group, and STRETCH.

static global float* disparities_of(global uchar* memory, const Map* map, long y) {
  return (global float*)(memory + map->disparity) + y * map->stride;
}

static global uchar* statuses_of(global uchar* memory, const Map* map, long y) {
  return memory + map->status + y * map->status_stride;
}

// One work item per pixel.
kernel void check_left_right(global uchar* memory, Map map, long right, long right_stride, float tolerance) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= map.width) return;
  global float* here = disparities_of(memory, &map, y) + x;
  if (!has_value(*here)) return;
  const global float* other = (const global float*)(memory + right) + y * right_stride;
  const float column = (float)x - ceil(*here - 0.5f);
  if (column >= 0.0f && column < (float)map.width && fabs(other[(int)column] - *here) <= tolerance) return;
  *here = NO_VALUE;
  statuses_of(memory, &map, y)[x] = INCONSISTENT;
}

// Speckle filter. Many work items at once find disjoint sets of pixels (after Jaiganesh & Burtscher 2018):
// first in tiles, in local memory, then across the tiles' borders. A pixel links to another of its set with a
// lower index, so that links never form a cycle; a root has no link.

#define NO_LINK (-1)
#define TILE_PIXELS (TILE_WIDTH * TILE_HEIGHT)

static bool connected(float a, float b, float range) {
  return has_value(a) && has_value(b) && fabs(a - b) <= range;
}

// Defines two functions for links in `space` memory. find_root: the result may no longer be a root when it is
// used. Shortens links on the way: a pixel with a link always keeps one, and any link to a pixel nearer the
// root is correct. join: joins the sets of two pixels.
#define DEFINE_SETS(space, find_root, join)                             \
  static int find_root(volatile space int* links, int pixel) {          \
    for (int next = links[pixel]; next != NO_LINK;) {                   \
      const int after = links[next];                                    \
      if (after != NO_LINK) links[pixel] = after;                       \
      pixel = next;                                                     \
      next = after;                                                     \
    }                                                                   \
    return pixel;                                                       \
  }                                                                     \
                                                                        \
  static void join(volatile space int* links, int a, int b) {           \
    for (;;) {                                                          \
      a = find_root(links, a);                                          \
      b = find_root(links, b);                                          \
      if (a == b) return;                                               \
      const int low = min(a, b), high = max(a, b);                      \
      const int found = atomic_cmpxchg(links + high, NO_LINK, low);     \
      if (found == NO_LINK) return;                                     \
      a = found;                                                        \
      b = low;                                                          \
    }                                                                   \
  }

DEFINE_SETS(local, find_root_of_tile, join_in_tile)
DEFINE_SETS(global, find_root, join)

typedef struct {
  float values[TILE_PIXELS];
  int links[TILE_PIXELS], sizes[TILE_PIXELS];
} Tile;

static bool joins_left(const local Tile* tile, int pixel, float range) {
  return pixel % TILE_WIDTH > 0 && connected(tile->values[pixel - 1], tile->values[pixel], range);
}

static bool joins_above(const local Tile* tile, int pixel, float range) {
  return connected(tile->values[pixel - TILE_WIDTH], tile->values[pixel], range);
}

// A run that continues from another stretch links to its last pixel there.
static void link_runs(local Tile* tile, int first, float range) {
  for (int pixel = first, start = first; pixel < first + STRETCH; ++pixel) {
    const bool joins = joins_left(tile, pixel, range);
    if (!joins) start = pixel;
    tile->links[pixel] = !joins ? NO_LINK : pixel == first ? pixel - 1 : start;
  }
}

// If both rows continue, the sets are already joined.
static void join_with_row_above(local Tile* tile, int pixel, float range) {
  const bool repeats = joins_left(tile, pixel, range) && joins_left(tile, pixel - TILE_WIDTH, range) &&
                       joins_above(tile, pixel - 1, range);
  if (joins_above(tile, pixel, range) && !repeats) join_in_tile(tile->links, pixel - TILE_WIDTH, pixel);
}

static void add_runs(local Tile* tile, int first, float range) {
  for (int pixel = first; pixel < first + STRETCH;) {
    const int start = pixel;
    do ++pixel;
    while (pixel < first + STRETCH && joins_left(tile, pixel, range));
    atomic_add(&tile->sizes[find_root_of_tile(tile->links, start)], pixel - start);
  }
}

// Finds the sets of each tile, and their sizes, stored at roots (0 elsewhere). A group has a tile.
kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1))) void label_tiles(global uchar* memory, Map map,
                                                                                float range, long links,
                                                                                long sizes) {
  local Tile tile;
  const int left = get_group_id(0) * TILE_WIDTH, top = get_group_id(1) * TILE_HEIGHT, item = get_local_id(0);
  const int width = min(TILE_WIDTH, map.width - left), height = min(TILE_HEIGHT, map.height - top);
  for (int i = item; i < TILE_PIXELS; i += TILE_ITEMS) {
    const int x = i % TILE_WIDTH, y = i / TILE_WIDTH;
    tile.values[i] = x < width && y < height ? disparities_of(memory, &map, top + y)[left + x] : NO_VALUE;
    tile.sizes[i] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item * STRETCH; i < TILE_PIXELS; i += TILE_ITEMS * STRETCH) link_runs(&tile, i, range);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item + TILE_WIDTH; i < TILE_PIXELS; i += TILE_ITEMS) join_with_row_above(&tile, i, range);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item * STRETCH; i < TILE_PIXELS; i += TILE_ITEMS * STRETCH) add_runs(&tile, i, range);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < TILE_PIXELS; i += TILE_ITEMS) {
    const int x = i % TILE_WIDTH, y = i / TILE_WIDTH;
    if (x >= width || y >= height) continue;
    const int root = find_root_of_tile(tile.links, i), pixel = (top + y) * map.width + left + x;
    ((global int*)(memory + links))[pixel] =
        root == i ? NO_LINK : (top + root / TILE_WIDTH) * map.width + left + root % TILE_WIDTH;
    ((global int*)(memory + sizes))[pixel] = tile.sizes[i];
  }
}

// Joins each tile's sets with those of the tiles above and to the left of it. A group has a tile.
kernel void join_tiles(global uchar* memory, Map map, float range, long links) {
  for (int i = get_local_id(0); i < TILE_WIDTH + TILE_HEIGHT; i += get_local_size(0)) {
    const bool above = i < TILE_WIDTH;
    const int place = above ? i : i - TILE_WIDTH;  // position on the border
    const int x = (int)get_group_id(0) * TILE_WIDTH + (above ? place : 0);
    const int y = (int)get_group_id(1) * TILE_HEIGHT + (above ? 0 : place);
    if (x >= map.width || y >= map.height || (above ? y : x) == 0) continue;
    const long across = above ? map.stride : 1, along = above ? 1 : map.stride;
    const global float* here = disparities_of(memory, &map, y) + x;
    const global float* other = here - across;
    if (!connected(*other, *here, range)) continue;
    // If both sides continue, the sets are already joined.
    if (place > 0 && connected(other[-along], here[-along], range) && connected(here[-along], *here, range) &&
        connected(other[-along], *other, range))
      continue;
    const int pixel = y * map.width + x;
    join((volatile global int*)(memory + links), above ? pixel - map.width : pixel - 1, pixel);
  }
}

// Adds the sizes of the tiles' roots to those of the final roots. One work item per pixel.
kernel void add_sizes(global uchar* memory, Map map, long links, long sizes) {
  const int x = get_global_id(0), pixel = (int)get_global_id(1) * map.width + x;
  volatile global int* all_links = (volatile global int*)(memory + links);
  volatile global int* all_sizes = (volatile global int*)(memory + sizes);
  if (x >= map.width || all_links[pixel] == NO_LINK || all_sizes[pixel] == 0) return;
  const int root = find_root(all_links, pixel);
  atomic_add(all_sizes + root, all_sizes[pixel]);
  // Shortens later searches.
  all_links[pixel] = root;
}

// One work item per pixel.
kernel void remove_speckles(global uchar* memory, Map map, long links, long sizes, int speckle_size) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= map.width) return;
  global float* here = disparities_of(memory, &map, y) + x;
  if (!has_value(*here)) return;
  const global int* all_links = (const global int*)(memory + links);
  int root = (int)y * map.width + x;
  while (all_links[root] != NO_LINK) root = all_links[root];
  if (((const global int*)(memory + sizes))[root] >= speckle_size) return;
  *here = NO_VALUE;
  statuses_of(memory, &map, y)[x] = SPECKLE;
}

// The columns [first, end) of a work item.
typedef struct {
  int first, end;
} Stretch;

static Stretch own_stretch(int width) {
  const int columns = (width + ITEMS_OF_ROW - 1) / ITEMS_OF_ROW;
  const int first = min((int)get_local_id(0) * columns, width);
  const Stretch stretch = {first, min(first + columns, width)};
  return stretch;
}

// Fills the gap between two values of a row, or beside one value, with the lower of them.
static void fill_gap(global float* row, global uchar* status, Stretch gap, float before, float after) {
  const float lower = after < before ? after : before;
  if (!has_value(lower)) return;
  for (int x = gap.first; x < gap.end; ++x) {
    if (status[x] == INPUT_MASKED) continue;
    row[x] = lower;
    status[x] = FILLED;
  }
}

kernel void fill_row(global uchar* memory, Map map) {
  local float first_values[ITEMS_OF_ROW], last_values[ITEMS_OF_ROW];
  const long y = get_global_id(1);
  const int item = get_local_id(0);
  global float* row = disparities_of(memory, &map, y);
  global uchar* status = statuses_of(memory, &map, y);
  const Stretch own = own_stretch(map.width);

  // The values that other work items need from this one's stretch.
  float first_value = NO_VALUE, last_value = NO_VALUE;
  for (int x = own.first; x < own.end && !has_value(first_value); ++x) first_value = row[x];
  for (int x = own.end - 1; x >= own.first && !has_value(last_value); --x) last_value = row[x];
  first_values[item] = has_value(first_value) ? first_value : NO_VALUE;
  last_values[item] = has_value(last_value) ? last_value : NO_VALUE;
  barrier(CLK_LOCAL_MEM_FENCE);

  float before = NO_VALUE, behind = NO_VALUE;
  for (int i = item - 1; i >= 0 && !has_value(before); --i) before = last_values[i];
  for (int i = item + 1; i < ITEMS_OF_ROW && !has_value(behind); ++i) behind = first_values[i];
  for (int x = own.first; x < own.end;) {
    if (has_value(row[x])) {
      before = row[x++];
      continue;
    }
    Stretch gap = {x, x + 1};
    while (gap.end < own.end && !has_value(row[gap.end])) ++gap.end;
    fill_gap(row, status, gap, before, gap.end < own.end ? row[gap.end] : behind);
    x = gap.end;
  }
}

// The occlusion check: ITEMS_OF_ROW work items share a row. `highest` has an element for each pixel: the
// highest disparity that leads to it, as an integer in the order of the floats.

static int right_column(int x, float disparity, int width) {
  const float column = (float)x - ceil(disparity - 0.5f);
  return column >= 0.0f && column < (float)width ? (int)column : -1;
}

static int in_order(int bits) {
  return bits ^ (bits >> 31 & 0x7FFFFFFF);
}

kernel void check_occlusions(global uchar* memory, Map map, long highest, float tolerance) {
  const long y = get_global_id(1);
  global float* row = disparities_of(memory, &map, y);
  global uchar* status = statuses_of(memory, &map, y);
  volatile global int* taken = (volatile global int*)(memory + highest) + y * map.width;
  const Stretch own = own_stretch(map.width);
  for (int x = own.first; x < own.end; ++x) taken[x] = INT_MIN;
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int x = own.first; x < own.end; ++x) {
    const int column = right_column(x, row[x], map.width);
    if (column >= 0) atomic_max(&taken[column], in_order(as_int(row[x])));
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int x = own.first; x < own.end; ++x) {
    const float here = row[x];
    if (!has_value(here)) continue;
    const int column = right_column(x, here, map.width);
    if (column >= 0 && as_float(in_order(taken[column])) - here <= tolerance) continue;
    row[x] = NO_VALUE;
    status[x] = INCONSISTENT;
  }
}

// Guide image.

// One work item per pixel. `bits`: bits of a channel.
kernel void take_guide(global uchar* memory, Pair pair, int bits, int width, long guide, long stride) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= width) return;
  const int channels = pair.channels[0];
  const long first = (y * width + x) * channels;
  const global uchar* bytes = memory + pair.image[0] + first;
  const global ushort* words = (const global ushort*)(memory + pair.image[0]) + first;
  uint level = bits == 16 ? words[0] : bytes[0];
  if (channels == 3) {
    const uint green = bits == 16 ? words[1] : bytes[1], blue = bits == 16 ? words[2] : bytes[2];
    level = (9797u * level + 19234u * green + 3737u * blue) >> 15;
  }
  memory[guide + y * stride + x] = level >> (bits - 8);
}

// Fill in directions. See `Nearest` in refine.h.

typedef struct {
  float value;
  int distance, low, high;
} Nearest;

static Nearest nothing() {
  const Nearest nearest = {NO_VALUE, 0, 255, 0};
  return nearest;
}

static Nearest pass(Nearest nearest, float disparity, int level) {
  const Nearest here = {disparity, 1, level, level};
  const Nearest farther = {nearest.value, nearest.distance + 1, min(nearest.low, level),
                           max(nearest.high, level)};
  return has_value(disparity) ? here : farther;
}

// Passes a stretch that `other`, which began empty, has already passed.
static Nearest pass_all(Nearest nearest, Nearest other) {
  const Nearest farther = {nearest.value, nearest.distance + other.distance, min(nearest.low, other.low),
                           max(nearest.high, other.high)};
  return has_value(other.value) ? other : farther;
}

typedef struct {
  float weight, value;
} Candidate;

static Candidate better(Candidate best, Nearest nearest, int level) {
  const int difference = max(level - nearest.low, nearest.high - level);
  const Candidate offered = {nearest.value + 0.5f * (float)(difference + nearest.distance), nearest.value};
  return offered.weight < best.weight ? offered : best;
}

// The first value that a pixel meets upwards or downwards.
static Nearest nearest_in_column(global uchar* memory, const Map* map, const OpenclFill* fill, int x, long y,
                                 int step) {
  const global uchar* levels = memory + fill->guide + x;
  const int level = levels[y * fill->guide_stride];
  Nearest nearest = {NO_VALUE, 0, level, level};
  const long last = step < 0 ? max(y - fill->reach, 0L) : min(y + fill->reach, (long)map->height - 1);
  while (y != last) {
    y += step;
    const int there = levels[y * fill->guide_stride];
    nearest.low = min(nearest.low, there);
    nearest.high = max(nearest.high, there);
    ++nearest.distance;
    nearest.value = disparities_of(memory, map, y)[x];
    if (has_value(nearest.value)) return nearest;
  }
  return nothing();
}

// Writes the best candidate of each pixel without a value from its column. One work item per pixel.
kernel void find_in_columns(global uchar* memory, Map map, OpenclFill fill) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= map.width || has_value(disparities_of(memory, &map, y)[x])) return;
  const int level = memory[fill.guide + y * fill.guide_stride + x];
  Candidate best = {NO_VALUE, NO_VALUE};
  best = better(best, nearest_in_column(memory, &map, &fill, x, y, -1), level);
  best = better(best, nearest_in_column(memory, &map, &fill, x, y, 1), level);
  ((global Candidate*)(memory + fill.candidates))[y * map.width + x] = best;
}

// A work item passes its stretch of a row three times: to share its values with the others, then from left to
// right, then back.
kernel void fill_directions(global uchar* memory, Map map, OpenclFill fill) {
  local Nearest from_left[ITEMS_OF_ROW], from_right[ITEMS_OF_ROW];
  const long y = get_global_id(1);
  const int item = get_local_id(0);
  global float* row = disparities_of(memory, &map, y);
  global uchar* status = statuses_of(memory, &map, y);
  const global uchar* levels = memory + fill.guide + y * fill.guide_stride;
  global Candidate* candidates = (global Candidate*)(memory + fill.candidates) + y * map.width;
  const Stretch own = own_stretch(map.width);

  Nearest left = nothing(), right = nothing();
  for (int x = own.first; x < own.end; ++x) left = pass(left, row[x], levels[x]);
  for (int x = own.end - 1; x >= own.first; --x) right = pass(right, row[x], levels[x]);
  from_left[item] = left;
  from_right[item] = right;
  barrier(CLK_LOCAL_MEM_FENCE);
  left = right = nothing();
  for (int i = 0; i < item; ++i) left = pass_all(left, from_left[i]);
  for (int i = ITEMS_OF_ROW - 1; i > item; --i) right = pass_all(right, from_right[i]);

  for (int x = own.first; x < own.end; ++x) {
    if (!has_value(row[x])) candidates[x] = better(candidates[x], left, levels[x]);
    left = pass(left, row[x], levels[x]);
  }
  for (int x = own.end - 1; x >= own.first; --x) {
    const float here = row[x];
    if (!has_value(here) && status[x] != INPUT_MASKED) {
      const Candidate best = better(candidates[x], right, levels[x]);
      if (has_value(best.value)) {
        row[x] = best.value;
        status[x] = FILLED;
      }
    }
    right = pass(right, here, levels[x]);
  }
}

// Steps over windows read a copy of the map surrounded by "no value"; at the end of rows, the border is as
// wide as a vector may read.

// One work item per pixel of the copy.
kernel void border(global uchar* memory, Map map, long bordered, long stride, int width, int before) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= width) return;
  const bool inside = y >= before && y < before + map.height && x >= before && x < before + map.width;
  ((global float*)(memory + bordered))[y * stride + x] =
      inside ? disparities_of(memory, &map, y - before)[x - before] : NO_VALUE;
}

// The confidence: see confidence.h.

#define CONFIDENCE_BORDER (CONFIDENCE_RADIUS * FAR_STEP)

static bool agrees(float disparity, float other, float opposite) {
  if (!has_value(disparity)) return has_value(other);
  return fabs(other - disparity) <= AGREEMENT_TOLERANCE ||
         fabs(other + opposite - 2 * disparity) <= AGREEMENT_TOLERANCE;
}

#define CONFIDENCE_SIDE (2 * CONFIDENCE_RADIUS + 1)

// The number of pixels in a window around that at `centre` that agree, pair by pair of opposite ones.
static int count_agreeing(const global float* centre, long stride, int step) {
  int count = 0;
  for (int place = 0; place < CONFIDENCE_SIDE * CONFIDENCE_SIDE / 2; ++place) {
    const long offset = step * ((place / CONFIDENCE_SIDE - CONFIDENCE_RADIUS) * stride +
                                place % CONFIDENCE_SIDE - CONFIDENCE_RADIUS);
    const float one = centre[offset], opposite = centre[-offset];
    count += agrees(*centre, one, opposite) + agrees(*centre, opposite, one);
  }
  return count;
}

// One work item per pixel.
kernel void find_confidence(global uchar* memory, Map map, long bordered, long stride, float least) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= map.width) return;
  const global float* centre = (const global float*)(memory + bordered) +
                               (y + CONFIDENCE_BORDER) * stride + x + CONFIDENCE_BORDER;
  global uchar* status = statuses_of(memory, &map, y) + x;
  const int near = count_agreeing(centre, stride, NEAR_STEP), far = count_agreeing(centre, stride, FAR_STEP);
  const int doubt = MOST_DOUBT - (*status == MATCHED ? MATCHED_WEIGHT : 0) - near * near - far * far;
  const bool undecided = *status == INPUT_MASKED || *status == OUT_OF_RANGE;
  // A product with a power of two is exact.
  const float found = undecided ? 0.0f : (float)(CONFIDENCE_UNIT - doubt * doubt) * (1.0f / CONFIDENCE_UNIT);
  if (map.confidence >= 0)
    ((global float*)(memory + map.confidence))[y * map.confidence_stride + x] = found;
  if (*status != MATCHED || found >= least) return;
  *status = AMBIGUOUS;
  disparities_of(memory, &map, y)[x] = NO_VALUE;
}

// Median.

#define BORDER (WINDOW / 2)

#if LANES == 1
typedef float Values;
#define LOAD(from) (*(from))
static void store(Values values, global float* to, int count) {
  *to = values;
}
#else
typedef OF_LANES(float) Values;
#define LOAD(from) OF_LANES(vload)(0, from)
static void store(Values values, global float* to, int count) {
  if (count >= LANES) {
    OF_LANES(vstore)(values, 0, to);
    return;
  }
  float all[LANES];
  OF_LANES(vstore)(values, 0, all);
  for (int i = 0; i < count; ++i) to[i] = all[i];
}
#endif

#define WINDOW_PIXELS (WINDOW * WINDOW)
// Among this many values, neither the smallest nor the largest can be the median of the window.
#define IN_PLAY (WINDOW_PIXELS / 2 + 2)

// A neighbour without a value counts as the pixel itself.
static Values neighbour(const global float* centre, long stride, int i, Values middle) {
  const Values value = LOAD(centre + (i / WINDOW - BORDER) * stride + (i % WINDOW - BORDER));
  return select(middle, value, isless(value, (Values)NO_VALUE));
}

static void exchange(Values* low, Values* high) {
  const Values lower = min(*low, *high);
  *high = max(*low, *high);
  *low = lower;
}

// Forgetful selection, as in median.cpp: drops both extremes and takes in the next value at the front.
static Values find_median(const global float* centre, long stride, Values middle) {
  Values values[IN_PLAY];
#pragma unroll
  for (int i = 0; i < IN_PLAY; ++i) values[i] = neighbour(centre, stride, i, middle);
#pragma unroll
  for (int count = IN_PLAY; count >= 3; --count) {
    const int half_count = count / 2, last = count - 1;
#pragma unroll
    for (int i = 0; i < half_count; ++i) exchange(values + i, values + last - i);
#pragma unroll
    for (int i = 1; i < half_count; ++i) {
      exchange(values, values + i);
      exchange(values + last - i, values + last);
    }
    if (count % 2 == 1) {
      exchange(values, values + half_count);
      exchange(values + half_count, values + last);
    }
    if (count > 3) values[0] = neighbour(centre, stride, 2 * IN_PLAY - count, middle);
  }
  return values[1];
}

// One work item per LANES pixels of a row.
kernel void take_median(global uchar* memory, Map map, long bordered, long stride) {
  const int x = LANES * get_global_id(0);
  const long y = get_global_id(1);
  if (x >= map.width) return;
  const global float* centre = (const global float*)(memory + bordered) + (y + BORDER) * stride + x + BORDER;
  const Values middle = LOAD(centre);
  const Values median = select(middle, find_median(centre, stride, middle), isless(middle, (Values)NO_VALUE));
  store(median, disparities_of(memory, &map, y) + x, map.width - x);
}
