// SPDX-License-Identifier: Apache-2.0
// The search of census matching on a processor with OpenCL. A work item has a tile of the base image; for
// each label that some pixel of it wants, it computes the costs of all its pixels and their sums over the
// window, and updates the best labels. Inner loops go along rows, so that the compiler vectorises them.
//
// Specialised also by ROWS of a tile (even) and TOGETHER, the number of pixel costs whose sum fits in a byte.

// A tile's columns and the columns that its windows reach fill LANES together.
#define LANES 64
#define TILE_COLUMNS (LANES - 2 * RADIUS)
#define TILE_ROWS ROWS
#define COST_ROWS (TILE_ROWS + 2 * RADIUS)
#define PIXELS (TILE_ROWS * LANES)

typedef struct {
  int x, y;         // first pixel
  int width, rows;  // part inside the image
  int side;         // side of the tile's image
} Tile;

// State of a tile's pixels.
typedef struct {
  ushort best[PIXELS], label[PIXELS];
  ushort first[PIXELS], span[PIXELS];  // searched labels: the first, and how many more
  ushort before[PIXELS], after[PIXELS], previous[PIXELS];  // costs next to the best; cost of the last label
  ushort rival[PIXELS];              // the lowest cost searched more than one label away from the best
  ushort distant[PIXELS];            // the lowest cost searched two or more labels before the current one
  ushort previous_searched[PIXELS];  // cost of the last label, if it was searched
} Kept;

// A bit for each label.
#define LABEL_WORDS (65536 / 32)

// Only the words between the first and the last label are in use.
static void want(uint* wanted, Labels labels) {
  const int last = labels.first + labels.count - 1;
  for (int word = labels.first / 32; word <= last / 32; ++word) {
    const int from = max(labels.first - 32 * word, 0), to = min(last - 32 * word, 31);
    wanted[word] |= (UINT_MAX >> (31 - to + from)) << from;
  }
}

// Costs next to the best are used whether they were searched or not.
static void want_neighbours(uint* wanted, int words) {
  uint before = 0;
  for (int word = 0; word < words; ++word) {
    const uint own = wanted[word], after = word + 1 < words ? wanted[word + 1] : 0;
    wanted[word] = own | own << 1 | before >> 31 | own >> 1 | after << 31;
    before = own;
  }
}

static void start_from_estimates(const global uchar* memory, const OpenclSearch* search, const Tile* tile,
                                 uint* wanted, Kept* kept) {
  Labels last = {0, 0};
  for (int row = 0; row < tile->rows; row += 2)
    for (int i = 0; i < tile->width; i += 2) {
      const Labels labels = labels_around(memory, search, tile->side, tile->x + i, tile->y + row);
      const bool none = labels.count == 0;
      // No label is as high as NO_LABEL.
      const ushort first = none ? NO_LABEL : labels.first, span = none ? 0 : labels.count - 1;
      for (int j = row * LANES + i; j <= (row + 1) * LANES + i; j += LANES) {
        kept->first[j] = kept->first[j + 1] = first;
        kept->span[j] = kept->span[j + 1] = span;
      }
      if (!none && (labels.first != last.first || labels.count != last.count)) want(wanted, labels);
      last = labels;
    }
}

// Purposes of a search: the best labels; the costs for sub-pixel disparities; and rivals, too.
#define FIND_BEST 0
#define COMPARE 1
#define COMPARE_WITH_RIVALS 2

// A label of the tile, and the columns whose other pixel exists.
typedef struct {
  int label, shift;
  int first_column, last_column;
} Candidate;

static uchar pixel_cost(const global uchar* base, const global uchar* other, long stride, uchar truncation) {
  uchar cost = 0;
#pragma unroll
  for (int plane = 0; plane < WORDS; ++plane)
    cost += popcount((uchar)(base[plane * stride] ^ other[plane * stride]));
#if WITH_GRAY
  cost += min(abs_diff(base[WORDS * stride], other[WORDS * stride]), truncation);
#endif
  return cost;
}

// Costs of all rows that the windows of the tile reach.
static void find_costs(const global uchar* memory, const OpenclSearch* search, const Tile* tile, int shift,
                       uchar* costs) {
  const OpenclLevel* level = &search->level;
  const long stride = level->signature_stride;
  const uchar truncation = search->ad_truncation;
  const global uchar* base = memory + level->signatures[tile->side] + tile->x - RADIUS;
  const global uchar* other = memory + level->signatures[1 - tile->side] + tile->x - RADIUS - shift;
  for (int row = 0; row < tile->rows + 2 * RADIUS; ++row) {
    const long at = clamp(tile->y - RADIUS + row, 0, level->height - 1) * PLANES * stride;
    for (int i = 0; i < LANES; ++i)
      costs[row * LANES + i] = pixel_cost(base + at + i, other + at + i, stride, truncation);
  }
}

