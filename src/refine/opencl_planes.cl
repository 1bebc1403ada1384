// SPDX-License-Identifier: Apache-2.0
// The fill with planes on OpenCL: the same results as fill_planes.cpp. A work group has a cell, and gathers
// its inputs from the nine cells around it.
//
// Specialised by ITEMS of a work group that has a cell, plane_definitions(), and the macros of lanes.cl.

#define CELL_SAMPLES (CELL_SIDE / SAMPLE_STEP)
#define SAMPLES_OF_CELL (CELL_SAMPLES * CELL_SAMPLES)
#define CELLS_AROUND 9
#define MOST_SAMPLES (CELLS_AROUND * SAMPLES_OF_CELL)
#define OWN_CELL 4
#define OUTSIDE 255  // outside the image
#define NO_SAMPLE INT_MAX

static long nearest_integer(long a, long b) {
  return a < 0 ? -((b / 2 - a) / b) : (b / 2 + a) / b;
}

#define OF_CELL __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
typedef OpenclPlane Plane;

// The arguments that all functions here share.
typedef struct {
  global uchar* memory;
  const Map* map;
  const OpenclPlaneFill* fill;
} Task;

// A cell of the image.
typedef struct {
  int x, y;
} Cell;

static Cell own_cell(void) {
  const Cell cell = {get_group_id(0), get_group_id(1)};
  return cell;
}

// Cell number `index` of the nine around a cell.
static Cell neighbour(Cell cell, int index) {
  const Cell there = {cell.x + index % 3 - 1, cell.y + index / 3 - 1};
  return there;
}

static bool is_inside(const Task* task, Cell cell) {
  return cell.x >= 0 && cell.x < task->fill->cells_across && cell.y >= 0 && cell.y < task->fill->cells_down;
}

static long place_of(const Task* task, Cell cell) {
  return (long)cell.y * task->fill->cells_across + cell.x;
}

static global OpenclSuperpixel* superpixel_of(const Task* task, Cell cell) {
  return (global OpenclSuperpixel*)(task->memory + task->fill->superpixels) + place_of(task, cell);
}

// The cell's `joined`: one byte for each sample.
static global uchar* joined_of(const Task* task, Cell cell) {
  return task->memory + task->fill->joined + place_of(task, cell) * SAMPLES_OF_CELL;
}

// A pixel of the image, and its colour.
typedef struct {
  int x, y, colour[3];
} Pixel;

static bool has_pixel(const Task* task, int x, int y) {
  return x < task->map->width && y < task->map->height;
}

static Pixel pixel_at(const Task* task, int x, int y) {
  const int channels = task->fill->channels, bits = task->fill->bits;
  const long first = ((long)y * task->map->width + x) * channels;
  const global uchar* bytes = task->memory + task->fill->image + first;
  const global ushort* words = (const global ushort*)(task->memory + task->fill->image) + first;
  Pixel pixel = {x, y, {0, 0, 0}};
  for (int i = 0; i < 3; ++i) {
    const int channel = channels == 3 ? i : 0;
    pixel.colour[i] = bits == 16 ? words[channel] >> 8 : bytes[channel];
  }
  return pixel;
}

static int column_of(Cell cell, int sample) {
  return cell.x * CELL_SIDE + sample % CELL_SAMPLES * SAMPLE_STEP;
}

static int row_of(Cell cell, int sample) {
  return cell.y * CELL_SIDE + sample / CELL_SAMPLES * SAMPLE_STEP;
}

static int square(int value) {
  return value * value;
}

static int distance_from(const Pixel* pixel, const global OpenclSuperpixel* superpixel) {
  int colour = 0;
  for (int i = 0; i < 3; ++i) colour += square(pixel->colour[i] - superpixel->colour[i]);
  return COLOUR_WEIGHT * colour + square(pixel->x - superpixel->x) + square(pixel->y - superpixel->y);
}

// The nearest superpixel that a pixel may join, or the nearest with a plane, as an index of the nine cells;
// ties go to the first. −1 if there is none closer than `limit`.
static int nearest(const Task* task, const Pixel* pixel, int limit, bool needs_plane) {
  const Cell cell = {pixel->x / CELL_SIDE, pixel->y / CELL_SIDE};
  int best = -1;
  for (int index = 0; index < CELLS_AROUND; ++index) {
    const Cell there = neighbour(cell, index);
    if (!is_inside(task, there)) continue;
    const global OpenclSuperpixel* superpixel = superpixel_of(task, there);
    if (needs_plane && !superpixel->has_plane) continue;
    const int here = distance_from(pixel, superpixel);
    if (here >= limit) continue;
    limit = here;
    best = index;
  }
  return best;
}

