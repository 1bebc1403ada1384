// SPDX-License-Identifier: Apache-2.0
// Messages and decisions of levels whose tiles have candidates, on a GPU: TILE_LANES work items have a
// tile; each receives and sends the messages of one direction for a row.
//
// Specialised by TILES_OF_GROUP (more than 1 only where lanes exchange values without local memory), and by
// the macros of opencl_tiles.cl.

#define TILE_GROUP __attribute__((reqd_work_group_size(TILES_OF_GROUP * TILE_LANES, 1, 1)))

static Place own_place(const OpenclTiles* tiles, int colour) {
  return place_at(tiles, get_global_id(0) / TILE_LANES, get_local_id(0) % TILE_SIDE, colour);
}

// Whether there is no such tile. Work items that may wait at barriers have one, so none returns before a
// barrier.
static bool is_beyond(const OpenclTiles* tiles, const Place* place) {
  return TILES_OF_GROUP > 1 && place->y >= tiles_down(tiles);
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
  const bool leaves_tile = row < 0 || row >= TILE_SIDE;
  const int next = next_tile(tiles, place, direction);
  const uint truncation = edges_of(levels, tiles, alike, place, direction, 1);
  Source source;
  source.direction = direction;
  source.has_next = next >= 0 && (is_beside || leaves_tile);
  source.slots = slots_of(memory, tiles, place->tile);
  source.last_slot = slot_count(memory, tiles, place->tile) - 1;
  const int at = row & (TILE_SIDE - 1);
  source.own = messages_of(memory, tiles, 1 - place->colour, place->tile, direction ^ 1) + at;
  source.next = messages_of(memory, tiles, 1 - place->colour, max(next, 0), direction ^ 1) + at;
  source.data = data_of(memory, tiles, place->colour, place->tile, 0) + place->row;
  source.bytes = leaves_tile ? all_of_next : !is_beside ? all_of_own : odd ? shifted_down : shifted_up;
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
  UNROLLED for (int j = 0; j < AT_ONCE; ++j) messages[j] =
      bytes_of(batch->own[j], batch->next[j], reader->source.bytes);
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
  if (is_beyond(&tiles, &place)) return;
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
  if (is_beyond(&tiles, &place)) return;
  const int pair = PAIR_OF(pairs, 2);
  Reader reader =
      start_reading(TILES_OF(memory, pairs, pair), LEVELS_OF(memory, pairs, pair), &tiles, &alike, &place);
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
  if (is_beyond(&tiles, &place)) return;
  const int pair = PAIR_OF(pairs, 2);
  global uchar* levels = LEVELS_OF(memory, pairs, pair);
  Reader reader = start_reading(TILES_OF(memory, pairs, pair), levels, &tiles, &alike, &place);
  uint lowest = ~0u;  // with its label in the lower half
  while (has_batch(&reader)) {
    const Batch batch = read_batch(&reader);
    uint messages[AT_ONCE], beliefs[AT_ONCE];
    receive(&reader, &batch, exchanged, messages, beliefs);
    UNROLLED for (int j = 0; j < AT_ONCE; ++j) lowest =
        min(lowest, value_of_pixel(beliefs[j]) << 16 | batch.label[j]);
  }
  const int x = own_column(&place), y = place.y * TILE_SIDE + place.row;
  if (place.exists && x < tiles.width)
    ((global ushort*)(levels + best.labels))[(long)y * best.width + x] = lowest & 0xFFFF;
}
