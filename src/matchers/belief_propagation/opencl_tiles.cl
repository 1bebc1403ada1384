// SPDX-License-Identifier: Apache-2.0
// Levels whose tiles consider only candidate labels (candidates.h); in bytes.
//
// The candidates of a tile are numbered from 0 on, in order: these numbers are its slots. A word has the four
// pixels of one colour in a row of a tile; messages from beyond the image are 0. On a GPU a work item has a
// row of a tile, on a processor all its rows.
//
// Specialised by ITEMS (work items that open a tile), and by the macros of opencl_values.cl.

#define TILE_SIDE 8
#define WORD_PIXELS 4
#define RANGES 4
#define NO_SLOT 0xFFFF
// Words of a tile's ranges: each range has its first label, and in the upper half the label after its last.
// The number of slots follows the ranges.
#define RANGE_WORDS 8

#if PROCESSOR
#define ROWS TILE_SIDE
typedef uint8 Rows;
#define TO_ROWS(word) __builtin_astype(word, Rows)
#define FROM_ROWS(rows) __builtin_astype(rows, Word)
#else
#define ROWS 1
typedef uint Rows;
#define TO_ROWS(word) (word)
#define FROM_ROWS(rows) (rows)
#endif

typedef union {
  Rows rows;
  uint of[ROWS];
} RowWords;

// The label of a slot, and its slots in the next tiles, by direction.
typedef union {
  ushort8 all;
  ushort of[8];
} Slot;
#define LABEL_OF(slot) (slot).of[0]
#define NEXT_OF(slot, direction) (slot).of[1 + (direction)]

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

static Place own_place(const OpenclTiles* tiles, int colour) {
  const int own = get_global_id(0), of_tile = TILE_SIDE / ROWS;
  return place_at(tiles, own / of_tile, own % of_tile, colour);
}

static global uint* data_of(global uchar* memory, const OpenclTiles* tiles, int colour, long tile, int slot) {
  return (global uint*)(memory + tiles->data[colour]) + (tile * tiles->labels + slot) * TILE_SIDE;
}

static global uint* messages_of(global uchar* memory, const OpenclTiles* tiles, int colour, long tile,
                                int direction) {
  return (global uint*)(memory + tiles->messages[colour]) + tile * tiles->labels * DIRECTIONS * TILE_SIDE +
         direction * TILE_SIDE;
}

// Words from a direction's messages in one slot to those in the next.
#define SLOT_WORDS (DIRECTIONS * TILE_SIDE)

static global ushort8* slots_of(global uchar* memory, const OpenclTiles* tiles, long tile) {
  return (global ushort8*)(memory + tiles->slots) + tile * tiles->labels;
}

static global uint* ranges_of(global uchar* memory, const OpenclTiles* tiles, long tile) {
  return (global uint*)(memory + tiles->ranges) + tile * RANGE_WORDS;
}

static int slot_count(global uchar* memory, const OpenclTiles* tiles, long tile) {
  return ranges_of(memory, tiles, tile)[RANGES];
}

