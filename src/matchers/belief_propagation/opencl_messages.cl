// SPDX-License-Identifier: Apache-2.0
// Levels that consider all labels: their data costs, messages, and decisions.
//
// Specialised by UPDATE_WORDS (see update(), on a GPU), and by the macros of opencl_levels.cl.

// Stores the values of even and of odd pixels separately.
INLINE void separate(Sums values, global Value* even, global Value* odd) {
#if PROCESSOR
  WidePixels pixels;
  pixels.wide = values;
  for (int i = 0; i < PIXELS / 2; ++i) {
    even[i] = pixels.of[2 * i];
    odd[i] = pixels.of[2 * i + 1];
  }
#elif BITS == 8
  *(global ushort*)even = values.x | values.x >> 8;
  *(global ushort*)odd = values.y | values.y >> 8;
#else
  *even = values & 0xFFFF;
  *odd = values >> 16;
#endif
}

// Joins the values of even and of odd pixels.
INLINE Word joined(const global Value* even, const global Value* odd) {
#if PROCESSOR
  Pixels pixels;
  for (int i = 0; i < PIXELS / 2; ++i) {
    pixels.of[2 * i] = even[i];
    pixels.of[2 * i + 1] = odd[i];
  }
  return pixels.word;
#else
  const uint first = *(const global ushort*)even, second = *(const global ushort*)odd;
  return BITS == 8 ? bytes_of(first, second, 0x5140) : first | second << 16;
#endif
}

// Data costs of a coarser level: sums over up to four children. In the rows of a colour, children have their
// parent's column. A work item has PIXELS columns of the coarser level; global size z = pairs.
kernel GROUP void add_up(global uchar* memory, OpenclPairs pairs, OpenclLevel fine, OpenclLevel coarse) {
  const Place place = own_place(fine.width, coarse.height, fine.labels, 0);
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, 1));
  const int rows = min(2, fine.height - 2 * place.y);
  Sums sums[PER_SHARE], least = all_sums(USHRT_MAX);
  FOR_LABELS(k, &place) {
    if (!has_label(&place, k)) continue;
    sums[k] = all_sums(0);
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int colour = 0; colour < 2; ++colour)
      {
        const Word costs = load_word(data_at(memory, &fine, colour, 2 * place.y + row, place.group) +
                                     (place.first_label + k) * fine.pitch);
        sums[k] += TO_SUMS(costs);
      }
    least = lower_sums(least, sums[k]);
  }
#if SHARES > 1
  local Sums shared[SHARES][GROUP_WORDS];
  shared[get_local_id(1)][get_local_id(0)] = least;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int other = 0; other < SHARES; ++other) least = lower_sums(least, shared[other][get_local_id(0)]);
#endif
  if (!place.exists) return;
  global Value* to[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd)
    to[odd] = data_at(memory, &coarse, parity(place.y, odd), place.y, 0) + place.group * (PIXELS / 2) +
              place.first_label * coarse.pitch;
  FOR_LABELS(k, &place) {
    if (!has_label(&place, k)) continue;
    separate(lower_sums(sums[k] - least, all_sums(DATA_BOUND)), to[0] + k * coarse.pitch, to[1] + k * coarse.pitch);
  }
}

// Messages

// The initial messages of colour 0, which are those of the pixels (x/2, y/2) of the coarser level: a pixel of
// that colour is element x/2 of its row. The initial messages of colour 1 are never read. `coarser`: width 0
// = there is none. Global size z = 4 directions of each pair.
kernel GROUP void start(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclLevel coarser) {
  const Place place = own_place(level.width, level.height, level.labels, 0);
  if (!place.exists) return;
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, DIRECTIONS));
  const int row = place.y / 2, direction = get_global_id(2) % DIRECTIONS;
  const Word mask = inside_mask(&place);
  const global Value* even = messages_at(memory, &coarser, row & 1, direction, row, 0);
  const global Value* odd = messages_at(memory, &coarser, 1 - (row & 1), direction, row, 0);
  global Value* to = messages_at(memory, &level, 0, direction, place.y, place.group);
  for (int k = 0; k < place.labels; ++k) {
    const int label = place.first_label + k;
    const long at = label * coarser.pitch + place.group * (PIXELS / 2);
    const Word message = coarser.width > 0 ? joined(even + at, odd + at) : all_pixels(0);
    store_word(message & mask, to + label * level.pitch);
  }
}

