// SPDX-License-Identifier: Apache-2.0
// Levels whose tiles consider only candidate labels (candidates.h); in bytes.
//
// The candidates of a tile are numbered from 0 on, in order: these numbers are its slots. A word has the four
// pixels of one colour in a row of a tile; messages from beyond the image are 0. On a processor a work item has
// a tile; on a GPU, TILE_LANES have one: a lane receives and sends the messages of one direction for a row.
//
// Specialised by the macros of opencl_values.cl; on a GPU also by TILES_OF_GROUP (more than 1 only where lanes
// exchange values without local memory), OPEN_ITEMS (of a group that opens a tile), and by the macros of opencl_image_costs.cl.

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
  return (global uint*)(memory + EITHER(tiles->messages, colour)) + tile * tiles->labels * DIRECTIONS * TILE_SIDE +
         direction * TILE_SIDE;
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

#if PROCESSOR

static Place own_place(const OpenclTiles* tiles, int colour) {
  return place_at(tiles, get_global_id(0), 0, colour);
}

// The sources of a direction's messages: the work item's own tile, and the next one in that direction.
typedef struct {
  const global uint *own, *next;  // addresses of slot 0 and row 0
  Rows bound;                     // the next tile's message for labels that it does not consider
} Source;

static Source find_source(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles, const OpenclSmoothness* alike,
                          const Place* place, int direction) {
  const int next = next_tile(tiles, place, direction);
  const Rows truncation = edges_of(levels, tiles, alike, place, direction, 1), none = (Rows)0;
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
  const Rows own = load_rows(source->own + slot * SLOT_WORDS);
  const uint bound = is_above ? source->bound.s0 : source->bound.s7;
  const uint next =
      next_slot == NO_SLOT ? bound : source->next[next_slot * SLOT_WORDS + (is_above ? TILE_SIDE - 1 : 0)];
  return is_above ? (Rows)(next, own.s0123, own.s456) : (Rows)(own.s1234, own.s567, next);
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

static Sources find_sources(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles, const OpenclSmoothness* alike,
                            const Place* place) {
  Sources sources;
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    sources.from[direction] = find_source(memory, levels, tiles, alike, place, direction);
  sources.data = data_of(memory, tiles, place->colour, place->tile, 0) + place->row;
  RowWords odd;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) odd.of[i] = parity(place->row + i, place->colour) ? ~0u : 0;
  sources.odd = odd.rows;
  return sources;
}

// Loads the messages of a slot; returns the belief.
INLINE Word receive(const Sources* sources, const Place* place, int slot, const global ushort* slots, Word* messages) {
  const Source* from = sources->from;
  messages[ABOVE] = FROM_ROWS(receive_vertical(&from[ABOVE], place, ABOVE, slot, LINK_OF(slots, slot, ABOVE)));
  messages[BELOW] = FROM_ROWS(receive_vertical(&from[BELOW], place, BELOW, slot, LINK_OF(slots, slot, BELOW)));
  messages[LEFT] =
      FROM_ROWS(receive_horizontal(&from[LEFT], place, LEFT, ~sources->odd, slot, LINK_OF(slots, slot, LEFT)));
  messages[RIGHT] =
      FROM_ROWS(receive_horizontal(&from[RIGHT], place, RIGHT, sources->odd, slot, LINK_OF(slots, slot, RIGHT)));
  Word belief = FROM_ROWS(load_rows(sources->data + slot * TILE_SIDE));
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) belief = SUM(belief, messages[direction]);
  return belief;
}

// The slope over the distance between two labels; beyond the bound, it has no effect.
INLINE Values slope_over(Values slope, int labels) {
  if (labels == 1) return slope;
  const Wide product = TO_WIDE(slope) * (ushort)min(labels, BOUND + 1);
  return __builtin_convertvector(lower_wide(product, (Wide)(ushort)NOTHING), Values);
}

// The inputs of a slot in an iteration.
typedef struct {
  int label;
  Word belief, messages[DIRECTIONS];
} Received;

INLINE Received receive_slot(const Sources* sources, const Place* place, const global ushort* slots, int slot) {
  Received received;
  received.label = LABEL_OF(slots, slot);
  received.belief = receive(sources, place, slot, slots, received.messages);
  return received;
}

typedef struct {
  int label;
  Rows rows[DIRECTIONS];
} Stored;

INLINE Stored load_stored(const global ushort* slots, const global uint* from, int slot) {
  Stored stored;
  stored.label = LABEL_OF(slots, slot);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    stored.rows[direction] = load_rows(from + slot * SLOT_WORDS + direction * TILE_SIDE);
  return stored;
}

