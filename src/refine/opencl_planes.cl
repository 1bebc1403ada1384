// SPDX-License-Identifier: Apache-2.0
// The fill with planes on OpenCL: the same results as fill_planes.cpp. A work group has a cell, and gathers
// what it needs from the nine around it.
//
// Specialised by ITEMS of a work group that has a cell, and plane_definitions().

#define CELL_SAMPLES (CELL_SIDE / SAMPLE_STEP)
#define SAMPLES_OF_CELL (CELL_SAMPLES * CELL_SAMPLES)
#define CELLS_AROUND 9
#define MOST_SAMPLES (CELLS_AROUND * SAMPLES_OF_CELL)
#define OWN_CELL 4
#define OUTSIDE 255  // of the image
#define NO_SAMPLE INT_MAX

static long nearest_integer(long a, long b) {
  return a < 0 ? -((b / 2 - a) / b) : (b / 2 + a) / b;
}

// What all kernels here work on.
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

// The cell `index` of the nine around a cell.
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

// A byte for each sample of the cell.
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

// The nearest of the superpixels that a pixel may join, or of those with a plane, as an index of the nine
// cells; ties go to the first. −1 if there is none closer than `limit`.
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

// For each of this work item's samples of a cell.
#define FOR_SAMPLES(sample) for (int sample = get_local_id(0); sample < SAMPLES_OF_CELL; sample += ITEMS)

