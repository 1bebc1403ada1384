// SPDX-License-Identifier: Apache-2.0
// The candidates of tiles (candidates.h), and how a level begins that has them.
//
// Specialised by the macros of opencl_tiles.cl; on a GPU also by OPEN_ITEMS (of a group that opens a tile),
// and by the macros of opencl_image_costs.cl.

// Work items of a group that finds the candidates of a tile.
#if PROCESSOR
#define CANDIDATE_ITEMS 1
#else
#define CANDIDATE_ITEMS TILE_LANES
#endif

// A tile's parents are the pixels under it and next to them.
#define MOST_PARENTS ((TILE_SIDE / 2 + 2) * (TILE_SIDE / 2 + 2))
#define MOST_LABELS 1024

// Adds the labels of the lowest beliefs of a tile's parents to a set, which has a bit for each.
static void find_best(const global uchar* levels, const OpenclLabels* best, int x, int y, local uint* found) {
  const int side = TILE_SIDE / 2, left = max(0, x * side - 1), top = max(0, y * side - 1);
  const int across = min(best->width, (x + 1) * side + 1) - left,
            down = min(best->height, (y + 1) * side + 1) - top;
  for (int i = get_local_id(0); i < across * down; i += CANDIDATE_ITEMS) {
    const long at = (long)(top + i / across) * best->width + left + i % across;
    const uint label = ((const global ushort*)(levels + best->labels))[at];
    atomic_or(&found[label / 32], 1u << label % 32);
  }
}

// Makes ranges of the labels around those in a set; returns the number of ranges.
static int make_ranges(const local uint* found, int labels, int slack, int2* ranges) {
  int count = 0;
  for (int label = 0; label < labels; ++label) {
    const uint rest = found[label / 32] >> label % 32;
    if ((rest & 1) == 0) {
      if (rest == 0) label |= 31;
      continue;
    }
    const int2 range = (int2)(max(0, label - slack), min(labels, label + slack + 1));
    if (count > 0 && range.x <= ranges[count - 1].y)
      ranges[count - 1].y = range.y;
    else
      ranges[count++] = range;
  }
  return count;
}

// Joins the two ranges with the smallest gap between them, the first of equal ones; returns the number of
// ranges left.
static int join_nearest(int2* ranges, int count) {
  int joined = 0;
  for (int i = 1; i + 1 < count; ++i)
    if (ranges[i + 1].x - ranges[i].y < ranges[joined + 1].x - ranges[joined].y) joined = i;
  ranges[joined].y = ranges[joined + 1].y;
  for (int i = joined + 1; i + 1 < count; ++i) ranges[i] = ranges[i + 1];
  return count - 1;
}