// One iteration: the messages of one colour, as in opencl_messages.cl. The part from below is kept in the
// message's memory. Global size z = pairs.
kernel void update_tiles(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles, OpenclSmoothness alike,
                         int colour) {
  const Place place = own_place(&tiles, colour);
  if (!place.exists) return;
  const int pair = PAIR_OF(pairs, 1);
  const global uchar* levels = LEVELS_OF(memory, pairs, pair);
  memory = TILES_OF(memory, pairs, pair);
  const Sources sources = find_sources(memory, levels, &tiles, &alike, &place);
  const int count = slot_count(memory, &tiles, place.tile), last = count - 1;
  if (count == 0) return;
  const global ushort* slots = slots_of(memory, &tiles, place.tile);
  global uint* to = messages_of(memory, &tiles, colour, place.tile, 0) + place.row;
  Values slope[DIRECTIONS], least[DIRECTIONS], reach[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    slope[direction] = TO_VALUES(FROM_ROWS(edges_of(levels, &tiles, &alike, &place, direction, 0)));
    least[direction] = reach[direction] = all_values(NOTHING);
  }
  int previous = 0;
  for (int slot = 0; slot < count; ++slot) {
    const Received own = receive_slot(&sources, &place, slots, slot);
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
    const Rows truncation = edges_of(levels, &tiles, &alike, &place, direction, 1);
    highest[direction] = raised(least[direction], TO_VALUES(FROM_ROWS(truncation)));
    reach[direction] = all_values(NOTHING);
  }
  for (int slot = last; slot >= 0; --slot) {
    const Stored own = load_stored(slots, to, slot);
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
static DecidedPixels decide_pixels(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles,
                                   const OpenclSmoothness* alike, const Place* place) {
  const Sources sources = find_sources(memory, levels, tiles, alike, place);
  const int count = slot_count(memory, tiles, place->tile);
  const global ushort* slots = slots_of(memory, tiles, place->tile);
  Decision decision = undecided();
  for (int slot = 0; slot < count; ++slot) {
    Word messages[DIRECTIONS];
    take(&decision, LABEL_OF(slots, slot), TO_WIDE(receive(&sources, place, slot, slots, messages)));
  }
  return pixels_of(&decision);
}

// The column and the row of pixel `i` of a work item.
static int2 pixel_of(const Place* place, int i) {
  const int y = place->y * TILE_SIDE + place->row + i / WORD_PIXELS;
  return (int2)(2 * (place->x * WORD_PIXELS + i % WORD_PIXELS) + parity(y, place->colour), y);
}

// z = 2 colours of each pair.
kernel void decide_tiles(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles, OpenclSmoothness alike,
                         OpenclDecisions to) {
  const Place place = own_place(&tiles, get_global_id(2) % 2);
  if (!place.exists) return;
  const int pair = PAIR_OF(pairs, 2);
  const DecidedPixels pixels = decide_pixels(TILES_OF(memory, pairs, pair), LEVELS_OF(memory, pairs, pair),
                                             &tiles, &alike, &place);
  const OpenclDecision own_map = map_of(&to, pair);
  for (int i = 0; i < PIXELS; ++i) {
    const int2 pixel = pixel_of(&place, i);
    if (pixel.x >= tiles.width || pixel.y >= tiles.height) continue;
    const Beliefs found = beliefs_of(&pixels, i);
    write_decision(memory, &own_map, tiles.width, pixel.x, pixel.y, &found);
  }
}

// Finds the label of each pixel's lowest belief. z = 2 colours of each pair.
kernel void find_tile_labels(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles,
                             OpenclSmoothness alike, OpenclLabels best) {
  const Place place = own_place(&tiles, get_global_id(2) % 2);
  if (!place.exists) return;
  const int pair = PAIR_OF(pairs, 2);
  global uchar* levels = LEVELS_OF(memory, pairs, pair);
  const DecidedPixels pixels =
      decide_pixels(TILES_OF(memory, pairs, pair), levels, &tiles, &alike, &place);
  for (int i = 0; i < PIXELS; ++i) {
    const int2 pixel = pixel_of(&place, i);
    if (pixel.x < tiles.width && pixel.y < tiles.height)
      ((global ushort*)(levels + best.labels))[(long)pixel.y * best.width + pixel.x] = pixels.label.of[i];
  }
}

#else

#define TILE_GROUP __attribute__((reqd_work_group_size(TILES_OF_GROUP * TILE_LANES, 1, 1)))

static Place own_place(const OpenclTiles* tiles, int colour) {
  return place_at(tiles, get_global_id(0) / TILE_LANES, get_local_id(0) % TILE_SIDE, colour);
}

static int own_direction(void) {
  return get_local_id(0) % TILE_LANES / TILE_SIDE;
}

// The sources of a lane's messages: words of its own tile, and of the next one in its direction.
typedef struct {
  const global uint *own, *next, *data;  // addresses of slot 0
  const global ushort* slots;
  int direction, last_slot;
  bool has_next;
  uint bound;  // the next tile's message for labels that it does not consider
  uint bytes;  // the message, for bytes_of(own, next)
} Source;

static Source find_source(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles,
                          const OpenclSmoothness* alike, const Place* place, int direction) {
  const uint all_of_own = 0x3210, all_of_next = 0x7654, shifted_up = 0x2107, shifted_down = 0x4321;
  const bool odd = parity(place->row, place->colour) != 0, is_vertical = direction < LEFT;
  const int step = direction % 2 == 0 ? -1 : 1, row = place->row + (is_vertical ? step : 0);
  // The last of the pixels beside a word may be in the next tile.
  const bool is_beside = !is_vertical && odd == (direction == RIGHT);
  const bool is_beyond = row < 0 || row >= TILE_SIDE;
  const int next = next_tile(tiles, place, direction);
  const uint truncation = edges_of(levels, tiles, alike, place, direction, 1);
  Source source;
  source.direction = direction;
  source.has_next = next >= 0 && (is_beside || is_beyond);
  source.slots = slots_of(memory, tiles, place->tile);
  source.last_slot = slot_count(memory, tiles, place->tile) - 1;
  const int at = row & (TILE_SIDE - 1);
  source.own = messages_of(memory, tiles, 1 - place->colour, place->tile, direction ^ 1) + at;
  source.next = messages_of(memory, tiles, 1 - place->colour, max(next, 0), direction ^ 1) + at;
  source.data = data_of(memory, tiles, place->colour, place->tile, 0) + place->row;
  source.bytes = is_beyond ? all_of_next : !is_beside ? all_of_own : odd ? shifted_down : shifted_up;
  source.bound = !source.has_next ? 0 : is_vertical ? truncation : odd ? truncation >> 24 : truncation << 24;
  return source;
}

// Slots whose words are loaded together; those beyond the last are the last one, which changes no results.
#define AT_ONCE 2

typedef struct {
  uint label[AT_ONCE], next[AT_ONCE];
} Links;

INLINE int slot_at(const Source* source, int first, int j) {
  return clamp(first + j, 0, source->last_slot);
}

INLINE Links load_links(const Source* source, int first) {
  Links links;
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
    const int slot = slot_at(source, first, j);
    links.label[j] = LABEL_OF(source->slots, slot);
    links.next[j] = source->has_next ? LINK_OF(source->slots, slot, source->direction) : NO_SLOT;
  }
  return links;
}

typedef struct {
  uint label[AT_ONCE], own[AT_ONCE], next[AT_ONCE], data[AT_ONCE];
} Batch;

INLINE Batch load_batch(const Source* source, const Links* links, int first) {
  Batch batch;
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
    const int slot = slot_at(source, first, j);
    batch.label[j] = links->label[j];
    batch.own[j] = source->own[slot * SLOT_WORDS];
    batch.next[j] = links->next[j] == NO_SLOT ? source->bound : source->next[links->next[j] * SLOT_WORDS];
    batch.data[j] = source->data[slot * TILE_SIDE];
  }
  return batch;
}