// Address of the messages that a work item's pixels receive from a direction, for label 0: see load_beside().
typedef struct {
  const global Value* from;
  int step;
} Source;

static Source find_source(global uchar* memory, const OpenclLevel* level, const Place* place, int direction) {
  const int row = place->y + (direction == BELOW) - (direction == ABOVE);
  // Reads the messages of the opposite direction. The columns of a colour, halved, count 0, 1, 2, … in each
  // row.
  const Source source = {
      messages_at(memory, level, 1 - place->colour, direction ^ 1, row, place->group),
      direction == LEFT ? place->odd - 1 : direction == RIGHT ? place->odd : 0};
  return source;
}

// The messages from all directions, and the data costs.
typedef struct {
  Source from[DIRECTIONS];
  const global Value* data;
} Sources;

static Sources find_sources(global uchar* memory, const OpenclLevel* level, const Place* place) {
  Sources sources;
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    sources.from[direction] = find_source(memory, level, place, direction);
  sources.data = data_at(memory, level, place->colour, place->y, place->group);
  return sources;
}

// Loads the messages of a label; returns the belief.
INLINE Word receive(const Sources* sources, long at, Word* messages) {
  Word belief = load_word(sources->data + at);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    messages[direction] = load_beside(sources->from[direction].from + at, sources->from[direction].step);
    belief = SUM(belief, messages[direction]);
  }
  return belief;
}

// Slopes and truncations of the edges of a work item's pixels in a direction.
typedef struct {
  Values slope, truncation;
} Smoothness;

static Smoothness own_smoothness(const global uchar* memory, const OpenclLevel* level,
                                 const OpenclSmoothness* alike, const Place* place, int direction) {
  Smoothness own = {all_values(alike->slope), all_values(alike->truncation)};
  if (level->edges < 0) return own;
  const long pair = (((long)place->colour * level->height + place->y) * DIRECTIONS + direction) * 2;
  const global Value* at =
      (const global Value*)(memory + level->edges) + pair * level->pitch + place->group * PIXELS;
  own.slope = TO_VALUES(load_word(at));
  own.truncation = TO_VALUES(load_word(at + level->pitch));
  return own;
}

#if PROCESSOR

// One iteration: the messages of one colour. Each is the lower envelope of h, limited to its minimum plus the
// truncation, minus its minimum. The part from below is kept in the message's memory until the part from
// above is known. Global size z = pairs.
kernel GROUP void update(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclSmoothness alike,
                         int colour) {
  const Place place = own_place(level.width, level.height, level.labels, colour);
  if (!place.exists) return;
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, 1));
  const Sources sources = find_sources(memory, &level, &place);
  global Value* to[DIRECTIONS];
  Values slope[DIRECTIONS], least[DIRECTIONS], reach[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    to[direction] = messages_at(memory, &level, colour, direction, place.y, place.group);
    slope[direction] = own_smoothness(memory, &level, &alike, &place, direction).slope;
    least[direction] = reach[direction] = all_values(NOTHING);
  }
  FOR_LABELS(k, &place) {
    Word messages[DIRECTIONS];
    const Word belief = receive(&sources, k * level.pitch, messages);
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      const Values h = TO_VALUES(DIFFERENCE(belief, messages[direction]));
      least[direction] = lower(least[direction], h);
      reach[direction] = lower_of_raised(reach[direction], slope[direction], h);
      store_word(TO_WORD(reach[direction]), to[direction] + k * level.pitch);
    }
  }
  const Word mask = inside_mask(&place);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    const Smoothness own = own_smoothness(memory, &level, &alike, &place, direction);
    const Values highest = raised(least[direction], own.truncation);
    Values down = all_values(NOTHING);
    FOR_LABELS_DOWN(k, &place) {
      global Value* at = to[direction] + k * level.pitch;
      down = lower_of_raised(down, own.slope, TO_VALUES(load_word(at)));
      store_word(TO_WORD(lower(down, highest) - least[direction]) & mask, at);
    }
  }
}