static ushort slot_of(global uchar* memory, const OpenclTiles* tiles, long tile, int label) {
  const global uint* ranges = ranges_of(memory, tiles, tile);
  int slot = 0, found = NO_SLOT;
#pragma unroll
  for (int i = 0; i < RANGES; ++i) {
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

// The sources of a direction's messages: the work item's own tile, and the next one in that direction.
typedef struct {
  const global uint *own, *next;  // addresses of slot 0 and row 0
  Rows bound;                     // the next tile's message for labels that it does not consider
} Source;

static Source find_source(global uchar* memory, const OpenclTiles* tiles, const OpenclSmoothness* alike,
                          const Place* place, int direction) {
  const int next = next_tile(tiles, place, direction);
  const Rows truncation = edges_of(memory, tiles, alike, place, direction, 1), none = (Rows)0;
  Source source;
  source.own = messages_of(memory, tiles, 1 - place->colour, place->tile, direction ^ 1);
  source.next = messages_of(memory, tiles, 1 - place->colour, max(next, 0), direction ^ 1);
  // Shifted like messages.
  source.bound = next < 0             ? none
                 : direction == LEFT  ? truncation << 24
                 : direction == RIGHT ? truncation >> 24
                                      : truncation;
  return source;
}

// Messages from the rows above or below.
INLINE Rows receive_vertical(const Source* source, const Place* place, int direction, int slot,
                             int next_slot) {
  const bool is_above = direction == ABOVE;
#if PROCESSOR
  const Rows own = load_rows(source->own + slot * SLOT_WORDS);
  const uint bound = is_above ? source->bound.s0 : source->bound.s7;
  const uint next =
      next_slot == NO_SLOT ? bound : source->next[next_slot * SLOT_WORDS + (is_above ? TILE_SIDE - 1 : 0)];
  return is_above ? (Rows)(next, own.s0123, own.s456) : (Rows)(own.s1234, own.s567, next);
#else
  const int row = place->row + (is_above ? -1 : 1);
  if (row >= 0 && row < TILE_SIDE) return source->own[slot * SLOT_WORDS + row];
  return next_slot == NO_SLOT ? source->bound
                              : source->next[next_slot * SLOT_WORDS + (row & (TILE_SIDE - 1))];
#endif
}

// Messages from neighbouring columns: in half of the rows those of the same element, in the others those of
// the previous or next element.
INLINE Rows receive_horizontal(const Source* source, const Place* place, int direction, Rows shifts, int slot,
                               int next_slot) {
  const Rows own = load_rows(source->own + slot * SLOT_WORDS + place->row);
  const Rows next =
      next_slot == NO_SLOT ? source->bound : load_rows(source->next + next_slot * SLOT_WORDS + place->row);
  const Rows shifted = direction == LEFT ? own << 8 | next >> 24 : own >> 8 | next << 24;
  return (shifted & shifts) | (own & ~shifts);
}

typedef struct {
  Source from[DIRECTIONS];
  const global uint* data;
  Rows odd;  // all bits set in rows whose first pixel is in column 1
} Sources;

static Sources find_sources(global uchar* memory, const OpenclTiles* tiles, const OpenclSmoothness* alike,
                            const Place* place) {
  Sources sources;
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    sources.from[direction] = find_source(memory, tiles, alike, place, direction);
  sources.data = data_of(memory, tiles, place->colour, place->tile, 0) + place->row;
  RowWords odd;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) odd.of[i] = parity(place->row + i, place->colour) ? ~0u : 0;
  sources.odd = odd.rows;
  return sources;
}

// Loads the messages of a slot; returns the belief.
INLINE Word receive(const Sources* sources, const Place* place, int slot, const Slot* links, Word* messages) {
  const Source* from = sources->from;
  messages[ABOVE] = FROM_ROWS(receive_vertical(&from[ABOVE], place, ABOVE, slot, NEXT_OF(*links, ABOVE)));
  messages[BELOW] = FROM_ROWS(receive_vertical(&from[BELOW], place, BELOW, slot, NEXT_OF(*links, BELOW)));
  messages[LEFT] =
      FROM_ROWS(receive_horizontal(&from[LEFT], place, LEFT, ~sources->odd, slot, NEXT_OF(*links, LEFT)));
  messages[RIGHT] =
      FROM_ROWS(receive_horizontal(&from[RIGHT], place, RIGHT, sources->odd, slot, NEXT_OF(*links, RIGHT)));
  Word belief = FROM_ROWS(load_rows(sources->data + slot * TILE_SIDE));
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) belief = SUM(belief, messages[direction]);
  return belief;
}

// The slope over the distance between two labels; beyond the bound, it has no effect.
INLINE Values slope_over(Values slope, int labels) {
  if (labels == 1) return slope;
#if PROCESSOR
  const Wide product = TO_WIDE(slope) * (ushort)min(labels, BOUND + 1);
  return __builtin_convertvector(lower_wide(product, (Wide)(ushort)NOTHING), Values);
#else
  return slope * (uint)min(labels, BOUND + 1);
#endif
}

// The inputs of a slot in an iteration.
typedef struct {
  int label;
  Word belief, messages[DIRECTIONS];
} Received;

INLINE Received receive_slot(const Sources* sources, const Place* place, const Slot* links, int slot) {
  Received received;
  received.label = LABEL_OF(*links);
  received.belief = receive(sources, place, slot, links, received.messages);
  return received;
}

typedef struct {
  int label;
  Rows rows[DIRECTIONS];
} Stored;