// The candidates of a tile, in order. The words of the next slots, and the links of those after them, are
// loaded while a batch is in use.
typedef struct {
  Source source;
  Links links;
  Batch batch;
  int first;
} Reader;

INLINE Reader start_reading(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles,
                            const OpenclSmoothness* alike, const Place* place) {
  Reader reader;
  reader.source = find_source(memory, levels, tiles, alike, place, own_direction());
  reader.first = 0;
  reader.links = load_links(&reader.source, 0);
  reader.batch = load_batch(&reader.source, &reader.links, 0);
  reader.links = load_links(&reader.source, AT_ONCE);
  return reader;
}

INLINE bool has_batch(const Reader* reader) {
  return reader->first <= reader->source.last_slot;
}

INLINE Batch read_batch(Reader* reader) {
  const Batch batch = reader->batch;
  reader->first += AT_ONCE;
  if (has_batch(reader)) {
    reader->batch = load_batch(&reader->source, &reader->links, reader->first);
    reader->links = load_links(&reader->source, reader->first + AT_ONCE);
  }
  return batch;
}

#if NVIDIA
#define EXCHANGED_WORDS 1
#else
#define EXCHANGED_WORDS (AT_ONCE * TILE_LANES)
#endif

// The messages and the beliefs of a batch. The lanes of a row have one direction each.
INLINE void receive(const Reader* reader, const Batch* batch, local uint* exchanged, uint* messages,
                    uint* beliefs) {
  UNROLLED for (int j = 0; j < AT_ONCE; ++j)
    messages[j] = bytes_of(batch->own[j], batch->next[j], reader->source.bytes);
#if NVIDIA
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
    uint sum = messages[j];
    UNROLLED for (int step = TILE_SIDE; step < TILE_LANES; step *= 2) sum += from_lane_across(sum, step);
    beliefs[j] = batch->data[j] + sum;
  }
