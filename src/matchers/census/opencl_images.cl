// SPDX-License-Identifier: Apache-2.0
// Census matching on OpenCL: makes gray pyramids from the caller's images, and signatures from the pyramids.
//
// Specialised by GRAY (the type of a gray value), GRAY_BITS, SUM (a type that holds nine gray values),
// PROCESSOR (whether the device is one), TILE_COLUMNS and TILE_ROWS that are described together, BEFORE
// (columns of signatures before the image). For a GPU, whose registers cannot be indexed, also by the fields
// of OpenclTransform, and RADIUS (rows above and below the image that repeat its border).

static global GRAY* gray_at(global uchar* memory, const OpenclLevel* level, int side, int x, int y) {
  return (global GRAY*)(memory + level->gray[side]) + y * level->stride + x;
}

static global uchar* validity_at(global uchar* memory, const OpenclLevel* level, int side, int x, int y) {
  return memory + level->validity[side] + y * level->stride + x;
}

// A square of pixels, from which the levels above are made: means of 2×2 pixels never leave the square.
#define SQUARE 4

typedef struct {
  GRAY gray[SQUARE][SQUARE];
  uchar valid[SQUARE][SQUARE];
} Square;

// Halves the square, which has `size` pixels a side from (x, y) of the finer level on.
static void halve_square(const OpenclLevel* fine, int x, int y, int size, Square* square) {
  for (int j = 0; j < size / 2; ++j)
    for (int i = 0; i < size / 2; ++i) {
      // The border is repeated.
      const int left = 2 * i, right = x + left + 1 < fine->width ? left + 1 : left;
      const int above = 2 * j, below = y + above + 1 < fine->height ? above + 1 : above;
      square->gray[j][i] = (GRAY)(((uint)square->gray[above][left] + square->gray[above][right] +
                                   square->gray[below][left] + square->gray[below][right] + 2u) /
                                  4u);
      square->valid[j][i] = square->valid[above][left] | square->valid[above][right] |
                            square->valid[below][left] | square->valid[below][right];
    }
}

static void store_square(global uchar* memory, const OpenclLevel* level, int side, int x, int y, int size,
                         const Square* square) {
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < size; ++i) {
      if (x + i >= level->width || y + j >= level->height) continue;
      *gray_at(memory, level, side, x + i, y + j) = square->gray[j][i];
      *validity_at(memory, level, side, x + i, y + j) = square->valid[j][i];
    }
}

static void store_levels_above(global uchar* memory, const OpenclLevels* levels, int side, int x, int y,
                               Square* square) {
  for (int i = 1, size = SQUARE; i < levels->count; ++i, size /= 2) {
    halve_square(&levels->levels[i - 1], x, y, size, square);
    x /= 2, y /= 2;
    store_square(memory, &levels->levels[i], side, x, y, size / 2, square);
  }
}

// Makes the image's gray values and up to two levels above. One work item per square of both images.
kernel void take(global uchar* memory, Pair pair, OpenclLevels levels) {
  const int x = SQUARE * (int)get_global_id(0), y = SQUARE * (int)get_global_id(1), side = get_global_id(2);
  const int width = levels.levels[0].width, height = levels.levels[0].height;
  if (x >= width || y >= height) return;
  const int channels = pair.channels[side];
  const global GRAY* image = (const global GRAY*)(memory + pair.image[side]);
  Square square;
  for (int j = 0; j < SQUARE; ++j)
    for (int i = 0; i < SQUARE; ++i) {
      const long pixel = (long)min(y + j, height - 1) * width + min(x + i, width - 1);
      const global GRAY* from = image + pixel * channels;
      square.gray[j][i] =
          channels == 1 ? from[0] : (GRAY)((9797u * from[0] + 19234u * from[1] + 3737u * from[2]) >> 15);
      square.valid[j][i] = pair.mask[side] < 0 || memory[pair.mask[side] + pixel] != 0;
    }
  store_square(memory, &levels.levels[0], side, x, y, SQUARE, &square);
  store_levels_above(memory, &levels, side, x, y, &square);
}

// The same, from a level that exists already.
kernel void halve(global uchar* memory, OpenclLevels levels) {
  const int x = SQUARE * (int)get_global_id(0), y = SQUARE * (int)get_global_id(1), side = get_global_id(2);
  const OpenclLevel level = levels.levels[0];
  if (x >= level.width || y >= level.height) return;
  Square square;
  for (int j = 0; j < SQUARE; ++j)
    for (int i = 0; i < SQUARE; ++i) {
      const int u = min(x + i, level.width - 1), v = min(y + j, level.height - 1);
      square.gray[j][i] = *gray_at(memory, &level, side, u, v);
      square.valid[j][i] = *validity_at(memory, &level, side, u, v);
    }
  store_levels_above(memory, &levels, side, x, y, &square);
}

typedef struct {
  int level;  // one of the described levels
  int side;
  int x, y;  // first pixel
} Tile;