INLINE Stored load_stored(const global ushort8* slots, const global uint* from, int slot) {
  Stored stored;
  stored.label = slots[slot].s0;
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    stored.rows[direction] = load_rows(from + slot * SLOT_WORDS + direction * TILE_SIDE);
  return stored;
}

// One iteration: the messages of one colour, as in opencl_messages.cl. The part from below is kept in the
// message's memory. A GPU loads a slot while it computes the previous one, because compilers move no loads
// across stores.
kernel void update_tiles(global uchar* memory, OpenclTiles tiles, OpenclSmoothness alike, int colour) {
  const Place place = own_place(&tiles, colour);
  if (!place.exists) return;
  const Sources sources = find_sources(memory, &tiles, &alike, &place);
  const int count = slot_count(memory, &tiles, place.tile), last = count - 1;
  if (count == 0) return;
  const global ushort8* slots = slots_of(memory, &tiles, place.tile);
  global uint* to = messages_of(memory, &tiles, colour, place.tile, 0) + place.row;
  Values slope[DIRECTIONS], least[DIRECTIONS], reach[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    slope[direction] = TO_VALUES(FROM_ROWS(edges_of(memory, &tiles, &alike, &place, direction, 0)));
    least[direction] = reach[direction] = all_values(NOTHING);
  }
  int previous = 0;
  Slot links;
  links.all = slots[0];
  Received ahead = receive_slot(&sources, &place, &links, 0);
  links.all = slots[min(1, last)];
  for (int slot = 0; slot < count; ++slot) {
    const Received own = ahead;
    if (slot < last || !PROCESSOR) ahead = receive_slot(&sources, &place, &links, min(slot + 1, last));
    links.all = slots[min(slot + 2, last)];
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      const Values h = TO_VALUES(DIFFERENCE(own.belief, own.messages[direction]));
      const Values way = slope_over(slope[direction], own.label - previous);
      least[direction] = lower(least[direction], h);
      reach[direction] = lower_of_raised(reach[direction], way, h);
      *(global Rows*)(to + slot * SLOT_WORDS + direction * TILE_SIDE) = TO_ROWS(TO_WORD(reach[direction]));
    }
    previous = own.label;
  }
  const Rows mask = inside_mask(&tiles, &place);
  Values highest[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    const Rows truncation = edges_of(memory, &tiles, &alike, &place, direction, 1);
    highest[direction] = raised(least[direction], TO_VALUES(FROM_ROWS(truncation)));
    reach[direction] = all_values(NOTHING);
  }
  Stored stored_ahead = load_stored(slots, to, last);
  for (int slot = last; slot >= 0; --slot) {
    const Stored own = stored_ahead;
    stored_ahead = load_stored(slots, to, max(slot - 1, 0));
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      const Values way = slope_over(slope[direction], previous - own.label);
      reach[direction] = lower_of_raised(reach[direction], way, TO_VALUES(FROM_ROWS(own.rows[direction])));
      const Values message = lower(reach[direction], highest[direction]) - least[direction];
      *(global Rows*)(to + slot * SLOT_WORDS + direction * TILE_SIDE) = TO_ROWS(TO_WORD(message)) & mask;
    }
    previous = own.label;
  }
}

// Decides from the beliefs of a work item's pixels, in the order of labels.
static DecidedPixels decide_pixels(global uchar* memory, const OpenclTiles* tiles,
                                   const OpenclSmoothness* alike, const Place* place) {
  const Sources sources = find_sources(memory, tiles, alike, place);
  const int count = slot_count(memory, tiles, place->tile);
  const global ushort8* slots = slots_of(memory, tiles, place->tile);
  Decision decision = undecided();
  for (int slot = 0; slot < count; ++slot) {
    Slot links;
    Word messages[DIRECTIONS];
    links.all = slots[slot];
    take(&decision, LABEL_OF(links), TO_WIDE(receive(&sources, place, slot, &links, messages)));
  }
  return pixels_of(&decision);
}

// The column and the row of pixel `i` of a work item.
static int2 pixel_of(const Place* place, int i) {
  const int y = place->y * TILE_SIDE + place->row + i / WORD_PIXELS;
  return (int2)(2 * (place->x * WORD_PIXELS + i % WORD_PIXELS) + parity(y, place->colour), y);
}

