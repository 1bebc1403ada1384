// SPDX-License-Identifier: Apache-2.0
// The search of census matching on a GPU with OpenCL. A work item has a column of a strip of ROWS rows, and
// takes labels in pairs, whose costs share a word, in 16 bits each. For a pair it goes down the strip, and
// what the windows reach above and below: the sum of its column of the window is updated by the row that
// enters and the row that leaves. Neighbouring columns are then added up: between the lanes of a warp on
// NVIDIA's GPUs, in local memory on others. The second dimension of a group shares out the labels of the same
// strip.
//
// Below the coarsest level, a strip is searched for the labels that any of its pixels wants; a pixel compares
// only the labels that it wants itself.
//
// Specialised by ROWS (even, at most 32) and STRIDE of signatures, too, and by the macros of lanes.cl.

#define LANES 32
#define COLUMNS (LANES - 2 * RADIUS)  // columns with full windows
#define WINDOW_ROWS (ROWS + 2 * RADIUS)
#define PIXELS (ROWS * LANES)

// A cost and, in the lower half, its label: the lowest key has the lowest cost; ties go to the lowest label.
#define NO_KEY UINT_MAX

// Bits for pairs of labels that must be compared with the best, folded.
#define PAIR_WORDS 32

typedef struct {
#if !NVIDIA
  uint sums[SHARES][PIXELS];  // column sums of a share's pair of labels
#endif
  uint best[PIXELS];          // keys
  uint rivals[PIXELS];        // costs
  ushort before[PIXELS], after[PIXELS];
  uint pairs[PAIR_WORDS];
  int first, end;  // labels
} Shared;

// The pixels of a work item.
typedef struct {
  int side;
  int x, y;     // the topmost pixel
  bool exists;  // false for the items at the end, which have no full windows
} Strip;

static Strip own_strip(const OpenclSearch* search) {
  const int lane = get_local_id(0), x = (int)get_group_id(0) * COLUMNS + lane;
  const Strip strip = {get_group_id(2), x, (int)get_group_id(1) * ROWS,
                       lane < COLUMNS && x < search->level.width};
  return strip;
}

static int pixel_of(int row) {
  return row * LANES + (int)get_local_id(0);
}

// The validity of each row of the strip as a bit, including rows below the image.
static uint validity_of(const global uchar* memory, const OpenclSearch* search, int side, int x, int y) {
  if (!search->masked[side]) return UINT_MAX;
  const int rows = min(ROWS, search->level.height - y);
  uint bits = 0;
  for (int row = 0; row < rows; ++row)
    bits |= (uint)(*validity_at(memory, &search->level, side, x, y + row) != 0) << row;
  return bits;
}

// A bit for each row: whether the other pixel exists and is valid.
static uint candidates(const global uchar* memory, const OpenclSearch* search, const Strip* strip,
                       int label) {
  const int x = other_column(strip->x, search->lowest + label, strip->side);
  if (!strip->exists || label >= search->labels || x < 0 || x >= search->level.width) return 0;
  return validity_of(memory, search, 1 - strip->side, x, strip->y);
}

// The labels for which the pixels of a work item are searched; the same for two rows.
typedef struct {
  Labels of[ROWS / 2];
} Wanted;

static bool wants(const Wanted* wanted, int row, int label) {
  return (uint)(label - wanted->of[row / 2].first) < (uint)wanted->of[row / 2].count;
}