static Tile own_tile(const OpenclLevels* levels) {
  const int index = get_group_id(0);
  Tile tile = {0, get_global_id(2), 0, 0};
  while (index >= levels->first_tile[tile.level + 1]) ++tile.level;
  const int within = index - levels->first_tile[tile.level];
  const int tiles_of_row = (levels->levels[tile.level].width + TILE_COLUMNS - 1) / TILE_COLUMNS;
  tile.x = within % tiles_of_row * TILE_COLUMNS;
  tile.y = within / tiles_of_row * TILE_ROWS;
  return tile;
}

#if PROCESSOR

// The pixels that a tile reads with the largest window.
#define REACH 4
#define SEEN_COLUMNS (TILE_COLUMNS + 2 * REACH)
#define SEEN_ROWS (TILE_ROWS + 2 * REACH)

// The offset from a pixel to the neighbour of a bit, in the pixels that the tile reads.
static int step_to(const OpenclTransform* transform, int bit) {
  const int centre = transform->bits / 2, columns = transform->columns;
  const int place = transform->sparse ? bit / 4 * 2 * columns + bit % 4 * 2 : bit < centre ? bit : bit + 1;
  return (place / columns - transform->rows / 2) * SEEN_COLUMNS + place % columns - columns / 2;
}

static void load_row(const global GRAY* row, int width, int x, GRAY* to) {
  if (x >= 0 && x + SEEN_COLUMNS <= width) {
    for (int i = 0; i < SEEN_COLUMNS; ++i) to[i] = row[x + i];
    return;
  }
  for (int i = 0; i < SEEN_COLUMNS; ++i) to[i] = row[clamp(x + i, 0, width - 1)];
}

// The values with which the neighbours of a row of pixels are compared; `centre` is the first of the pixels.
static void find_references(const GRAY* centre, bool modified, GRAY* references) {
  if (!modified) {
    for (int i = 0; i < TILE_COLUMNS; ++i) references[i] = centre[i];
    return;
  }
  for (int i = 0; i < TILE_COLUMNS; ++i) {
    const GRAY *here = centre + i, *above = here - SEEN_COLUMNS, *below = here + SEEN_COLUMNS;
    const SUM sum = (SUM)((SUM)(above[-1] + above[0] + above[1]) + (SUM)(here[-1] + here[0] + here[1]) +
                          (SUM)(below[-1] + below[0] + below[1]));
    references[i] = (GRAY)(sum / (SUM)9);
  }
}

// Writes a row of the tile to a plane, and repeats its border beside the image.
static void store_row(const OpenclLevel* level, int x, const uchar* bytes, global uchar* plane) {
  const int end = min(x + TILE_COLUMNS, level->width);
  if (x + TILE_COLUMNS <= level->width)
    for (int i = 0; i < TILE_COLUMNS; ++i) plane[x + i] = bytes[i];
  else
    for (int i = x; i < end; ++i) plane[i] = bytes[i - x];
  if (x == 0)
    for (int i = 1; i <= BEFORE; ++i) plane[-i] = bytes[0];
  if (end == level->width)
    for (int i = end; i < level->signature_stride - BEFORE; ++i) plane[i] = bytes[end - 1 - x];
}

// Computes signatures. One work item per tile; the tiles of the levels follow one another.
kernel void describe(global uchar* memory, OpenclLevels levels, OpenclTransform transform) {
  const Tile tile = own_tile(&levels);
  const OpenclLevel level = levels.levels[tile.level];
  GRAY seen[SEEN_ROWS * SEEN_COLUMNS], references[TILE_COLUMNS];
  const int rows = min(TILE_ROWS, level.height - tile.y);
  for (int j = 0; j < rows + 2 * REACH; ++j)
    load_row(gray_at(memory, &level, tile.side, 0, clamp(tile.y + j - REACH, 0, level.height - 1)),
             level.width, tile.x - REACH, seen + j * SEEN_COLUMNS);
  for (int row = 0; row < rows; ++row) {
    const GRAY* centre = seen + (row + REACH) * SEEN_COLUMNS + REACH;
    find_references(centre, transform.modified, references);
    global uchar* planes =
        memory + level.signatures[tile.side] + (tile.y + row) * transform.planes * level.signature_stride;
    for (int plane = 0; plane < transform.planes; ++plane) {
      uchar bytes[TILE_COLUMNS];
      for (int i = 0; i < TILE_COLUMNS; ++i) bytes[i] = 0;
      for (int bit = 8 * plane; bit < min(8 * plane + 8, transform.bits); ++bit) {
        const GRAY* neighbours = centre + step_to(&transform, bit);
        const uchar flag = (uchar)(1 << bit % 8);
        for (int i = 0; i < TILE_COLUMNS; ++i) bytes[i] |= neighbours[i] > references[i] ? flag : (uchar)0;
      }
      if (transform.with_gray && plane == transform.planes - 1)
        for (int i = 0; i < TILE_COLUMNS; ++i) bytes[i] = (uchar)(centre[i] >> (GRAY_BITS - 8));
      store_row(&level, tile.x, bytes, planes + plane * level.signature_stride);
    }
  }
}