#else

// Data of a direction that the shares of a group exchange.
typedef struct {
  Word least[SHARES][UPDATE_WORDS], up[SHARES][UPDATE_WORDS], down[SHARES][UPDATE_WORDS];
} SharedMessages;

// The slope over the labels of a share; limited, because a steeper one has no effect.
INLINE Values way(Values slope) {
  return lower(slope, all_values(NOTHING / PER_SHARE)) * PER_SHARE;
}

// The lowest values that the previous shares' labels allow at the last label before this share.
INLINE Values carried_up(const local SharedMessages* shared, Values slope, int reach) {
  const int own = get_local_id(0), share = get_local_id(1);
  Values carry = all_values(NOTHING);
  for (int other = max(0, share - reach); other < share; ++other)
    carry = lower_of_raised(carry, way(slope), TO_VALUES(shared->up[other][own]));
  return carry;
}

INLINE Values carried_down(const local SharedMessages* shared, Values slope, int reach) {
  const int own = get_local_id(0), share = get_local_id(1);
  Values carry = all_values(NOTHING);
  for (int other = min(SHARES - 1, share + reach); other > share; --other)
    carry = lower_of_raised(carry, way(slope), TO_VALUES(shared->down[other][own]));
  return carry;
}

INLINE Values min_of_shares(const local SharedMessages* shared) {
  Values least = all_values(NOTHING);
  for (int other = 0; other < SHARES; ++other)
    least = lower(least, TO_VALUES(shared->least[other][get_local_id(0)]));
  return least;
}

// One iteration: the messages of one colour. Each is the lower envelope of h, limited to its minimum plus the
// truncation, minus its minimum. A work item has one direction of its pixels and labels; the directions share
// the messages that they receive. Global size z = 4 directions of each pair.
kernel __attribute__((reqd_work_group_size(UPDATE_WORDS, SHARES, DIRECTIONS))) void update(
    global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclSmoothness alike, int colour) {
  const Place place = own_place(level.width, level.height, level.labels, colour);
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, DIRECTIONS));
  const int own = get_local_id(0), share = get_local_id(1), direction = get_local_id(2);
  const Source source = find_source(memory, &level, &place, direction);
  const global Value* data = data_at(memory, &level, colour, place.y, place.group);
  local Word received[DIRECTIONS][SHARES * PER_SHARE][UPDATE_WORDS];
  Word kept[PER_SHARE];
  UNROLLED for (int k = 0; k < PER_SHARE; ++k) {
    const long at = min(place.first_label + k, level.labels - 1) * level.pitch;
    kept[k] = load_beside(source.from + at, source.step);
    received[direction][place.first_label + k][own] = kept[k];
  }
  const Smoothness smoothness = own_smoothness(memory, &level, &alike, &place, direction);
  const Values slope = smoothness.slope;
  barrier(CLK_LOCAL_MEM_FENCE);
  Values least = all_values(NOTHING), up = least, down = least;
  UNROLLED for (int k = 0; k < PER_SHARE; ++k) {
    Word h = load_word(data + min(place.first_label + k, level.labels - 1) * level.pitch);
#pragma unroll
    for (int other = 0; other < DIRECTIONS; ++other) h = SUM(h, received[other][place.first_label + k][own]);
    h = has_label(&place, k) ? DIFFERENCE(h, kept[k]) : all_pixels(NOTHING);
    least = lower(least, TO_VALUES(h));
    up = lower_of_raised(up, slope, TO_VALUES(h));
    kept[k] = TO_WORD(up);
  }
