// SPDX-License-Identifier: Apache-2.0
// Levels whose tiles consider only candidate labels (candidates.h); in bytes.
//
// The candidates of a tile are numbered from 0 on, in order: these numbers are its slots. A word has the four
// pixels of one colour in a row of a tile; messages from beyond the image are 0.
//
// Specialised by the macros of opencl_values.cl.

#define TILE_SIDE 8
#define WORD_PIXELS 4
#define TILE_LANES (DIRECTIONS * TILE_SIDE)
#define STORED_RANGES 4
#define NO_SLOT 0xFFFF
// Words of a tile's ranges: each range has its first label, and in the upper half the label after its last.
// The number of slots follows the ranges.
#define RANGE_WORDS 8
// A slot has its label, and its slots in the next tiles, by direction; and some padding.
#define LABEL_OF(slots, slot) (slots)[8 * (slot)]
#define LINK_OF(slots, slot, direction) (slots)[8 * (slot) + 1 + (direction)]

#define TILES_OF(memory, pairs, pair) ((memory) + (pair) * (pairs).tiles_apart)

#if PROCESSOR
#define ROWS TILE_SIDE
typedef uint8 Rows;
#else
#define ROWS 1
typedef uint Rows;
#endif

typedef union {
  Rows rows;
  uint of[ROWS];
} RowWords;

// A tile, and the first of a work item's rows.
typedef struct {
  int tile, x, y, row, colour;
  bool exists;
} Place;

static int tiles_down(const OpenclTiles* tiles) {
  return (tiles->height + TILE_SIDE - 1) / TILE_SIDE;
}

static Place place_at(const OpenclTiles* tiles, int tile, int row, int colour) {
  const Place place = {tile,
                       tile % tiles->across,
                       tile / tiles->across,
                       row,
                       colour,
                       TILE_SIDE * (tile / tiles->across) + row < tiles->height};
  return place;
}

static global uint* data_of(global uchar* memory, const OpenclTiles* tiles, int colour, long tile, int slot) {
  return (global uint*)(memory + EITHER(tiles->data, colour)) + (tile * tiles->labels + slot) * TILE_SIDE;
}

static global uint* messages_of(global uchar* memory, const OpenclTiles* tiles, int colour, long tile,
                                int direction) {
  return (global uint*)(memory + EITHER(tiles->messages, colour)) +
         tile * tiles->labels * DIRECTIONS * TILE_SIDE + direction * TILE_SIDE;
}

// Words from a direction's messages in one slot to those in the next.
#define SLOT_WORDS (DIRECTIONS * TILE_SIDE)

static global ushort* slots_of(global uchar* memory, const OpenclTiles* tiles, long tile) {
  return (global ushort*)(memory + tiles->slots) + 8 * tile * tiles->labels;
}

static global uint* ranges_of(global uchar* memory, const OpenclTiles* tiles, long tile) {
  return (global uint*)(memory + tiles->ranges) + tile * RANGE_WORDS;
}

static int slot_count(global uchar* memory, const OpenclTiles* tiles, long tile) {
  return ranges_of(memory, tiles, tile)[STORED_RANGES];
}

static ushort slot_of(global uchar* memory, const OpenclTiles* tiles, long tile, int label) {
  const global uint* ranges = ranges_of(memory, tiles, tile);
  int slot = 0, found = NO_SLOT;
#pragma unroll
  for (int i = 0; i < STORED_RANGES; ++i) {
    const int first = ranges[i] & 0xFFFF, last = ranges[i] >> 16;
    if (label >= first && label < last) found = slot + label - first;
    slot += last - first;
  }
  return found;
}

// The next tile in a direction; negative: there is none.
static int next_tile(const OpenclTiles* tiles, const Place* place, int direction) {
  const int x = place->x + (direction == RIGHT) - (direction == LEFT),
            y = place->y + (direction == BELOW) - (direction == ABOVE);
  return x < 0 || x >= tiles->across || y < 0 || y >= tiles_down(tiles) ? -1 : y * tiles->across + x;
}

static Rows load_rows(const global uint* from) {
  return *(const global Rows*)from;
}

// Slopes (`which` 0) or truncations (1) of the edges of rows from `row` on.
static Rows edges_of(const global uchar* memory, const OpenclTiles* tiles, const OpenclSmoothness* alike,
                     const Place* place, int direction, int which) {
  if (tiles->edges < 0) return (Rows)(0x01010101u * (uint)(which == 0 ? alike->slope : alike->truncation));
  const long tile = (long)place->colour * tiles->across * tiles_down(tiles) + place->tile;
  return load_rows((const global uint*)(memory + tiles->edges) +
                   ((tile * DIRECTIONS + direction) * 2 + which) * TILE_SIDE + place->row);
}

// A mask for the pixels that are in the image.
static Rows inside_mask(const OpenclTiles* tiles, const Place* place) {
  RowWords mask;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int y = place->y * TILE_SIDE + place->row + i;
    const int pixels = pixels_in(tiles->width, y, place->colour) - place->x * WORD_PIXELS;
    mask.of[i] = y >= tiles->height || pixels <= 0 ? 0 : pixels >= WORD_PIXELS ? ~0u : (1u << 8 * pixels) - 1;
  }
  return mask.rows;
}