// z = 2 colours.
kernel void decide_tiles(global uchar* memory, OpenclTiles tiles, OpenclSmoothness alike, OpenclDecision to) {
  const Place place = own_place(&tiles, get_global_id(2));
  if (!place.exists) return;
  const DecidedPixels pixels = decide_pixels(memory, &tiles, &alike, &place);
  for (int i = 0; i < PIXELS; ++i) {
    const int2 pixel = pixel_of(&place, i);
    if (pixel.x >= tiles.width || pixel.y >= tiles.height) continue;
    const Beliefs found = beliefs_of(&pixels, i);
    write_decision(memory, &to, tiles.width, pixel.x, pixel.y, &found);
  }
}

// Finds the label of each pixel's lowest belief. z = 2 colours.
kernel void find_tile_labels(global uchar* memory, OpenclTiles tiles, OpenclSmoothness alike,
                             OpenclLabels best) {
  const Place place = own_place(&tiles, get_global_id(2));
  if (!place.exists) return;
  const DecidedPixels pixels = decide_pixels(memory, &tiles, &alike, &place);
  for (int i = 0; i < PIXELS; ++i) {
    const int2 pixel = pixel_of(&place, i);
    if (pixel.x < tiles.width && pixel.y < tiles.height)
      ((global ushort*)(memory + best.labels))[(long)pixel.y * best.width + pixel.x] = pixels.label.of[i];
  }
}

// Candidates

// A tile's parents are the pixels under it and next to them.
#define MOST_PARENTS ((TILE_SIDE / 2 + 2) * (TILE_SIDE / 2 + 2))
#define MOST_LABELS 1024

// The labels of the lowest beliefs of a tile's parents: a bit for each.
static void find_best(const global uchar* memory, const OpenclLabels* best, int x, int y, uint* found) {
  const int side = TILE_SIDE / 2;
  const int right = min(best->width, (x + 1) * side + 1), bottom = min(best->height, (y + 1) * side + 1);
  for (int v = max(0, y * side - 1); v < bottom; ++v)
    for (int u = max(0, x * side - 1); u < right; ++u) {
      const uint label = ((const global ushort*)(memory + best->labels))[(long)v * best->width + u];
      found[label / 32] |= 1u << label % 32;
    }
}