// Loops over this work item's samples of a cell.
#define FOR_SAMPLES(sample) for (int sample = get_local_id(0); sample < SAMPLES_OF_CELL; sample += ITEMS)

// Clears the work group's sums.
static void clear(local int* sums, int terms) {
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    for (int i = 0; i < terms; ++i) sums[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Adds a work item's sums to those of the work group, which are complete when it returns.
INLINE void add_up(local int* sums, const int* own, int terms) {
  UNROLLED for (int i = 0; i < terms; ++i) {
    const int together = sum_of_warp(own[i]);
    if (is_first_of_warp()) atomic_add(sums + i, together);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Sums over samples: their number, colours, and positions relative to the first position that the superpixel
// can have.
#define MEMBER_TERMS 6

static void add_member(int* sums, Cell cell, const Pixel* pixel) {
  sums[0] += 1;
  sums[1] += pixel->x - (cell.x - 1) * CELL_SIDE;
  sums[2] += pixel->y - (cell.y - 1) * CELL_SIDE;
  for (int i = 0; i < 3; ++i) sums[3 + i] += pixel->colour[i];
}

// The integer nearest to the mean of a sum.
static uint mean(uint sum, uint count) {
  return (sum + count / 2) / count;
}

// Moves the centre of a cell's superpixel to the mean of its samples. Without any, it stays where it is.
static void move_centre(const Task* task, Cell cell, const local int* sums) {
  const int members = sums[0];
  if (get_local_id(0) != 0 || members == 0) return;
  global OpenclSuperpixel* superpixel = superpixel_of(task, cell);
  superpixel->x = (cell.x - 1) * CELL_SIDE + (int)mean(sums[1], members);
  superpixel->y = (cell.y - 1) * CELL_SIDE + (int)mean(sums[2], members);
  for (int i = 0; i < 3; ++i) superpixel->colour[i] = (int)mean(sums[3 + i], members);
}

// Assigns each sample to the superpixel of its own cell. One work group per cell, here and below.
kernel OF_CELL void begin_superpixels(global uchar* memory, Map map, OpenclPlaneFill fill) {
  local int sums[MEMBER_TERMS];
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  int own[MEMBER_TERMS] = {0};
  clear(sums, MEMBER_TERMS);
  FOR_SAMPLES(sample) {
    const int x = column_of(cell, sample), y = row_of(cell, sample);
    const bool inside = has_pixel(&task, x, y);
    joined_of(&task, cell)[sample] = inside ? OWN_CELL : OUTSIDE;
    if (!inside) continue;
    const Pixel pixel = pixel_at(&task, x, y);
    add_member(own, cell, &pixel);
  }
  add_up(sums, own, MEMBER_TERMS);
  move_centre(&task, cell, sums);
}

kernel OF_CELL void join_nearest(global uchar* memory, Map map, OpenclPlaneFill fill) {
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  FOR_SAMPLES(sample) {
    const int x = column_of(cell, sample), y = row_of(cell, sample);
    if (!has_pixel(&task, x, y)) continue;
    const Pixel pixel = pixel_at(&task, x, y);
    joined_of(&task, cell)[sample] = nearest(&task, &pixel, INT_MAX, false);
  }
}

// A bit for each of the nine cells around a cell whose sample `sample` belongs to this cell's superpixel.
INLINE uint cells_of_members(const Task* task, Cell cell, int sample) {
  uint cells = 0;
  UNROLLED for (int index = 0; index < CELLS_AROUND; ++index) {
    const Cell there = neighbour(cell, index);
    // Seen from the other cell, this cell lies on the opposite side.
    if (is_inside(task, there) && joined_of(task, there)[sample] == CELLS_AROUND - 1 - index) cells |= 1u << index;
  }
  return cells;
}

// For each of this work item's samples that belong to a cell's superpixel, in the cell `there` of the nine
// around it.
#define FOR_MEMBERS(task, cell, there, sample)                                                                       \
  FOR_SAMPLES(sample)                                                                                                \
  for (uint cells = cells_of_members(task, cell, sample), here; here = cells & -cells, cells ^= here, here != 0;)    \
    for (Cell there = neighbour(cell, popcount(here - 1)); here != 0; here = 0)

kernel OF_CELL void move_centres(global uchar* memory, Map map, OpenclPlaneFill fill) {
  local int sums[MEMBER_TERMS];
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  int own[MEMBER_TERMS] = {0};
  clear(sums, MEMBER_TERMS);
  FOR_MEMBERS(&task, cell, there, sample) {
    const Pixel pixel = pixel_at(&task, column_of(there, sample), row_of(there, sample));
    add_member(own, cell, &pixel);
  }
  add_up(sums, own, MEMBER_TERMS);
  move_centre(&task, cell, sums);
}

static int value_at(const Task* task, int x, int y) {
  const global float* row =
      (const global float*)(task->memory + task->map->disparity) + y * task->map->stride;
  if (!(fabs(row[x]) <= (float)LARGEST)) return NO_SAMPLE;
  return convert_int_rte(row[x] * (float)PLANE_UNIT);
}

// The samples of a superpixel that have a value, in any order. Positions are relative to its centre.
typedef struct {
  int count, members, lowest, highest;
  int value[MOST_SAMPLES];
  char x[MOST_SAMPLES], y[MOST_SAMPLES];
} Values;

INLINE void collect(const Task* task, Cell cell, const local OpenclSuperpixel* centre, local Values* values) {
  if (get_local_id(0) == 0) {
    values->count = values->members = 0;
    values->lowest = NO_SAMPLE;
    values->highest = -NO_SAMPLE;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int members = 0, lowest = NO_SAMPLE, negative_highest = NO_SAMPLE;
  FOR_MEMBERS(task, cell, there, sample) {
    const int x = column_of(there, sample), y = row_of(there, sample), value = value_at(task, x, y);
    ++members;
    if (value == NO_SAMPLE) continue;
    const int place = atomic_inc(&values->count);
    values->value[place] = value;
    values->x[place] = x - centre->x;
    values->y[place] = y - centre->y;
    lowest = min(lowest, value);
    negative_highest = min(negative_highest, -value);
  }
  members = sum_of_warp(members);
  lowest = min_of_warp(lowest);
  negative_highest = min_of_warp(negative_highest);
  if (is_first_of_warp()) {
    atomic_add(&values->members, members);
    atomic_min(&values->lowest, lowest);
    atomic_max(&values->highest, -negative_highest);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// The lower median, by bisection: the lowest value such that more than (count − 1) / 2 are not above it.
// `counts`: of successive rounds; a round clears that of the next.
INLINE int lower_median(const local Values* values, local int (*counts)[1]) {
  int lowest = values->lowest, highest = values->highest;
  clear(counts[0], 1);
  for (int round = 0; lowest < highest; ++round) {
    const int middle = lowest + (highest - lowest) / 2;
    int not_above = 0;
    if (get_local_id(0) == 0) counts[(round + 1) % 3][0] = 0;
    for (int i = get_local_id(0); i < values->count; i += ITEMS) not_above += values->value[i] <= middle;
    add_up(counts[round % 3], &not_above, 1);
    if (counts[round % 3][0] > (values->count - 1) / 2)
      highest = middle;
    else
      lowest = middle + 1;
  }
  return lowest;
}

// Height above the base of a superpixel's plane; positions are relative to its centre.
INLINE int height_at(const Plane* plane, int x, int y) {
  return (plane->a * x + plane->b * y + plane->c + PLANE_UNIT / 2) >> 8;
}

// Terms of PlaneSums in planes.h, in this order: n, x, y, r, xx, xy, yy, xr, yr.
#define PLANE_TERMS 9

// Sums of the values within a tolerance from the plane.
INLINE void sum_near(const local OpenclSuperpixel* superpixel, const local Values* values, int tolerance,
                     local int* sums) {
  int own[PLANE_TERMS] = {0};
  clear(sums, PLANE_TERMS);
  const Plane plane = superpixel->plane;
  for (int i = get_local_id(0); i < values->count; i += ITEMS) {
    const int x = values->x[i], y = values->y[i], r = values->value[i] - plane.base - height_at(&plane, x, y);
    if (r < -tolerance || r > tolerance) continue;
    own[0] += 1;
    own[1] += x;
    own[2] += y;
    own[3] += r;
    own[4] += x * x;
    own[5] += x * y;
    own[6] += y * y;
    own[7] += x * r;
    own[8] += y * r;
  }
  add_up(sums, own, PLANE_TERMS);
}

static long moment(int n, int product, int first, int second) {
  return product - nearest_integer((long)first * second, n);
}

static bool is_too_steep(long slope) {
  const long steepest = 2 * PLANE_UNIT * PLANE_UNIT;
  return slope > steepest || slope < -steepest;
}

// See FittedPlane::correct() in planes.h.
static bool correct(local OpenclSuperpixel* superpixel, const local int* sums) {
  const int n = sums[0], x = sums[1], y = sums[2], r = sums[3];
  if (n < LEAST_SAMPLES) return false;
  const long xx = moment(n, sums[4], x, x), xy = moment(n, sums[5], x, y), yy = moment(n, sums[6], y, y);
  const long xr = moment(n, sums[7], x, r), yr = moment(n, sums[8], y, r);
  const long determinant = xx * yy - xy * xy;
  if (determinant < (long)n * n) return false;
  const long da = nearest_integer((xr * yy - yr * xy) * PLANE_UNIT, determinant);
  const long db = nearest_integer((yr * xx - xr * xy) * PLANE_UNIT, determinant);
  if (is_too_steep(superpixel->plane.a + da) || is_too_steep(superpixel->plane.b + db)) return false;
  superpixel->plane.a += (int)da;
  superpixel->plane.b += (int)db;
  superpixel->plane.c += (int)nearest_integer(PLANE_UNIT * (long)r - da * x - db * y, n);
  return true;
}

// Fits the plane of each superpixel: begins it as the median, if there are enough values, corrects it by
// those up to smaller and smaller tolerances from it, and drops it if too few are near in the end. Finds the
// range of the values.
kernel OF_CELL void fit_planes(global uchar* memory, Map map, OpenclPlaneFill fill) {
  local Values values;
  local int counts[3][1], sums[PLANE_TERMS];
  local OpenclSuperpixel superpixel;
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  if (get_local_id(0) == 0) superpixel = *superpixel_of(&task, cell);
  collect(&task, cell, &superpixel, &values);
  const int median = lower_median(&values, counts);
  if (get_local_id(0) == 0) {
    superpixel.has_plane = values.count >= LEAST_SAMPLES && SAMPLES_PER_VALUE * values.count >= values.members;
    superpixel.plane.base = median;
    superpixel.plane.a = superpixel.plane.b = superpixel.plane.c = 0;
    superpixel.lowest = values.lowest;
    superpixel.highest = values.highest;
  }
  for (int tolerance = WIDEST_TOLERANCE; tolerance >= PLANE_UNIT; tolerance /= 2) {
    sum_near(&superpixel, &values, tolerance, sums);
    if (get_local_id(0) == 0 && superpixel.has_plane) superpixel.has_plane = correct(&superpixel, sums);
  }
  sum_near(&superpixel, &values, PLANE_UNIT, sums);
  if (get_local_id(0) != 0) return;
  if (OF_VALUES * sums[0] < NEAR_VALUES * values.count) superpixel.has_plane = false;
  *superpixel_of(&task, cell) = superpixel;
}

// Cuts a value to the range of the values of the superpixels with a plane, of those of the nine cells around
// a cell.
static int cut_to_range(const Task* task, Cell cell, int value) {
  int lowest = NO_SAMPLE, highest = -NO_SAMPLE;
  for (int index = 0; index < CELLS_AROUND; ++index) {
    const Cell there = neighbour(cell, index);
    if (!is_inside(task, there)) continue;
    const global OpenclSuperpixel* superpixel = superpixel_of(task, there);
    if (!superpixel->has_plane) continue;
    lowest = min(lowest, superpixel->lowest);
    highest = max(highest, superpixel->highest);
  }
  return clamp(value, lowest, highest);
}

// One work item per pixel.
kernel void fill_planes(global uchar* memory, Map map, OpenclPlaneFill fill) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= map.width) return;
  global float* disparity = (global float*)(memory + map.disparity) + y * map.stride + x;
  global uchar* status = memory + map.status + y * map.status_stride + x;
  if (has_value(*disparity) || *status == INPUT_MASKED) return;
  const Task task = {memory, &map, &fill};
  const Pixel pixel = pixel_at(&task, x, y);
  const int index = nearest(&task, &pixel, FARTHEST + 1, true);
  if (index < 0) return;
  const Cell cell = {x / CELL_SIDE, y / CELL_SIDE};
  const global OpenclSuperpixel* chosen = superpixel_of(&task, neighbour(cell, index));
  const Plane plane = chosen->plane;
  const int value = cut_to_range(&task, cell, plane.base + height_at(&plane, x - chosen->x, y - chosen->y));
  *disparity = (float)value * (1.0f / PLANE_UNIT);
  *status = FILLED;
}
