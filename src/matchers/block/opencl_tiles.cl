// SPDX-License-Identifier: Apache-2.0
// Block matching on OpenCL: makes the map from filtered images. A work item has a tile of COLUMNS × ROWS
// pixels. For each label it goes down the rows and keeps the sums of the columns; the windows of a row are
// sums of WINDOW neighbouring columns.
//
// Specialised by COLUMNS, ROWS; the types VALUE of a filtered pixel, SUM of a window's sum, COST of a cost
// and a label, whose highest value NO_COST neither has; and by the macros of opencl_decision.cl.

// Columns that the windows of a tile cover.
#define WIDE (COLUMNS + 2 * RADIUS)
#define PIXELS (COLUMNS * ROWS)

typedef struct {
  int x, y;         // its first pixel
  int width, rows;  // its part inside the image
  int side;         // side of the tile's image
} Tile;

static Tile own_tile(const OpenclImages* images) {
  Tile tile;
  tile.x = COLUMNS * get_global_id(0);
  tile.y = ROWS * get_global_id(1);
  tile.side = get_global_id(2);
  tile.width = min(COLUMNS, images->width - tile.x);
  tile.rows = min(ROWS, images->height - tile.y);
  return tile;
}

// The column of the other image that a label compares a column with.
static int other_column(int x, int disparity, int side) {
  return side == 0 ? x - disparity : x + disparity;
}

static const global VALUE* values_at(const global uchar* memory, const OpenclImages* images, int side, int x,
                                     int y) {
  return (const global VALUE*)(memory + images->filtered[side]) + y * images->stride + x;
}

static SUM term(VALUE left, VALUE right) {
#if METHOD == SAD
  return abs_diff(left, right);
#elif METHOD == SSD
  const SUM difference = abs_diff(left, right);
  return difference * difference;
#else
  return (SUM)left * right;
#endif
}

// State of a tile's pixels.
typedef struct {
  COST best[PIXELS];
  COST label[PIXELS];
  COST previous[PIXELS];               // costs of the last label
  COST before[PIXELS], after[PIXELS];  // costs of the labels next to the best one; NO_COST = no candidate
  COST rival[PIXELS];                  // lowest cost of a label more than one away from the best
  uchar textureless[PIXELS];
} Found;

// Sums of WINDOW neighbours, from sums of 1, 2, 4… of them. Overwrites `columns`.
#define DEFINE_SUM_WINDOWS(name, type)                                         \
  static void name(type* columns, type* sums) {                                \
    int done = 0;                                                              \
    for (int i = 0; i < COLUMNS; ++i) sums[i] = 0;                             \
    _Pragma("unroll") for (int level = 0; level < 5; ++level) {                \
      const int some = 1 << level;                                             \
      if (WINDOW & some) {                                                     \
        for (int i = 0; i < COLUMNS; ++i) sums[i] += columns[i + done];        \
        done += some;                                                          \
      }                                                                        \
      if (2 * some <= WINDOW)                                                  \
        for (int i = 0; i < WIDE - some; ++i) columns[i] += columns[i + some]; \
    }                                                                          \
  }

DEFINE_SUM_WINDOWS(sum_windows, SUM)

#if METHOD == ZNCC
// Σ and 1/√(n·Σ² − (Σ)²) of neighbouring windows.
static const global double2* statistics_at(const global uchar* memory, const OpenclImages* images, int side,
                                           int x, int y) {
  return (const global double2*)(memory + images->statistics[side]) + y * images->statistics_stride + x;
}

static COST zncc_cost(SUM products, double2 left, double2 right) {
  const double unit = 1 << 20;
  // Exact, because the integers are below 2⁵³.
  const double covariance = (double)WINDOW_PIXELS * (double)products - left.x * right.x;
  const double correlation = covariance * left.y * right.y;
  return (COST)((1.0 - clamp(correlation, -1.0, 1.0)) * unit + 0.5);
}
#endif

// Finds the costs of a row of the tile.
static void find_costs(const global uchar* memory, const OpenclImages* images, const Tile* tile,
                       int disparity, int y, const SUM* sums, COST* costs) {
#if METHOD == ZNCC
  const global double2* base = statistics_at(memory, images, tile->side, tile->x, y);
  const global double2* other =
      statistics_at(memory, images, 1 - tile->side, other_column(tile->x, disparity, tile->side), y);
  for (int i = 0; i < COLUMNS; ++i)
    costs[i] =
        tile->side == 0 ? zncc_cost(sums[i], base[i], other[i]) : zncc_cost(sums[i], other[i], base[i]);
#else
  for (int i = 0; i < COLUMNS; ++i) costs[i] = sums[i];
#endif
}