// Also stores in local memory the labels that any pixel of the strip wants.
static void find_wanted(const global uchar* memory, const OpenclSearch* search, const Strip* strip,
                        local Shared* shared, Wanted* wanted) {
  const bool limited = search->above.width > 0;
  if (get_local_id(0) == 0 && get_local_id(1) == 0) {
    // Labels that lead into the other image.
    const int first_x = strip->x, last_x = min(first_x + COLUMNS, search->level.width) - 1;
    const int last_column = search->level.width - 1;
    const int lowest = strip->side == 0 ? first_x - last_column : -last_x;
    const int highest = strip->side == 0 ? last_x : last_column - first_x;
    shared->first = limited ? search->labels : max(lowest - search->lowest, 0);
    shared->end = limited ? 0 : min(highest - search->lowest, search->labels - 1) + 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int first = search->labels, end = 0;
  UNROLLED
  for (int pair = 0; pair < ROWS / 2; ++pair) {
    Labels labels = {0, search->labels};
    if (limited) {
      labels.count = 0;
      const int y = strip->y + 2 * pair;
      if (strip->exists && y < search->level.height)
        labels = labels_around(memory, search, strip->side, strip->x, y);
      if (labels.count > 0) {
        first = min(first, labels.first);
        end = max(end, labels.first + labels.count);
      }
    }
    wanted->of[pair] = labels;
  }
  if (end > 0) {
    atomic_min(&shared->first, first);
    atomic_max(&shared->end, end);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// A column of the base image, from the first row of the windows of the strip's first row on.
typedef struct {
  uint of[WINDOW_ROWS][PLANES];
} BaseColumn;

static const global uint* column_at(const global uchar* memory, const OpenclSearch* search, int side, int x,
                                    int y) {
  const OpenclLevel* level = &search->level;
  return (const global uint*)(memory + level->signatures[side]) + (long)(y - RADIUS) * PLANES * STRIDE +
         clamp(x, 0, level->width - 1);
}

static void load_base(const global uchar* memory, const OpenclSearch* search, const Strip* strip,
                      BaseColumn* base) {
  const global uint* column = column_at(memory, search, strip->side, strip->x - RADIUS, strip->y);
  UNROLLED
  for (int row = 0; row < WINDOW_ROWS; ++row) {
    UNROLLED
    for (int i = 0; i < PLANES; ++i) base->of[row][i] = column[(row * PLANES + i) * STRIDE];
  }
}

static uint pixel_cost(const uint* base, const global uint* other, uint truncation) {
#if WORDS == 3
  // A full adder: the sum and carry of three words save one population count.
  const uint a = base[0] ^ other[0], b = base[1] ^ other[STRIDE], c = base[2] ^ other[2 * STRIDE];
  uint cost = popcount(a ^ b ^ c) + 2 * popcount((a & b) | (c & (a | b)));
#else
  uint cost = popcount(base[0] ^ other[0]);
  UNROLLED
  for (int i = 1; i < WORDS; ++i) cost += popcount(base[i] ^ other[i * STRIDE]);
#endif
#if WITH_GRAY
  cost += min(abs_diff(base[WORDS], other[WORDS * STRIDE]), truncation);
#endif
  return cost;
}

// Finds the sums over the columns of a label and the next one, row by row.
INLINE void sum_columns(const global uchar* memory, const OpenclSearch* search, const Strip* strip,
                        const BaseColumn* base, int label, uint* sums) {
  const int first = strip->x - RADIUS;
  const uint truncation = search->ad_truncation;
  const int low_x = other_column(first, search->lowest + label, strip->side);
  const int high_x = other_column(first, search->lowest + label + 1, strip->side);
  const global uint* low = column_at(memory, search, 1 - strip->side, low_x, strip->y);
  const global uint* high = column_at(memory, search, 1 - strip->side, high_x, strip->y);
  uint sum = 0, ring[WINDOW];
  UNROLLED
  for (int row = 0; row < WINDOW_ROWS; ++row) {
    const uint costs =
        pixel_cost(base->of[row], low, truncation) + (pixel_cost(base->of[row], high, truncation) << 16);
    if (row >= WINDOW) sum -= ring[row % WINDOW];
    sum += costs;
    ring[row % WINDOW] = costs;
    if (row >= 2 * RADIUS) sums[row - 2 * RADIUS] = sum;
    low += PLANES * STRIDE, high += PLANES * STRIDE;
  }
}

#if NVIDIA

// The sum of the values of as many lanes as a window has columns, from this lane on.
INLINE uint sum_of_lanes(uint value) {
  uint sum = 0, span = value;  // `span` is the sum over `step` lanes
  int reach = 0;
  UNROLLED
  for (int step = 1; step <= WINDOW; step *= 2) {
    if ((WINDOW & step) != 0) {
      sum += reach == 0 ? span : from_lane_after(span, reach);
      reach += step;
    }
    if (2 * step <= WINDOW) span += from_lane_after(span, step);
  }
  return sum;
}

// Adds up neighbouring columns to windows.
INLINE void add_columns(uint* sums, local Shared* shared) {
  UNROLLED
  for (int row = 0; row < ROWS; ++row) sums[row] = sum_of_lanes(sums[row]);
}

#else

INLINE void add_columns(uint* sums, local Shared* shared) {
  local uint* columns = shared->sums[get_local_id(1)];
  UNROLLED
  for (int row = 0; row < ROWS; ++row) columns[pixel_of(row)] = sums[row];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < COLUMNS) {
    UNROLLED
    for (int row = 0; row < ROWS; ++row) {
      UNROLLED
      for (int i = 1; i < WINDOW; ++i) sums[row] += columns[pixel_of(row) + i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

#endif

static void add_pair(local Shared* shared, int label, int first) {
  const int pair = (label - first) / 2;
  atomic_or(&shared->pairs[pair / 32 % PAIR_WORDS], 1u << pair % 32);
}

static void prepare_comparison(local Shared* shared, int first) {
  const int share = get_local_id(1);
  if (share == 0) shared->pairs[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int row = share; row < ROWS; row += SHARES) {
    const int pixel = pixel_of(row);
    const uint key = shared->best[pixel];
    shared->rivals[pixel] = NO_COST;
    shared->before[pixel] = shared->after[pixel] = NO_COST;
    if (key == NO_KEY) continue;
    const int label = key & 0xFFFF;
    add_pair(shared, max(label - 1, first), first);
    add_pair(shared, label + 1, first);
  }
}

static bool has_pair(const local Shared* shared, int label, int first) {
  const int pair = (label - first) / 2;
  return (shared->pairs[pair / 32 % PAIR_WORDS] >> pair % 32 & 1) != 0;
}

// Compares a label's cost with the best of a pixel.
static void compare_with_best(local Shared* shared, const Wanted* wanted, int row, int label, int cost) {
  const int pixel = pixel_of(row), difference = label - (int)(shared->best[pixel] & 0xFFFF);
  if (difference == -1) shared->before[pixel] = cost;
  if (difference == 1) shared->after[pixel] = cost;
  if (abs(difference) > 1 && wants(wanted, row, label)) atomic_min(&shared->rivals[pixel], (uint)cost);
}

// Goes through all pairs of labels, to find the best labels or the costs with which they are compared. Costs
// next to the best are used whether they were searched or not.
INLINE void sweep(const global uchar* memory, const OpenclSearch* search, const Strip* strip,
                  const Wanted* wanted, const BaseColumn* base, bool compares, bool rivals,
                  local Shared* shared) {
  const int share = get_local_id(1);
  const int first = compares ? max(shared->first - 1, 0) : shared->first;
  const int end = compares ? min(shared->end + 1, search->labels) : shared->end;
  uint best[ROWS];
  UNROLLED
  for (int row = 0; row < ROWS; ++row) best[row] = NO_KEY;
  if (compares)
    prepare_comparison(shared, first);
  else
    for (int row = share; row < ROWS; row += SHARES) shared->best[pixel_of(row)] = NO_KEY;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int pair = first; pair < end; pair += 2 * SHARES) {
    const int label = pair + 2 * share;
    const bool needed = label < end && (!compares || rivals || has_pair(shared, label, first));
    uint sums[ROWS];
    if (needed) sum_columns(memory, search, strip, base, label, sums);
    if (needed || !NVIDIA) add_columns(sums, shared);
    const uint low = needed ? candidates(memory, search, strip, label) : 0;
    const uint high = needed ? candidates(memory, search, strip, label + 1) : 0;
    if ((low | high) != 0) {
      UNROLLED
      for (int row = 0; row < ROWS; ++row) {
        const uint sum = sums[row];
        const bool has_low = (low >> row & 1) != 0, has_high = (high >> row & 1) != 0;
        if (compares) {
          if (has_low) compare_with_best(shared, wanted, row, label, sum & 0xFFFF);
          if (has_high) compare_with_best(shared, wanted, row, label + 1, sum >> 16);
          continue;
        }
        if (has_low && wants(wanted, row, label)) best[row] = min(best[row], sum << 16 | (uint)label);
        if (has_high && wants(wanted, row, label + 1))
          best[row] = min(best[row], (sum & 0xFFFF0000u) | (uint)(label + 1));
      }
    }
  }
  UNROLLED
  for (int row = 0; row < ROWS; ++row)
    if (best[row] != NO_KEY) atomic_min(&shared->best[pixel_of(row)], best[row]);
  barrier(CLK_LOCAL_MEM_FENCE);
}

static int label_of(uint key) {
  return key == NO_KEY ? NO_LABEL : (int)(key & 0xFFFF);
}

static Found found_of(const local Shared* shared, int pixel, bool compared) {
  const uint key = shared->best[pixel];
  Found found = {label_of(key), key >> 16, NO_COST, NO_COST, NO_COST};
  if (!compared) return found;
  found.before = shared->before[pixel];
  found.after = shared->after[pixel];
  found.rival = shared->rivals[pixel];
  return found;
}

kernel __attribute__((reqd_work_group_size(LANES, SHARES, 1))) void search(global uchar* memory,
                                                                           OpenclSearch search, Map map) {
  local Shared shared;
  const Strip strip = own_strip(&search);
  const bool rivals = needs_rivals(&search, &map);
  const bool compares = makes_map(&search, strip.side) && (rivals || SUB_PIXEL);
  Wanted wanted;
  BaseColumn base;
  find_wanted(memory, &search, &strip, &shared, &wanted);
  load_base(memory, &search, &strip, &base);
  for (int sweeps = 0; sweeps < (compares ? 2 : 1); ++sweeps)
    sweep(memory, &search, &strip, &wanted, &base, sweeps == 1, rivals, &shared);
  if (!strip.exists) return;
  const uint valid = validity_of(memory, &search, strip.side, strip.x, strip.y);
  const int rows = min(ROWS, search.level.height - strip.y);
  for (int row = get_local_id(1); row < rows; row += SHARES) {
    const Found found = found_of(&shared, pixel_of(row), compares);
    store(memory, &search, &map, strip.side, strip.x, strip.y + row, (valid >> row & 1) != 0, &found);
  }
}