// Sums over the columns of the windows.
static void sum_row(const uchar* costs, ushort* sums) {
  for (int i = 0; i < TILE_COLUMNS; ++i) {
    ushort sum = 0;
#pragma unroll
    for (int j = 0; j < WINDOW; j += TOGETHER) {
      uchar part = 0;
#pragma unroll
      for (int k = j; k < min(j + TOGETHER, WINDOW); ++k) part += costs[i + k];
      sum += part;
    }
    sums[i] = sum;
  }
}

static void drop_missing(const global uchar* memory, const OpenclSearch* search, const Tile* tile,
                         const Candidate* candidate, int row, ushort* costs) {
  for (int i = 0; i < candidate->first_column; ++i) costs[i] = NO_COST;
  for (int i = candidate->last_column; i < tile->width; ++i) costs[i] = NO_COST;
  if (!search->masked[1 - tile->side]) return;
  const global uchar* valid =
      validity_at(memory, &search->level, 1 - tile->side, tile->x - candidate->shift, tile->y + row);
  for (int i = candidate->first_column; i < candidate->last_column; ++i)
    costs[i] = valid[i] != 0 ? costs[i] : NO_COST;
}

// Compares a label's costs with the best ones so far, in a row of the tile. A pixel's interval of labels has
// no gaps, so the last label tried is the previous one wherever it matters.
INLINE void decide_row(const Candidate* candidate, const ushort* costs, Kept* kept, int row, bool neighbours,
                       bool rivals) {
  const ushort current = candidate->label;
  ushort* best = kept->best + row * LANES;
  ushort* label = kept->label + row * LANES;
  const ushort *first = kept->first + row * LANES, *span = kept->span + row * LANES;
  ushort *before = kept->before + row * LANES, *after = kept->after + row * LANES;
  ushort *previous = kept->previous + row * LANES, *rival = kept->rival + row * LANES;
  ushort *distant = kept->distant + row * LANES, *previous_searched = kept->previous_searched + row * LANES;
  for (int i = 0; i < TILE_COLUMNS; ++i) {
    const ushort cost = costs[i];
    const ushort searched = (ushort)(current - first[i]) > span[i] ? NO_COST : cost;
    const bool better = searched < best[i], follows_best = label[i] == (ushort)(current - 1);
    // Loads come first: inside conditions, they would prevent vectorisation of the loop.
    if (rivals) {
      const ushort last = previous_searched[i], distant_so_far = distant[i], rival_so_far = rival[i];
      const ushort own = follows_best ? NO_COST : searched;
      rival[i] = better ? distant_so_far : min(rival_so_far, own);
      distant[i] = min(distant_so_far, last);
      previous_searched[i] = searched;
    }
    if (neighbours) {
      const ushort last = previous[i], before_so_far = before[i], after_so_far = after[i];
      const ushort next = follows_best ? cost : after_so_far;
      before[i] = better ? last : before_so_far;
      after[i] = better ? NO_COST : next;
      previous[i] = cost;
    }
    best[i] = better ? searched : best[i];
    label[i] = better ? current : label[i];
  }
}

static void decide(const Candidate* candidate, const ushort* costs, Kept* kept, int row, int task) {
  const bool neighbours = SUB_PIXEL;
  if (task == FIND_BEST)
    decide_row(candidate, costs, kept, row, false, false);
  else if (task == COMPARE)
    decide_row(candidate, costs, kept, row, neighbours, false);
  else
    decide_row(candidate, costs, kept, row, neighbours, true);
}