static void drop_invalid(const global uchar* valid, COST* costs) {
  for (int i = 0; i < COLUMNS; ++i) costs[i] = valid[i] != 0 ? costs[i] : NO_COST;
}

INLINE void keep_best(const COST* costs, COST label, Found* found, int row, bool with_neighbours) {
  COST* best = found->best + row * COLUMNS;
  COST* labels = found->label + row * COLUMNS;
  COST* previous = found->previous + row * COLUMNS;
  COST* before = found->before + row * COLUMNS;
  COST* after = found->after + row * COLUMNS;
  for (int i = 0; i < COLUMNS; ++i) {
    const COST cost = costs[i];
    const bool better = cost < best[i], follows = (COST)(labels[i] + 1) == label;
    if (with_neighbours) {
      const COST behind = follows ? cost : after[i];
      after[i] = better ? NO_COST : behind;
      before[i] = better ? previous[i] : before[i];
      previous[i] = cost;
    }
    best[i] = better ? cost : best[i];
    labels[i] = better ? label : labels[i];
  }
}

INLINE void keep_rivals(const COST* costs, COST label, Found* found, int row) {
  const COST* labels = found->label + row * COLUMNS;
  COST* rivals = found->rival + row * COLUMNS;
  for (int i = 0; i < COLUMNS; ++i) {
    const bool apart = abs_diff(label, labels[i]) > 1;
    rivals[i] = apart && costs[i] < rivals[i] ? costs[i] : rivals[i];
  }
}

#define FIND_BEST 0
#define FIND_BEST_AND_NEIGHBOURS 1
#define FIND_RIVALS 2

// Goes down the tile with one label.
INLINE void try_label(const global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                      const Tile* tile, int disparity, int task, Found* found) {
  const int other = 1 - tile->side, other_x = other_column(tile->x, disparity, tile->side);
  const bool all_inside = other_x >= 0 && other_x + tile->width <= images->width && !search->masked[other];
  const long stride = images->stride;
  const global VALUE* new_base = values_at(memory, images, tile->side, tile->x - RADIUS, tile->y - RADIUS);
  const global VALUE* new_other = values_at(memory, images, other, other_x - RADIUS, tile->y - RADIUS);
  const global VALUE *old_base = new_base, *old_other = new_other;
  SUM columns[WIDE];
  for (int i = 0; i < WIDE; ++i) columns[i] = 0;
  for (int j = 0; j < 2 * RADIUS; ++j, new_base += stride, new_other += stride)
    for (int i = 0; i < WIDE; ++i) columns[i] += term(new_base[i], new_other[i]);
  for (int row = 0; row < tile->rows; ++row) {
    SUM powers[WIDE], sums[COLUMNS];
    COST costs[COLUMNS];
    for (int i = 0; i < WIDE; ++i) {
      const SUM sum = columns[i] + term(new_base[i], new_other[i]);
      powers[i] = sum;
      columns[i] = sum - term(old_base[i], old_other[i]);
    }
    sum_windows(powers, sums);
    const int y = tile->y + row;
    find_costs(memory, images, tile, disparity, y, sums, costs);
    if (!all_inside)
      drop_invalid(memory + images->validity[other] + y * images->validity_stride + other_x, costs);
    const int label = disparity - search->lowest;
    if (task == FIND_RIVALS)
      keep_rivals(costs, (COST)label, found, row);
    else
      keep_best(costs, (COST)label, found, row, task == FIND_BEST_AND_NEIGHBOURS);
    new_base += stride, new_other += stride;
    old_base += stride, old_other += stride;
  }
}

INLINE void try_labels(const global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                       const Tile* tile, int task, Found* found) {
  // Disparities that lead some pixel of the tile into the other image.
  const int last_x = tile->x + tile->width - 1, last_column = images->width - 1;
  const int lowest = tile->side == 0 ? tile->x - last_column : -last_x;
  const int highest = tile->side == 0 ? last_x : last_column - tile->x;
  const int first = max(search->lowest, lowest), last = min(search->lowest + search->labels - 1, highest);
  for (int disparity = first; disparity <= last; ++disparity)
    try_label(memory, images, search, tile, disparity, task, found);
}

#if TEXTURE
DEFINE_SUM_WINDOWS(sum_responses, uint)

static void find_textureless(const global uchar* memory, const OpenclImages* images, int threshold,
                             const Tile* tile, Found* found) {
  const global VALUE* from = (const global VALUE*)(memory + images->responses) +
                             (tile->y - RADIUS) * images->stride + tile->x - RADIUS;
  for (int row = 0; row < tile->rows; ++row, from += images->stride) {
    uint columns[WIDE], sums[COLUMNS];
    for (int i = 0; i < WIDE; ++i) columns[i] = 0;
    for (int j = 0; j < WINDOW; ++j)
      for (int i = 0; i < WIDE; ++i) columns[i] += abs_diff((int)from[j * images->stride + i], images->cap);
    sum_responses(columns, sums);
    for (int i = 0; i < COLUMNS; ++i) found->textureless[row * COLUMNS + i] = sums[i] < (uint)threshold;
  }
}
#endif