// Finds the candidates of a tile from the beliefs of the next coarser level: one group per tile, global
// size z = pairs.
kernel __attribute__((reqd_work_group_size(CANDIDATE_ITEMS, 1, 1))) void find_candidates(
    global uchar* memory, OpenclPairs pairs, OpenclTiles tiles, OpenclLabels best, int slack,
    int max_ranges) {
  const int tile = get_group_id(0), own = get_local_id(0), pair = PAIR_OF(pairs, 1);
  local uint found[MOST_LABELS / 32];
  local int2 ranges[STORED_RANGES];
  for (int i = own; i < MOST_LABELS / 32; i += CANDIDATE_ITEMS) found[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  find_best(LEVELS_OF(memory, pairs, pair), &best, tile % tiles.across, tile / tiles.across, found);
  barrier(CLK_LOCAL_MEM_FENCE);
  memory = TILES_OF(memory, pairs, pair);
  global uint* to = ranges_of(memory, &tiles, tile);
  if (own == 0) {
    int2 all[MOST_PARENTS];
    int count = make_ranges(found, tiles.labels, slack, all), slot = 0;
    while (count > max_ranges) count = join_nearest(all, count);
    for (int i = 0; i < STORED_RANGES; ++i) {
      ranges[i] = i < count ? all[i] : (int2)0;
      to[i] = (uint)ranges[i].x | (uint)ranges[i].y << 16;
      slot += ranges[i].y - ranges[i].x;
    }
    to[STORED_RANGES] = slot;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  global ushort* slots = slots_of(memory, &tiles, tile);
  for (int i = 0, slot = 0; i < STORED_RANGES; ++i) {
    const int labels = ranges[i].y - ranges[i].x;
    for (int k = own; k < labels; k += CANDIDATE_ITEMS) LABEL_OF(slots, slot + k) = ranges[i].x + k;
    slot += labels;
  }
}

// The pixels of a finer level's group from those of its parents, which are neighbours of two colours.
static uint interleave(uint even, uint odd, int x) {
  const uint first = even >> (x % 2 * 16), second = odd >> (x % 2 * 16);
  return (first & 0xFF) | (second & 0xFF) << 8 | (first & 0xFF00) << 8 | (second & 0xFF00) << 16;
}

// The messages that the parents of a tile's rows send, for a direction and a label.
typedef struct {
  const global uint *of_even, *of_odd;  // first rows of colours 0 and 1; null = `everywhere`
  long stride;                          // words between rows
  uint everywhere;
} Parents;

// Address of the first parents of a tile for a label, on a level that considers all labels.
static const global uint* parents_of_all(global uchar* levels, const OpenclLevel* all, const Place* place,
                                         int colour, int direction, int label) {
  const int x = place->x / 2, row = place->y * TILE_SIDE / 2;
#if PROCESSOR
  const long at = label * all->pitch / WORD_PIXELS + x;
#else
  const long at = LABEL_AT(label) + x * all->stored_labels;
#endif
  return (const global uint*)messages_at(levels, all, colour, direction, row, 0) + at;
}

// The same on a level whose tiles have candidates. `slot`: that of the label there.
static const global uint* parents_of_tile(global uchar* memory, global uchar* levels,
                                          const OpenclTiles* tiles, const Place* place, int colour,
                                          int direction, int slot) {
  const int tile = place->y / 2 * tiles->across + place->x / 2, row = place->y * TILE_SIDE / 2 % TILE_SIDE;
  const long edges = ((long)colour * tiles->across * tiles_down(tiles) + tile) * DIRECTIONS + direction;
  return slot != NO_SLOT    ? messages_of(memory, tiles, colour, tile, direction) + slot * SLOT_WORDS + row
         : tiles->edges < 0 ? 0
                            : (const global uint*)(levels + tiles->edges) + (2 * edges + 1) * TILE_SIDE + row;
}

// The initial messages of colour 0, which are those of the pixels (x/2, y/2) of the coarser level.
static Rows start_rows(const Parents* parents, const OpenclTiles* tiles, const Place* place) {
  RowWords words;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int y = min(place->row + i, tiles->height - 1 - place->y * TILE_SIDE);
    const int row = y / 2, colour = (place->y * TILE_SIDE / 2 + row) & 1;
    const long at = row * parents->stride;
    const uint even = parents->of_even ? parents->of_even[at] : parents->everywhere,
               odd = parents->of_odd ? parents->of_odd[at] : parents->everywhere;
    words.of[i] = colour == 0 ? interleave(even, odd, place->x) : interleave(odd, even, place->x);
  }
  return words.rows;
}

// The initial messages of colour 0 in a slot, in a work item's rows. They come from the coarser level, which
// considers `all` labels (width 0: it has tiles), or has `coarser` tiles.
static void start_slot(global uchar* memory, global uchar* levels, const OpenclTiles* tiles,
                       const OpenclLevel* all, const OpenclTiles* coarser, const OpenclSmoothness* alike,
                       const Place* place, int slot, int label) {
  const Rows mask = inside_mask(tiles, place);
  const int parent = place->y / 2 * coarser->across + place->x / 2;
  const int parents_slot = all->width > 0 ? NO_SLOT : slot_of(memory, coarser, parent, label);
#pragma unroll 1
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    Parents parents;
    parents.everywhere = 0x01010101u * (uint)alike->truncation;
    if (all->width > 0) {
      parents.of_even = parents_of_all(levels, all, place, 0, direction, label);
      parents.of_odd = parents_of_all(levels, all, place, 1, direction, label);
      parents.stride = all->stored_labels * all->pitch / WORD_PIXELS;
    } else {
      parents.of_even = parents_of_tile(memory, levels, coarser, place, 0, direction, parents_slot);
      parents.of_odd = parents_of_tile(memory, levels, coarser, place, 1, direction, parents_slot);
      parents.stride = 1;
    }
    *(global Rows*)(messages_of(memory, tiles, 0, place->tile, direction) + slot * SLOT_WORDS + place->row) =
        start_rows(&parents, tiles, place) & mask;
  }
}