static void try_label(const global uchar* memory, const OpenclSearch* search, const Tile* tile,
                      const Candidate* candidate, Kept* kept, int task) {
  const bool all_exist = candidate->first_column == 0 && candidate->last_column == tile->width &&
                         !search->masked[1 - tile->side];
  uchar costs[COST_ROWS * LANES];
  ushort sums[COST_ROWS * LANES], window[TILE_COLUMNS];
  find_costs(memory, search, tile, candidate->shift, costs);
  for (int row = 0; row < tile->rows + 2 * RADIUS; ++row) sum_row(costs + row * LANES, sums + row * LANES);
  for (int i = 0; i < TILE_COLUMNS; ++i) window[i] = 0;
  for (int row = 0; row < 2 * RADIUS; ++row)
    for (int i = 0; i < TILE_COLUMNS; ++i) window[i] += sums[row * LANES + i];
  for (int row = 0; row < tile->rows; ++row) {
    ushort found[TILE_COLUMNS];
    const ushort *entering = sums + (row + 2 * RADIUS) * LANES, *leaving = sums + row * LANES;
    for (int i = 0; i < TILE_COLUMNS; ++i) {
      const ushort sum = window[i] + entering[i];
      found[i] = sum;
      window[i] = sum - leaving[i];
    }
    if (!all_exist) drop_missing(memory, search, tile, candidate, row, found);
    decide(candidate, found, kept, row, task);
  }
}

static void try_labels(const global uchar* memory, const OpenclSearch* search, const Tile* tile,
                       const uint* wanted, Kept* kept, int task) {
  for (int label = 0; label < search->labels; ++label) {
    if (wanted[label / 32] >> label % 32 == 0) {
      label |= 31;
      continue;
    }
    const int disparity = search->lowest + label;
    Candidate candidate;
    candidate.label = label;
    candidate.shift = tile->side == 0 ? disparity : -disparity;
    candidate.first_column = max(0, candidate.shift - tile->x);
    candidate.last_column = min(tile->width, search->level.width + candidate.shift - tile->x);
    if ((wanted[label / 32] >> label % 32 & 1) != 0 && candidate.first_column < candidate.last_column)
      try_label(memory, search, tile, &candidate, kept, task);
  }
}

static void search_tile(const global uchar* memory, const OpenclSearch* search, const Tile* tile, Kept* kept,
                        int task) {
  const int words = (search->labels + 31) / 32;
  const bool limited = search->above.width > 0;
  uint wanted[LABEL_WORDS];
  for (int i = 0; i < PIXELS; ++i) {
    kept->best[i] = NO_COST;
    kept->label[i] = NO_LABEL;
    kept->first[i] = 0;
    kept->span[i] = NO_LABEL;
    if (SUB_PIXEL) kept->before[i] = kept->after[i] = kept->previous[i] = NO_COST;
    kept->rival[i] = kept->distant[i] = kept->previous_searched[i] = NO_COST;
  }
  for (int word = 0; word < words; ++word) wanted[word] = limited ? 0 : UINT_MAX;
  if (limited) start_from_estimates(memory, search, tile, wanted, kept);
  if (task != FIND_BEST && SUB_PIXEL) want_neighbours(wanted, words);
  try_labels(memory, search, tile, wanted, kept, task);
}

static Tile own_tile(const OpenclSearch* search) {
  Tile tile;
  tile.x = TILE_COLUMNS * get_global_id(0);
  tile.y = TILE_ROWS * get_global_id(1);
  tile.side = get_global_id(2);
  tile.width = min(TILE_COLUMNS, search->level.width - tile.x);
  tile.rows = min(TILE_ROWS, search->level.height - tile.y);
  return tile;
}

static bool is_valid(const global uchar* memory, const OpenclSearch* search, const Tile* tile, int x, int y) {
  return !search->masked[tile->side] || *validity_at(memory, &search->level, tile->side, x, y) != 0;
}

static Found found_of(const Kept* kept, int pixel) {
  Found found = {kept->label[pixel], kept->best[pixel], NO_COST, NO_COST, kept->rival[pixel]};
  if (SUB_PIXEL) {
    found.before = kept->before[pixel];
    found.after = kept->after[pixel];
  }
  return found;
}

kernel void search(global uchar* memory, OpenclSearch search, Map map) {
  const Tile tile = own_tile(&search);
  const int task = !makes_map(&search, tile.side) ? FIND_BEST
                   : needs_rivals(&search, &map)  ? COMPARE_WITH_RIVALS
                                                  : COMPARE;
  Kept kept;
  search_tile(memory, &search, &tile, &kept, task);
  for (int row = 0; row < tile.rows; ++row)
    for (int i = 0; i < tile.width; ++i) {
      const int x = tile.x + i, y = tile.y + row;
      const Found found = found_of(&kept, row * LANES + i);
      store(memory, &search, &map, tile.side, x, y, is_valid(memory, &search, &tile, x, y), &found);
    }
}