// Makes ranges of the labels around those in a set; returns the number of ranges.
static int make_ranges(const uint* found, int labels, int slack, int2* ranges) {
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

// Finds the candidates of a tile from the beliefs of the next coarser level: one work item per tile.
kernel void find_candidates(global uchar* memory, OpenclTiles tiles, OpenclLabels best, int slack,
                            int max_ranges) {
  const int tile = get_global_id(0);
  if (tile >= tiles.across * tiles_down(&tiles)) return;
  uint found[MOST_LABELS / 32];
  int2 ranges[MOST_PARENTS];
  for (int i = 0; i <= (tiles.labels - 1) / 32; ++i) found[i] = 0;
  find_best(memory, &best, tile % tiles.across, tile / tiles.across, found);
  int count = make_ranges(found, tiles.labels, slack, ranges);
  while (count > max_ranges) count = join_nearest(ranges, count);
  global uint* to = ranges_of(memory, &tiles, tile);
  global ushort8* slots = slots_of(memory, &tiles, tile);
  int slot = 0;
  for (int i = 0; i < RANGES; ++i) {
    to[i] = i < count ? (uint)ranges[i].x | (uint)ranges[i].y << 16 : 0;
    for (int label = i < count ? ranges[i].x : 0; i < count && label < ranges[i].y; ++label)
      slots[slot++].s0 = label;
  }
  to[RANGES] = slot;
}

// The pixels of a finer level's group from those of its parents, which are neighbours of two colours.
static uint interleave(uint even, uint odd, int x) {
  const uint first = even >> (x % 2 * 16), second = odd >> (x % 2 * 16);
  return (first & 0xFF) | (second & 0xFF) << 8 | (first & 0xFF00) << 8 | (second & 0xFF00) << 16;
}

// The source of the initial messages: `all` labels of the next coarser level (width 0: it has tiles), or
// `tiles`.
typedef struct {
  OpenclLevel all;
  OpenclTiles tiles;
} Coarser;

// The messages that the parents of a tile's rows send, for a direction and a label.
typedef struct {
  const global uint* from[2];  // [colour], addresses of their first row; null = `everywhere`
  long stride;                 // words between rows
  uint everywhere;
} Parents;

static Parents find_parents(global uchar* memory, const Coarser* coarser, const OpenclSmoothness* alike,
                            const Place* place, int direction, int label, int slot) {
  const OpenclTiles* tiles = &coarser->tiles;
  const int x = place->x / 2, row = place->y * TILE_SIDE / 2, tile = place->y / 2 * tiles->across + x;
  Parents parents;
  parents.everywhere = 0x01010101u * (uint)alike->truncation;
#pragma unroll
  for (int colour = 0; colour < 2; ++colour) {
    if (coarser->all.width > 0) {
      const OpenclLevel* all = &coarser->all;
      parents.from[colour] =
          (const global uint*)(messages_at(memory, all, colour, direction, row, 0) + label * all->pitch) + x;
      parents.stride = all->labels * all->pitch / WORD_PIXELS;
      continue;
    }
    const int row_of_tile = row % TILE_SIDE;
    const long edges = ((long)colour * tiles->across * tiles_down(tiles) + tile) * DIRECTIONS + direction;
    parents.stride = 1;
    if (slot != NO_SLOT)
      parents.from[colour] =
          messages_of(memory, tiles, colour, tile, direction) + slot * SLOT_WORDS + row_of_tile;
    else if (tiles->edges >= 0)
      parents.from[colour] =
          (const global uint*)(memory + tiles->edges) + (2 * edges + 1) * TILE_SIDE + row_of_tile;
    else
      parents.from[colour] = 0;
  }
  return parents;
}

// The initial messages of colour 0, which are those of the pixels (x/2, y/2) of the coarser level.
static Rows start_rows(const Parents* parents, const OpenclTiles* tiles, const Place* place) {
  RowWords words;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int y = min(place->row + i, tiles->height - 1 - place->y * TILE_SIDE);
    const int row = y / 2, even = (place->y * TILE_SIDE / 2 + row) & 1;
    const uint first = parents->from[0] ? parents->from[even][row * parents->stride] : parents->everywhere,
               second =
                   parents->from[0] ? parents->from[1 - even][row * parents->stride] : parents->everywhere;
    words.of[i] = interleave(first, second, place->x);
  }
  return words.rows;
}

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

// Begins a level: a tile's slots, its data costs, from those of `all` labels, and the initial messages of
// colour 0; those of colour 1 are never read. One group per tile.
kernel void open_tiles(global uchar* memory, OpenclTiles tiles, OpenclLevel all, OpenclLevel coarser_level,
                       OpenclTiles coarser_tiles, OpenclSmoothness alike) {
  const int tile = get_group_id(0), count = slot_count(memory, &tiles, tile);
  const int items_of_slot = TILE_SIDE / ROWS;
  const Coarser coarser = {coarser_level, coarser_tiles};
  for (int i = get_local_id(0); i < count * items_of_slot; i += ITEMS) {
    const int slot = i / items_of_slot;
    const Place place = place_at(&tiles, tile, i % items_of_slot, 0);
    global ushort8* own = slots_of(memory, &tiles, tile) + slot;
    const int label = own->s0;
    if (place.row == 0) {
      Slot links;
      LABEL_OF(links) = label;
#pragma unroll
      for (int direction = 0; direction < DIRECTIONS; ++direction) {
        const int next = next_tile(&tiles, &place, direction);
        NEXT_OF(links, direction) = next < 0 ? NO_SLOT : slot_of(memory, &tiles, next, label);
      }
      *own = links.all;
    }
    if (!place.exists) continue;
    const Rows mask = inside_mask(&tiles, &place);
#pragma unroll
    for (int colour = 0; colour < 2; ++colour)
      *(global Rows*)(data_of(memory, &tiles, colour, tile, slot) + place.row) =
          data_rows(memory, &all, &place, colour, label);
    const int parent = place.y / 2 * coarser_tiles.across + place.x / 2;
    const int parents_slot =
        coarser_level.width > 0 ? NO_SLOT : slot_of(memory, &coarser_tiles, parent, label);
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      const Parents parents = find_parents(memory, &coarser, &alike, &place, direction, label, parents_slot);
      *(global Rows*)(messages_of(memory, &tiles, 0, tile, direction) + slot * SLOT_WORDS + place.row) =
          start_rows(&parents, &tiles, &place) & mask;
    }
  }
}
