// SPDX-License-Identifier: Apache-2.0
// The steps of parallax/refine.h on OpenCL: the same results as the functions beside this file.
//
// Where neighbours of a row depend on each other, ITEMS_OF_ROW work items share a row, a stretch each.
// Specialised by that, by WINDOW (3, 5) of the median, and LANES of a vector of medians (1, 8).

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

// The columns [first, end) of a work item.
typedef struct {
  int first, end;
} Stretch;

static Stretch own_stretch(int width) {
  const int items = get_global_size(0), columns = (width + items - 1) / items;
  const int first = min((int)get_global_id(0) * columns, width);
  const Stretch stretch = {first, min(first + columns, width)};
  return stretch;
}

// Speckle filter. Disjoint sets of pixels, found by many work items at once (after Jaiganesh & Burtscher
// 2018): first runs of rows, then their joins. A pixel links to another of its set with a lower index, so
// that links never form a cycle; a root has no link.

#define NO_LINK (-1)

static bool connected(float a, float b, float range) {
  return has_value(a) && has_value(b) && fabs(a - b) <= range;
}

static bool joins_left(const global float* row, int x, float range) {
  return x > 0 && connected(row[x - 1], row[x], range);
}

kernel void link_rows(global uchar* memory, Map map, float range, long links, long sizes) {
  const long y = get_global_id(1);
  const global float* row = disparities_of(memory, &map, y);
  global int* links_of_row = (global int*)(memory + links) + y * map.width;
  global int* sizes_of_row = (global int*)(memory + sizes) + y * map.width;
  const Stretch own = own_stretch(map.width);
  int start = own.first;
  for (int x = own.first; x < own.end; ++x) {
    const bool joins = joins_left(row, x, range);
    if (!joins) start = x;
    // A run that continues from another stretch links to its last pixel there.
    const int link = joins ? (x == own.first ? x - 1 : start) : NO_LINK;
    links_of_row[x] = link == NO_LINK ? NO_LINK : (int)y * map.width + link;
    sizes_of_row[x] = 0;
  }
}

// The result may no longer be a root when it is used. Shortens links on the way: a pixel with a link always
// keeps one, and any link to a pixel nearer the root is correct.
static int find_root(volatile global int* links, int pixel) {
  for (int next = links[pixel]; next != NO_LINK;) {
    const int after = links[next];
    if (after != NO_LINK) links[pixel] = after;
    pixel = next;
    next = after;
  }
  return pixel;
}

static void join(volatile global int* links, int a, int b) {
  for (;;) {
    a = find_root(links, a);
    b = find_root(links, b);
    if (a == b) return;
    const int low = min(a, b), high = max(a, b);
    const int found = atomic_cmpxchg(links + high, NO_LINK, low);
    if (found == NO_LINK) return;
    a = found;
    b = low;
  }
}

kernel void join_rows(global uchar* memory, Map map, float range, long links) {
  const long y = get_global_id(1);
  if (y == 0) return;
  const global float* row = disparities_of(memory, &map, y);
  const global float* above = disparities_of(memory, &map, y - 1);
  const Stretch own = own_stretch(map.width);
  bool joined = false;
  for (int x = own.first; x < own.end; ++x) {
    const bool joins = connected(above[x], row[x], range);
    // Where both rows continue, the sets are joined already.
    const bool repeats = joined && joins_left(row, x, range) && joins_left(above, x, range);
    if (joins && !repeats)
      join((volatile global int*)(memory + links), (int)(y - 1) * map.width + x, (int)y * map.width + x);
    joined = joins;
  }
}

// A work group adds up what it finds for the root of its first pixel: most pixels belong to few sets.
kernel void add_sizes(global uchar* memory, Map map, float range, long links, long sizes) {
  local int common_root, common_size;
  const long y = get_global_id(1);
  const global float* row = disparities_of(memory, &map, y);
  volatile global int* all_sizes = (volatile global int*)(memory + sizes);
  const Stretch own = own_stretch(map.width);
  if (get_local_id(0) == 0) {
    const int first = (int)y * map.width + min(own.first, map.width - 1);
    common_root = find_root((volatile global int*)(memory + links), first);
    common_size = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int x = own.first; x < own.end;) {
    const int start = x;
    do ++x;
    while (x < own.end && joins_left(row, x, range));
    const int root = find_root((volatile global int*)(memory + links), (int)y * map.width + start);
    if (root == common_root)
      atomic_add(&common_size, x - start);
    else
      atomic_add(all_sizes + root, x - start);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0 && common_size > 0) atomic_add(all_sizes + common_root, common_size);
}

kernel void remove_speckles(global uchar* memory, Map map, long links, long sizes, int speckle_size) {
  const long y = get_global_id(1);
  global float* row = disparities_of(memory, &map, y);
  global uchar* status = statuses_of(memory, &map, y);
  const global int* all_links = (const global int*)(memory + links);
  const global int* all_sizes = (const global int*)(memory + sizes);
  const Stretch own = own_stretch(map.width);
  for (int x = own.first; x < own.end; ++x) {
    if (!has_value(row[x])) continue;
    int root = (int)y * map.width + x;
    while (all_links[root] != NO_LINK) root = all_links[root];
    if (all_sizes[root] >= speckle_size) continue;
    row[x] = NO_VALUE;
    status[x] = SPECKLE;
  }
}

// Fills the gap between two values of a row, or beside one, with the lower of them.
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

// The guide.

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

// Fill in directions. `Nearest` is that of refine.h.

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

// Passes a stretch that `other` has passed from nothing.
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

// The first value that a pixel meets up or down.
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

// A work item passes its stretch of a row three times: to tell the others what it has, then from left to
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

// Steps over windows read a copy of the map surrounded by "no value": at the end of rows, as many as a vector
// may read.

// One work item per pixel of the copy.
kernel void border(global uchar* memory, Map map, long bordered, long stride, int width, int before) {
  const int x = get_global_id(0);
  const long y = get_global_id(1);
  if (x >= width) return;
  const bool inside = y >= before && y < before + map.height && x >= before && x < before + map.width;
  ((global float*)(memory + bordered))[y * stride + x] =
      inside ? disparities_of(memory, &map, y - before)[x - before] : NO_VALUE;
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
typedef float8 Values;
#define LOAD(from) vload8(0, from)
static void store(Values values, global float* to, int count) {
  if (count >= LANES) {
    vstore8(values, 0, to);
    return;
  }
  float all[LANES];
  vstore8(values, 0, all);
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

// Forgetful selection, as in median.cpp: both extremes leave, and the next value comes in at the front.
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