#else
  const int lane = get_local_id(0), row = lane % TILE_SIDE;
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) exchanged[j * TILE_LANES + lane] = messages[j];
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
    beliefs[j] = batch->data[j];
    for (int direction = 0; direction < DIRECTIONS; ++direction)
      beliefs[j] += exchanged[j * TILE_LANES + direction * TILE_SIDE + row];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

// The slope over the distance between two labels; beyond the bound, it has no effect.
INLINE Values slope_over(Values slope, int labels) {
  return slope * (uint)min(labels, BOUND + 1);
}

// One iteration: the messages of one colour, as in opencl_messages.cl. The part from below is kept in the
// message's memory. Global size z = pairs.
kernel TILE_GROUP void update_tiles(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles,
                                    OpenclSmoothness alike, int colour) {
  local uint exchanged[EXCHANGED_WORDS];
  const Place place = own_place(&tiles, colour);
  if (place.y >= tiles_down(&tiles)) return;
  const int pair = PAIR_OF(pairs, 1), direction = own_direction();
  const global uchar* levels = LEVELS_OF(memory, pairs, pair);
  memory = TILES_OF(memory, pairs, pair);
  Reader reader = start_reading(memory, levels, &tiles, &alike, &place);
  const Source* source = &reader.source;
  global uint* to = messages_of(memory, &tiles, colour, place.tile, direction) + place.row;
  const Values slope = TO_VALUES(edges_of(levels, &tiles, &alike, &place, direction, 0)),
               truncation = TO_VALUES(edges_of(levels, &tiles, &alike, &place, direction, 1));
  Values least = all_values(NOTHING), reach = least;
  int previous = 0;
  while (has_batch(&reader)) {
    const int first = reader.first;
    const Batch batch = read_batch(&reader);
    uint messages[AT_ONCE], beliefs[AT_ONCE];
    receive(&reader, &batch, exchanged, messages, beliefs);
    UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
      const int label = batch.label[j];
      const Values h = TO_VALUES(beliefs[j] - messages[j]);
      least = lower(least, h);
      reach = lower_of_raised(reach, slope_over(slope, label - previous), h);
      previous = label;
      to[slot_at(source, first, j) * SLOT_WORDS] = TO_WORD(reach);
    }
  }
  const uint mask = inside_mask(&tiles, &place);
  const Values highest = raised(least, truncation);
  reach = all_values(NOTHING);
  uint words[AT_ONCE], labels[AT_ONCE];
  int first = source->last_slot / AT_ONCE * AT_ONCE;
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
    words[j] = to[slot_at(source, first, j) * SLOT_WORDS];
    labels[j] = LABEL_OF(source->slots, slot_at(source, first, j));
  }
  for (; first >= 0; first -= AT_ONCE) {
    // Compilers move no loads across stores.
    uint words_before[AT_ONCE], labels_before[AT_ONCE];
    UNROLLED for (int j = 0; j < AT_ONCE; ++j) {
      words_before[j] = to[slot_at(source, first - AT_ONCE, j) * SLOT_WORDS];
      labels_before[j] = LABEL_OF(source->slots, slot_at(source, first - AT_ONCE, j));
    }
    UNROLLED for (int j = AT_ONCE - 1; j >= 0; --j) {
      reach = lower_of_raised(reach, slope_over(slope, previous - (int)labels[j]), TO_VALUES(words[j]));
      previous = labels[j];
      to[slot_at(source, first, j) * SLOT_WORDS] = TO_WORD(lower(reach, highest) - least) & mask;
    }
    UNROLLED for (int j = 0; j < AT_ONCE; ++j) words[j] = words_before[j], labels[j] = labels_before[j];
  }
}

// The lane of direction i decides pixel i of a word.
INLINE uint value_of_pixel(uint belief) {
  return belief >> 8 * own_direction() & 0xFF;
}

static int own_column(const Place* place) {
  return 2 * (place->x * WORD_PIXELS + own_direction()) + parity(place->row, place->colour);
}

