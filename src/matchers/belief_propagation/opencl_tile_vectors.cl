// SPDX-License-Identifier: Apache-2.0
// Messages and decisions of levels whose tiles have candidates, on a processor: a work item has a tile, all
// rows of which are in one vector.
//
// Specialised by the macros of opencl_tiles.cl.

#define TO_ROWS(word) __builtin_astype(word, Rows)
#define FROM_ROWS(rows) __builtin_astype(rows, Word)

static Place own_place(const OpenclTiles* tiles, int colour) {
  return place_at(tiles, get_global_id(0), 0, colour);
}

// The sources of a direction's messages: the work item's own tile, and the next one in that direction.
typedef struct {
  const global uint *own, *next;  // addresses of slot 0 and row 0
  Rows bound;                     // the next tile's message for labels that it does not consider
} Source;

static Source find_source(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles,
                          const OpenclSmoothness* alike, const Place* place, int direction) {
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

static Sources find_sources(global uchar* memory, const global uchar* levels, const OpenclTiles* tiles,
                            const OpenclSmoothness* alike, const Place* place) {
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
INLINE Word receive(const Sources* sources, const Place* place, int slot, const global ushort* slots,
                    Word* messages) {
  const Source* from = sources->from;
  messages[ABOVE] =
      FROM_ROWS(receive_vertical(&from[ABOVE], place, ABOVE, slot, LINK_OF(slots, slot, ABOVE)));
  messages[BELOW] =
      FROM_ROWS(receive_vertical(&from[BELOW], place, BELOW, slot, LINK_OF(slots, slot, BELOW)));
  messages[LEFT] = FROM_ROWS(
      receive_horizontal(&from[LEFT], place, LEFT, ~sources->odd, slot, LINK_OF(slots, slot, LEFT)));
  messages[RIGHT] = FROM_ROWS(
      receive_horizontal(&from[RIGHT], place, RIGHT, sources->odd, slot, LINK_OF(slots, slot, RIGHT)));
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

INLINE Received receive_slot(const Sources* sources, const Place* place, const global ushort* slots,
                             int slot) {
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
  // A slot is loaded before the previous one is stored, because compilers move no loads across stores.
  Received ahead = receive_slot(&sources, &place, slots, 0);
  for (int slot = 0; slot < count; ++slot) {
    const Received own = ahead;
    if (slot < last) ahead = receive_slot(&sources, &place, slots, slot + 1);
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
  const DecidedPixels pixels =
      decide_pixels(TILES_OF(memory, pairs, pair), LEVELS_OF(memory, pairs, pair), &tiles, &alike, &place);
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
  const DecidedPixels pixels = decide_pixels(TILES_OF(memory, pairs, pair), levels, &tiles, &alike, &place);
  for (int i = 0; i < PIXELS; ++i) {
    const int2 pixel = pixel_of(&place, i);
    if (pixel.x < tiles.width && pixel.y < tiles.height)
      ((global ushort*)(levels + best.labels))[(long)pixel.y * best.width + pixel.x] = pixels.label.of[i];
  }
}