#else

#define REACH_X (COLUMNS / 2)
#define REACH_Y (ROWS / 2)
// The pixels that a tile reads.
#define SEEN_COLUMNS (TILE_COLUMNS + 2 * REACH_X)
#define SEEN_ROWS (TILE_ROWS + 2 * REACH_Y)

// A work item has ITEM_ROWS pixels of a column; a group has a tile.
#define ITEM_ROWS 4
#define ITEMS_OF_COLUMN (TILE_ROWS / ITEM_ROWS)
#define WORDS ((BITS + 31) / 32)

// Whether a pixel of the window, counted from its top left, is a neighbour.
static bool is_neighbour(int column, int row) {
  return SPARSE ? column % 2 == 0 && row % 2 == 0 : column != REACH_X || row != REACH_Y;
}

static int bit_of(int column, int row) {
  if (SPARSE) return row / 2 * ((COLUMNS + 1) / 2) + column / 2;
  const int place = row * COLUMNS + column;
  return place < BITS / 2 ? place : place - 1;
}

static int reference_value(const local GRAY* seen) {
  if (!MODIFIED) return seen[0];
  int sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) sum += seen[j * SEEN_COLUMNS + i];
  return sum / 9;
}

static void store_words(global uchar* memory, const OpenclLevel* level, int side, int x, int y,
                        const uint* words) {
  global uint* to =
      (global uint*)(memory + level->signatures[side]) + y * PLANES * level->signature_stride + x;
#pragma unroll
  for (int i = 0; i < PLANES; ++i) to[i * level->signature_stride] = words[i];
}

// Computes signatures. The tiles of the levels follow one another.
kernel __attribute__((reqd_work_group_size(TILE_COLUMNS, ITEMS_OF_COLUMN, 1))) void describe(
    global uchar* memory, OpenclLevels levels, OpenclTransform transform) {
  local GRAY seen[SEEN_ROWS * SEEN_COLUMNS];
  const Tile tile = own_tile(&levels);
  const OpenclLevel level = levels.levels[tile.level];
  const int column = get_local_id(0), row = ITEM_ROWS * (int)get_local_id(1);
  for (int i = (int)get_local_id(1) * TILE_COLUMNS + column; i < SEEN_ROWS * SEEN_COLUMNS;
       i += TILE_COLUMNS * ITEMS_OF_COLUMN)
    seen[i] =
        *gray_at(memory, &level, tile.side, clamp(tile.x + i % SEEN_COLUMNS - REACH_X, 0, level.width - 1),
                 clamp(tile.y + i / SEEN_COLUMNS - REACH_Y, 0, level.height - 1));
  barrier(CLK_LOCAL_MEM_FENCE);
  const local GRAY* first = seen + row * SEEN_COLUMNS + column;
  const local GRAY* centre = first + REACH_Y * SEEN_COLUMNS + REACH_X;
  int references[ITEM_ROWS];
  uint words[ITEM_ROWS][PLANES];
#pragma unroll
  for (int p = 0; p < ITEM_ROWS; ++p) {
    references[p] = reference_value(centre + p * SEEN_COLUMNS);
#pragma unroll
    for (int i = 0; i < PLANES; ++i) words[p][i] = 0;
  }
#pragma unroll
  for (int v = ITEM_ROWS + 2 * REACH_Y - 1; v >= 0; --v) {
#pragma unroll
    for (int i = COLUMNS - 1; i >= 0; --i) {
      const int neighbour = first[v * SEEN_COLUMNS + i];
#pragma unroll
      for (int p = 0; p < ITEM_ROWS; ++p) {
        const int j = v - p;
        if (j < 0 || j >= ROWS || !is_neighbour(i, j)) continue;
        // Shifts in the sign of the difference, from the last bit to the first.
        const int word = bit_of(i, j) / 32;
        words[p][word] = words[p][word] << 1 | (uint)(references[p] - neighbour) >> 31;
      }
    }
  }
  const int x = tile.x + column;
  if (x >= level.width) return;
#pragma unroll
  for (int p = 0; p < ITEM_ROWS; ++p) {
    const int y = tile.y + row + p;
    if (y >= level.height) return;
    if (WITH_GRAY) words[p][PLANES - 1] = centre[p * SEEN_COLUMNS] >> (GRAY_BITS - 8);
    store_words(memory, &level, tile.side, x, y, words[p]);
    for (int i = 1; y == 0 && i <= RADIUS; ++i) store_words(memory, &level, tile.side, x, -i, words[p]);
    for (int i = 1; y == level.height - 1 && i <= RADIUS; ++i)
      store_words(memory, &level, tile.side, x, y + i, words[p]);
  }
}

#endif