// z = 2 colours of each pair.
kernel TILE_GROUP void decide_tiles(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles,
                                    OpenclSmoothness alike, OpenclDecisions to) {
  local uint exchanged[EXCHANGED_WORDS];
  const Place place = own_place(&tiles, get_global_id(2) % 2);
  if (place.y >= tiles_down(&tiles)) return;
  const int pair = PAIR_OF(pairs, 2);
  Reader reader = start_reading(TILES_OF(memory, pairs, pair), LEVELS_OF(memory, pairs, pair), &tiles, &alike, &place);
  Decision decision = undecided();
  while (has_batch(&reader)) {
    const Batch batch = read_batch(&reader);
    uint messages[AT_ONCE], beliefs[AT_ONCE];
    receive(&reader, &batch, exchanged, messages, beliefs);
    UNROLLED for (int j = 0; j < AT_ONCE; ++j) take(&decision, batch.label[j], value_of_pixel(beliefs[j]));
  }
  const int x = own_column(&place), y = place.y * TILE_SIDE + place.row;
  if (!place.exists || x >= tiles.width) return;
  const DecidedPixels pixels = pixels_of(&decision);
  const Beliefs found = beliefs_of(&pixels, 0);
  const OpenclDecision own_map = map_of(&to, pair);
  write_decision(memory, &own_map, tiles.width, x, y, &found);
}

// Finds the label of each pixel's lowest belief. z = 2 colours of each pair.
kernel TILE_GROUP void find_tile_labels(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles,
                                        OpenclSmoothness alike, OpenclLabels best) {
  local uint exchanged[EXCHANGED_WORDS];
  const Place place = own_place(&tiles, get_global_id(2) % 2);
  if (place.y >= tiles_down(&tiles)) return;
  const int pair = PAIR_OF(pairs, 2);
  global uchar* levels = LEVELS_OF(memory, pairs, pair);
  Reader reader = start_reading(TILES_OF(memory, pairs, pair), levels, &tiles, &alike, &place);
  uint lowest = ~0u;  // with its label in the lower half
  while (has_batch(&reader)) {
    const Batch batch = read_batch(&reader);
    uint messages[AT_ONCE], beliefs[AT_ONCE];
    receive(&reader, &batch, exchanged, messages, beliefs);
    UNROLLED for (int j = 0; j < AT_ONCE; ++j)
      lowest = min(lowest, value_of_pixel(beliefs[j]) << 16 | batch.label[j]);
  }
  const int x = own_column(&place), y = place.y * TILE_SIDE + place.row;
  if (place.exists && x < tiles.width)
    ((global ushort*)(levels + best.labels))[(long)y * best.width + x] = lowest & 0xFFFF;
}

#endif

// Candidates

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

// Finds the candidates of a tile from the beliefs of the next coarser level: one group per tile, global size z
// = pairs.
kernel __attribute__((reqd_work_group_size(CANDIDATE_ITEMS, 1, 1))) void find_candidates(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles,
                                       OpenclLabels best, int slack, int max_ranges) {
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
  const global uint *of_even, *of_odd;  // of colours 0 and 1, addresses of the first row; null = `everywhere`
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
static const global uint* parents_of_tile(global uchar* memory, global uchar* levels, const OpenclTiles* tiles,
                                          const Place* place, int colour, int direction, int slot) {
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

static Column column_at(global uchar* levels, const OpenclInputs* inputs, const OpenclImageCosts* image, int x,
                        int right_x) {
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
      UNROLLED for (int i = 0; i < ROWS_AT_ONCE; ++i)
        sums[i / side] += first_y + row + i < inputs->height ? table[tables[i] + (int)popcount(differences[i])] : 0;
    }
    // A tile begins in an even row.
    UNROLLED for (int i = 0; i < ROWS_AT_ONCE / side; ++i) {
      const int to_row = row / side + i;
      data[to_row * TILE_SIDE + (to_row + column) % 2 * WORD_PIXELS + column / 2] = sums[i];
    }
  }
}

#endif

// Begins a level: the links of a tile's slots, its data costs, and the initial messages of colour 0; those of
// colour 1 are never read. On a processor, `all` has data costs of all labels; a GPU finds them, and `side` is
// the number of pixels of the image along a side of a pixel of the level. One group per tile, global size z =
// pairs.
kernel __attribute__((reqd_work_group_size(OPEN_ITEMS, 1, 1))) void open_tiles(global uchar* memory, OpenclPairs pairs, OpenclTiles tiles, OpenclLevel all,
                                  OpenclLevel coarser_level, OpenclTiles coarser_tiles,
                                  OpenclSmoothness alike COSTS_OF_IMAGE) {
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