#if PROCESSOR

#define COSTS_OF_IMAGE

static Rows data_rows(global uchar* memory, const OpenclLevel* all, const Place* place, int colour,
                      int label) {
  RowWords words;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int y = min(place->y * TILE_SIDE + place->row + i, all->height - 1);
    words.of[i] = *(const global uint*)(data_at(memory, all, colour, y, 0) + label * all->pitch +
                                        place->x * WORD_PIXELS);
  }
  return words.rows;
}

#else

#define COSTS_OF_IMAGE , OpenclInputs inputs, OpenclCosts costs, OpenclImageCosts image

// Slots whose data costs lanes find together, and those costs: bytes [slot][row][colour][pixel].
#define SLOTS_AT_ONCE (OPEN_ITEMS / TILE_SIDE)
#define SLOT_BYTES (TILE_SIDE * TILE_SIDE)
#define ROWS_AT_ONCE 4

// Addresses of a column of the image, and of the right pixels of a label; in row 0.
typedef struct {
  const global ulong *left, *right;
  const global uchar *has_data, *exists;
} Column;

static Column column_at(global uchar* levels, const OpenclInputs* inputs, const OpenclImageCosts* image,
                        int x, int right_x) {
  const int at = x / PARTS, right_at = clamp(right_x >> 1, -1, (inputs->width + 1) / PARTS);
  const Column column = {features_at(levels, inputs, 0, 0, x % PARTS, 0) + at,
                         features_at(levels, inputs, 1, 0, right_x & 1, 0) + right_at,
                         has_data_at(levels, inputs, image, 0, x % PARTS) + at,
                         validity_at(levels, inputs, 1, 0, right_x & 1) + right_at};
  return column;
}

// Finds the data costs of a label in a column of a tile: sums over `side` × `side` pixels of the image. Lanes
// have neighbouring columns, so that they read neighbours.
INLINE void find_data(global uchar* levels, const OpenclInputs* inputs, const OpenclCosts* costs,
                      const OpenclImageCosts* image, const local uint* table, const Place* place, int side,
                      int label, int column, local uchar* data) {
  const int first_x = (place->x * TILE_SIDE + column) * side, first_y = place->y * TILE_SIDE * side;
  const int shift = costs->min_disparity + label, next_row = PARTS * inputs->feature_stride;
  const Column first = column_at(levels, inputs, image, first_x, first_x - shift),
               last = column_at(levels, inputs, image, first_x + side - 1, first_x + side - 1 - shift);
  // As many rows at once as registers allow.
#pragma unroll 1
  for (int row = 0; row < TILE_SIDE * side; row += ROWS_AT_ONCE) {
    uint sums[ROWS_AT_ONCE];
    UNROLLED for (int i = 0; i < ROWS_AT_ONCE; ++i) sums[i] = 0;
    UNROLLED for (int k = 0; k < side; ++k) {
      const Column* from = k == 0 ? &first : &last;
      ulong differences[ROWS_AT_ONCE];
      int tables[ROWS_AT_ONCE];
      UNROLLED for (int i = 0; i < ROWS_AT_ONCE; ++i) {
        const int at = min(first_y + row + i, inputs->height - 1) * next_row;
        differences[i] = from->left[at] ^ from->right[at];
        tables[i] = (from->has_data[at] != 0 ? 0 : 2 * SIGNATURES) + (from->exists[at] != 0 ? 0 : SIGNATURES);
      }
      UNROLLED for (int i = 0; i < ROWS_AT_ONCE; ++i) sums[i / side] +=
          first_y + row + i < inputs->height ? table[tables[i] + (int)popcount(differences[i])] : 0;
    }
    // A tile begins in an even row.
    UNROLLED for (int i = 0; i < ROWS_AT_ONCE / side; ++i) {
      const int to_row = row / side + i;
      data[to_row * TILE_SIDE + (to_row + column) % 2 * WORD_PIXELS + column / 2] = sums[i];
    }
  }
}