#if SHARES > 1
  local SharedMessages shared_by_direction[DIRECTIONS];
  local SharedMessages* shared = &shared_by_direction[direction];
  shared->least[share][own] = TO_WORD(least);
  shared->up[share][own] = TO_WORD(up);
  barrier(CLK_LOCAL_MEM_FENCE);
  up = carried_up(shared, slope, alike.reach);
  least = min_of_shares(shared);
  UNROLLED for (int k = 0; k < PER_SHARE; ++k) {
    up = lower_of_raised(up, slope, TO_VALUES(kept[k]));
    kept[k] = TO_WORD(up);
  }
  UNROLLED for (int k = PER_SHARE - 1; k >= 0; --k) down = lower_of_raised(down, slope, TO_VALUES(kept[k]));
  shared->down[share][own] = TO_WORD(down);
  barrier(CLK_LOCAL_MEM_FENCE);
  down = carried_down(shared, slope, alike.reach);
#endif
  if (!place.exists) return;
  const Word mask = inside_mask(&place);
  const Values highest = raised(least, smoothness.truncation);
  global Value* to =
      messages_at(memory, &level, colour, direction, place.y, place.group) + place.first_label * level.pitch;
  UNROLLED for (int k = PER_SHARE - 1; k >= 0; --k) {
    if (!has_label(&place, k)) continue;
    down = lower_of_raised(down, slope, TO_VALUES(kept[k]));
    store_word(TO_WORD(lower(down, highest) - least) & mask, to + k * level.pitch);
  }
}

#endif

// Decides from the beliefs of a work item's pixels, in the order of labels.
static Decision decide_pixels(global uchar* memory, const OpenclLevel* level, const Place* place) {
  const Sources sources = find_sources(memory, level, place);
  Decision decision = undecided();
  for (int label = 0; label < level->labels; ++label) {
    Word messages[DIRECTIONS];
    take(&decision, label, TO_WIDE(receive(&sources, label * level->pitch, messages)));
  }
  return decision;
}

// z = 2 colours of each pair.
kernel void decide(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclDecisions to) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2) % 2);
  if (!place.exists) return;
  const int pair = PAIR_OF(pairs, 2);
  const Decision decision = decide_pixels(LEVELS_OF(memory, pairs, pair), &level, &place);
  const DecidedPixels pixels = pixels_of(&decision);
  for (int i = 0; i < place.pixels; ++i) {
    const Beliefs found = beliefs_of(&pixels, i);
    write_decision(memory, &to.of[pair], level.width, 2 * (place.group * PIXELS + i) + place.odd, place.y,
                   &found);
  }
}

#if PROCESSOR

// Finds the label of each pixel's lowest belief. z = 2 colours of each pair.
kernel void find_labels(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclLabels best) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2) % 2);
  if (!place.exists) return;
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, 2));
  const Decision decision = decide_pixels(memory, &level, &place);
  WidePixels labels;
  labels.wide = decision.label;
  global ushort* to = (global ushort*)(memory + best.labels) + (long)place.y * best.width;
  for (int i = 0; i < place.pixels; ++i) to[2 * (place.group * PIXELS + i) + place.odd] = labels.of[i];
}

#elif BITS == 8

// Finds the label of each pixel's lowest belief; shares find that of their labels. z = 2 colours of each pair.
kernel GROUP void find_labels(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclLabels best) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2) % 2);
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, 2));
  const Sources sources = find_sources(memory, &level, &place);
  uint4 lowest = ~0u;  // with its label in the lower half
  for (int label = place.first_label; label < place.first_label + place.labels; ++label) {
    Word messages[DIRECTIONS];
    const uint4 belief = convert_uint4(as_uchar4(receive(&sources, label * level.pitch, messages)));
    lowest = min(lowest, belief << 16 | (uint4)label);
  }
  local uint4 shared[SHARES][GROUP_WORDS];
  shared[get_local_id(1)][get_local_id(0)] = lowest;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(1) > 0 || !place.exists) return;
  for (int share = 1; share < SHARES; ++share) lowest = min(lowest, shared[share][get_local_id(0)]);
  const uint labels[PIXELS] = {lowest.x, lowest.y, lowest.z, lowest.w};
  global ushort* to = (global ushort*)(memory + best.labels) + (long)place.y * best.width;
  for (int i = 0; i < place.pixels; ++i) to[2 * (place.group * PIXELS + i) + place.odd] = labels[i] & 0xFFFF;
}

#endif