// Clears the work group's sums.
static void clear(local int* sums, int terms) {
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    for (int i = 0; i < terms; ++i) sums[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Adds a work item's sums to those of the work group, which are complete when it returns.
static void add_up(local int* sums, const int* own, int terms) {
  for (int i = 0; i < terms; ++i) atomic_add(sums + i, own[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Sums over samples: their number, places relative to the first that the superpixel can have, and colours.
#define MEMBER_TERMS 6

static void add_member(int* sums, Cell cell, const Pixel* pixel) {
  sums[0] += 1;
  sums[1] += pixel->x - (cell.x - 1) * CELL_SIDE;
  sums[2] += pixel->y - (cell.y - 1) * CELL_SIDE;
  for (int i = 0; i < 3; ++i) sums[3 + i] += pixel->colour[i];
}

// Moves the centre of a cell's superpixel to the mean of its samples. Without any, it stays where it is.
static void move_centre(const Task* task, Cell cell, const local int* sums) {
  const int members = sums[0];
  if (get_local_id(0) != 0 || members == 0) return;
  global OpenclSuperpixel* superpixel = superpixel_of(task, cell);
  superpixel->x = (cell.x - 1) * CELL_SIDE + (int)nearest_integer(sums[1], members);
  superpixel->y = (cell.y - 1) * CELL_SIDE + (int)nearest_integer(sums[2], members);
  for (int i = 0; i < 3; ++i) superpixel->colour[i] = (int)nearest_integer(sums[3 + i], members);
}

// Every sample belongs to the superpixel of its own cell. One work group per cell, here and below.
kernel void begin_superpixels(global uchar* memory, Map map, OpenclPlaneFill fill) {
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

kernel void join_nearest(global uchar* memory, Map map, OpenclPlaneFill fill) {
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  FOR_SAMPLES(sample) {
    const int x = column_of(cell, sample), y = row_of(cell, sample);
    if (!has_pixel(&task, x, y)) continue;
    const Pixel pixel = pixel_at(&task, x, y);
    joined_of(&task, cell)[sample] = nearest(&task, &pixel, INT_MAX, false);
  }
}

// The samples of the cell `index` of the nine around a cell; null if it is outside the image.
static const global uchar* samples_around(const Task* task, Cell cell, int index) {
  const Cell there = neighbour(cell, index);
  return is_inside(task, there) ? joined_of(task, there) : 0;
}

// For each of this work item's samples that belong to a cell's superpixel, in the cell `index` of the nine around it.
// Seen from there, this cell lies on the opposite side.
#define FOR_MEMBERS(task, cell, index, sample)                                                          \
  for (int index = 0; index < CELLS_AROUND; ++index)                                                    \
    for (const global uchar* samples = samples_around(task, cell, index); samples != 0; samples = 0)    \
      FOR_SAMPLES(sample)                                                                               \
  if (samples[sample] == CELLS_AROUND - 1 - index)

kernel void move_centres(global uchar* memory, Map map, OpenclPlaneFill fill) {
  local int sums[MEMBER_TERMS];
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  int own[MEMBER_TERMS] = {0};
  clear(sums, MEMBER_TERMS);
  FOR_MEMBERS(&task, cell, index, sample) {
    const Cell there = neighbour(cell, index);
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

// The values of a superpixel's samples, in any order.
typedef struct {
  int count, members, lowest, highest;
  int value[MOST_SAMPLES];
} Values;

static void collect(const Task* task, Cell cell, local Values* values) {
  if (get_local_id(0) == 0) {
    values->count = values->members = 0;
    values->lowest = NO_SAMPLE;
    values->highest = -NO_SAMPLE;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  FOR_MEMBERS(task, cell, index, sample) {
    const Cell there = neighbour(cell, index);
    atomic_inc(&values->members);
    const int value = value_at(task, column_of(there, sample), row_of(there, sample));
    if (value == NO_SAMPLE) continue;
    values->value[atomic_inc(&values->count)] = value;
    atomic_min(&values->lowest, value);
    atomic_max(&values->highest, value);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// The lower median, by bisection: the lowest value such that more than (count − 1) / 2 are not above it.
static int lower_median(const local Values* values, local int* sum) {
  int lowest = values->lowest, highest = values->highest;
  while (lowest < highest) {
    const int middle = lowest + (highest - lowest) / 2;
    int not_above = 0;
    clear(sum, 1);
    for (int i = get_local_id(0); i < values->count; i += ITEMS) not_above += values->value[i] <= middle;
    add_up(sum, &not_above, 1);
    if (*sum > (values->count - 1) / 2)
      highest = middle;
    else
      lowest = middle + 1;
  }
  return lowest;
}

// Begins each plane as the median, if there are enough values, and finds their range.
kernel void begin_planes(global uchar* memory, Map map, OpenclPlaneFill fill) {
  local Values values;
  local int sum;
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  collect(&task, cell, &values);
  const int median = lower_median(&values, &sum);
  if (get_local_id(0) != 0) return;
  global OpenclSuperpixel* superpixel = superpixel_of(&task, cell);
  superpixel->values = values.count;
  superpixel->has_plane = values.count >= LEAST_SAMPLES && SAMPLES_PER_VALUE * values.count >= values.members;
  superpixel->base = median;
  superpixel->a = superpixel->b = superpixel->c = 0;
  superpixel->lowest = values.lowest;
  superpixel->highest = values.highest;
}

// From the base of a superpixel's plane; places are relative to its centre.
static int height_at(const global OpenclSuperpixel* superpixel, int x, int y) {
  return (superpixel->a * x + superpixel->b * y + superpixel->c + PLANE_UNIT / 2) >> 8;
}

// As in planes.h, in this order: n, x, y, r, xx, xy, yy, xr, yr.
#define PLANE_TERMS 9

static void add_near(int* sums, const global OpenclSuperpixel* superpixel, int x, int y, int value,
                     int tolerance) {
  const int r = value - superpixel->base - height_at(superpixel, x, y);
  if (r < -tolerance || r > tolerance) return;
  sums[0] += 1;
  sums[1] += x;
  sums[2] += y;
  sums[3] += r;
  sums[4] += x * x;
  sums[5] += x * y;
  sums[6] += y * y;
  sums[7] += x * r;
  sums[8] += y * r;
}

static long moment(int n, int product, int first, int second) {
  return product - nearest_integer((long)first * second, n);
}

static bool is_too_steep(long slope) {
  const long steepest = 2 * PLANE_UNIT * PLANE_UNIT;
  return slope > steepest || slope < -steepest;
}

// FittedPlane::correct() of planes.h.
static bool correct(global OpenclSuperpixel* superpixel, const local int* sums) {
  const int n = sums[0], x = sums[1], y = sums[2], r = sums[3];
  if (n < LEAST_SAMPLES) return false;
  const long xx = moment(n, sums[4], x, x), xy = moment(n, sums[5], x, y), yy = moment(n, sums[6], y, y);
  const long xr = moment(n, sums[7], x, r), yr = moment(n, sums[8], y, r);
  const long determinant = xx * yy - xy * xy;
  if (determinant < (long)n * n) return false;
  const long da = nearest_integer((xr * yy - yr * xy) * PLANE_UNIT, determinant);
  const long db = nearest_integer((yr * xx - xr * xy) * PLANE_UNIT, determinant);
  if (is_too_steep(superpixel->a + da) || is_too_steep(superpixel->b + db)) return false;
  superpixel->a += (int)da;
  superpixel->b += (int)db;
  superpixel->c += (int)nearest_integer(PLANE_UNIT * (long)r - da * x - db * y, n);
  return true;
}

// Corrects each plane by its values up to a tolerance from it; or drops it, `at_last`, if too few are.
kernel void correct_planes(global uchar* memory, Map map, OpenclPlaneFill fill, int tolerance, int at_last) {
  local int sums[PLANE_TERMS];
  const Task task = {memory, &map, &fill};
  const Cell cell = own_cell();
  global OpenclSuperpixel* superpixel = superpixel_of(&task, cell);
  int own[PLANE_TERMS] = {0};
  clear(sums, PLANE_TERMS);
  FOR_MEMBERS(&task, cell, index, sample) {
    const Cell there = neighbour(cell, index);
    const int x = column_of(there, sample), y = row_of(there, sample), value = value_at(&task, x, y);
    if (value != NO_SAMPLE) add_near(own, superpixel, x - superpixel->x, y - superpixel->y, value, tolerance);
  }
  add_up(sums, own, PLANE_TERMS);
  if (get_local_id(0) != 0 || !superpixel->has_plane) return;
  superpixel->has_plane = at_last ? OF_VALUES * sums[0] >= NEAR_VALUES * superpixel->values : correct(superpixel, sums);
}

// Cuts a value to the range of the values of the superpixels with a plane, of those of the nine cells around a
// cell.
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
  const int value = cut_to_range(&task, cell, chosen->base + height_at(chosen, x - chosen->x, y - chosen->y));
  *disparity = (float)value * (1.0f / PLANE_UNIT);
  *status = FILLED;
}