#endif

// Begins a level: the links of a tile's slots, its data costs, and the initial messages of colour 0. (The
// initial messages of colour 1 are never read.) On a processor, `all` has data costs of all labels; a GPU
// finds them, and `side` is the number of pixels of the image along a side of a pixel of the level. One
// group per tile, global size z = pairs.
kernel __attribute__((reqd_work_group_size(OPEN_ITEMS, 1, 1))) void open_tiles(
    global uchar* memory, OpenclPairs pairs, OpenclTiles tiles, OpenclLevel all, OpenclLevel coarser_level,
    OpenclTiles coarser_tiles, OpenclSmoothness alike COSTS_OF_IMAGE) {
  const int tile = get_group_id(0), pair = PAIR_OF(pairs, 1);
  global uchar* levels = LEVELS_OF(memory, pairs, pair);
#if !PROCESSOR
  local uint table[COST_TABLE];
  fill_table(&costs, table, get_local_id(0), OPEN_ITEMS);
#endif
  memory = TILES_OF(memory, pairs, pair);
  const int count = slot_count(memory, &tiles, tile);
  global ushort* slots = slots_of(memory, &tiles, tile);
  for (int i = get_local_id(0); i < count * DIRECTIONS; i += OPEN_ITEMS) {
    const int slot = i / DIRECTIONS, direction = i % DIRECTIONS;
    const Place place = place_at(&tiles, tile, 0, 0);
    const int next = next_tile(&tiles, &place, direction);
    LINK_OF(slots, slot, direction) =
        next < 0 ? NO_SLOT : slot_of(memory, &tiles, next, LABEL_OF(slots, slot));
  }
#if PROCESSOR
  for (int slot = 0; slot < count; ++slot) {
    const int label = LABEL_OF(slots, slot);
    const Place place = place_at(&tiles, tile, 0, 0);
#pragma unroll
    for (int colour = 0; colour < 2; ++colour)
      *(global Rows*)data_of(memory, &tiles, colour, tile, slot) =
          data_rows(levels, &all, &place, colour, label);
    start_slot(memory, levels, &tiles, &coarser_level, &coarser_tiles, &alike, &place, slot, label);
  }
#else
  local uchar data[SLOTS_AT_ONCE][SLOT_BYTES] __attribute__((aligned(8)));
  for (int first = 0; first < count; first += SLOTS_AT_ONCE) {
    const int lane = get_local_id(0), own = lane / TILE_SIDE, slot = min(first + own, count - 1);
    const int label = LABEL_OF(slots, slot);
    // First a lane has a column of the tile, then a row.
    const Place place = place_at(&tiles, tile, lane % TILE_SIDE, 0);
    const bool has_slot = first + own < count;
    if (has_slot && image.side == 1)
      find_data(levels, &inputs, &costs, &image, table, &place, 1, label, lane % TILE_SIDE, data[own]);
    if (has_slot && image.side == 2)
      find_data(levels, &inputs, &costs, &image, table, &place, 2, label, lane % TILE_SIDE, data[own]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (has_slot && place.exists) {
      const local uint* words = (const local uint*)&data[own][place.row * TILE_SIDE];
      data_of(memory, &tiles, 0, tile, slot)[place.row] = words[0];
      data_of(memory, &tiles, 1, tile, slot)[place.row] = words[1];
      start_slot(memory, levels, &tiles, &coarser_level, &coarser_tiles, &alike, &place, slot, label);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
}