static void decide_left(global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                        const Map* map, const Tile* tile, const Found* found) {
  for (int row = 0; row < tile->rows; ++row) {
    const long y = tile->y + row;
    const global uchar* valid = memory + images->validity[0] + y * images->validity_stride + tile->x;
    global float* disparity = (global float*)(memory + map->disparity) + y * map->stride + tile->x;
    global uchar* status = memory + map->status + y * map->status_stride + tile->x;
    global float* confidence =
        (global float*)(memory + map->confidence) + y * map->confidence_stride + tile->x;
    for (int i = 0; i < tile->width; ++i) {
      const int pixel = row * COLUMNS + i;
      const Costs costs = {found->best[pixel], found->before[pixel], found->after[pixel], found->rival[pixel]};
      status[i] = status_of(&costs, valid[i] != 0, found->textureless[pixel]);
      disparity[i] =
          status[i] == MATCHED ? refined(&costs, search->lowest + (int)found->label[pixel]) : NO_VALUE;
      if (map->confidence >= 0) confidence[i] = confidence_of(&costs, valid[i] != 0);
    }
  }
}

static void decide_right(global uchar* memory, const OpenclImages* images, const OpenclSearch* search,
                         const Tile* tile, const Found* found) {
  for (int row = 0; row < tile->rows; ++row) {
    const long y = tile->y + row;
    const global uchar* valid = memory + images->validity[1] + y * images->validity_stride + tile->x;
    global float* disparity = (global float*)(memory + search->right) + y * search->right_stride + tile->x;
    for (int i = 0; i < tile->width; ++i) {
      const int pixel = row * COLUMNS + i;
      disparity[i] = valid[i] != 0 && found->best[pixel] != NO_COST
                         ? (float)(search->lowest + (int)found->label[pixel])
                         : NO_VALUE;
    }
  }
}

kernel void match(global uchar* memory, OpenclImages images, OpenclSearch search, Map map) {
  const Tile tile = own_tile(&images);
  if (tile.width <= 0 || tile.rows <= 0) return;
  Found found;
  for (int i = 0; i < PIXELS; ++i) {
    found.best[i] = found.previous[i] = found.before[i] = found.after[i] = NO_COST;
    found.label[i] = NO_COST - 1;  // adjoins no label
    found.rival[i] = NO_COST;
  }
  if (tile.side == 1) {
    try_labels(memory, &images, &search, &tile, FIND_BEST, &found);
    decide_right(memory, &images, &search, &tile, &found);
    return;
  }
  try_labels(memory, &images, &search, &tile,
             SUB_PIXEL != NO_SUB_PIXEL ? FIND_BEST_AND_NEIGHBOURS : FIND_BEST, &found);
  if (UNIQUENESS > 0 || map.confidence >= 0) try_labels(memory, &images, &search, &tile, FIND_RIVALS, &found);
#if TEXTURE
  find_textureless(memory, &images, search.texture_threshold, &tile, &found);
#endif
  decide_left(memory, &images, &search, &map, &tile, &found);
}

#if METHOD == ZNCC
// Statistics of all windows, for a tile of each image.
kernel void find_statistics(global uchar* memory, OpenclImages images) {
  const Tile tile = own_tile(&images);
  if (tile.width <= 0 || tile.rows <= 0) return;
  for (int row = 0; row < tile.rows; ++row) {
    const global VALUE* from = values_at(memory, &images, tile.side, tile.x - RADIUS, tile.y + row - RADIUS);
    SUM columns[WIDE], squares_of_columns[WIDE], sums[COLUMNS], squares[COLUMNS];
    for (int i = 0; i < WIDE; ++i) columns[i] = squares_of_columns[i] = 0;
    for (int j = 0; j < WINDOW; ++j)
      for (int i = 0; i < WIDE; ++i) {
        const SUM value = from[j * images.stride + i];
        columns[i] += value;
        squares_of_columns[i] += value * value;
      }
    sum_windows(columns, sums);
    sum_windows(squares_of_columns, squares);
    global double2* to = (global double2*)(memory + images.statistics[tile.side]) +
                         (tile.y + row) * images.statistics_stride + tile.x;
    for (int i = 0; i < tile.width; ++i) {
      const long sum = sums[i], variance = WINDOW_PIXELS * (long)squares[i] - sum * sum;
      to[i] = (double2)((double)sum, variance > 0 ? 1.0 / sqrt((double)variance) : 0.0);
    }
  }
}
#endif
