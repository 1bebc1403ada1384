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
#if PROCESSOR
INLINE Word joined(const global Value* even, const global Value* odd) {
  Pixels pixels;
  for (int i = 0; i < PIXELS / 2; ++i) {
    pixels.of[2 * i] = even[i];
    pixels.of[2 * i + 1] = odd[i];
  }
  return pixels.word;
}
#else
// Those in the lower halves of words.
INLINE uint joined(uint even, uint odd) {
  return BITS == 8 ? bytes_of(even, odd, 0x5140) : (even & 0xFFFF) | odd << 16;
}
#endif

// Values from the start of a row to those of the parents of a group.
INLINE long parents_at(const OpenclLevel* coarse, int group) {
  return group / 2 * GROUP_STEP(coarse) + group % 2 * (PIXELS / 2);
}

// Data costs of a coarser level: sums over up to four children. In the rows of a colour, children have their
// parent's column. A work item has PIXELS columns of the coarser level; global size z = pairs.
kernel GROUP void add_up(global uchar* memory, OpenclPairs pairs, OpenclLevel fine, OpenclLevel coarse) {
  const Place place = own_place(fine.width, coarse.height, fine.labels, 0);
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, 1));
  const int rows = min(2, fine.height - 2 * place.y);
  Sums sums[PER_SHARE], least = all_sums(USHRT_MAX);
  FOR_LABELS(k, &place) sums[k] = all_sums(0);
  for (int row = 0; row < rows; ++row)
    for (int colour = 0; colour < 2; ++colour) {
      const global Value* from = data_at(memory, &fine, colour, 2 * place.y + row, place.group);
#if PROCESSOR
      FOR_LABELS(k, &place) sums[k] += TO_SUMS(load_word(from + k * fine.pitch));
#else
      UNROLLED for (int k = 0; k < PER_SHARE; k += WORDS_AT_ONCE) {
        const uint4 words = load_four(from, k, get_local_id(0));
        sums[k] += TO_SUMS(words.x);
        sums[k + 1] += TO_SUMS(words.y);
        sums[k + 2] += TO_SUMS(words.z);
        sums[k + 3] += TO_SUMS(words.w);
      }
#endif
    }
  FOR_LABELS(k, &place) if (has_label(&place, k)) least = lower_sums(least, sums[k]);
#if SHARES > 1
  local Sums shared[SHARES][GROUP_WORDS];
  shared[get_local_id(0)][get_local_id(1)] = least;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int other = 0; other < SHARES; ++other) least = lower_sums(least, shared[other][get_local_id(1)]);
#endif
  if (!place.exists) return;
  global Value* to[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd)
    to[odd] = data_at(memory, &coarse, parity(place.y, odd), place.y, 0) + parents_at(&coarse, place.group);
  FOR_LABELS(k, &place) {
#if PROCESSOR
    const long at = k * coarse.pitch;
#else
    const long at = LABEL_AT(place.first_label + k) * PIXELS;
#endif
    separate(lower_sums(sums[k] - least, all_sums(DATA_BOUND)), to[0] + at, to[1] + at);
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
#if PROCESSOR
  for (int k = 0; k < place.labels; ++k) {
    const long at = parents_at(&coarser, place.group) + k * coarser.pitch;
    const Word message = coarser.width > 0 ? joined(even + at, odd + at) : all_pixels(0);
    store_word(message & mask, to + k * level.pitch);
  }
#else
  const long parents = place.group / 2 * GROUP_STEP(&coarser);
  const uint shift = place.group % 2 * 16;
  UNROLLED for (int k = 0; k < PER_SHARE; k += WORDS_AT_ONCE) {
    uint4 words = 0;
    if (coarser.width > 0) {
      const uint4 first = load_four(even + parents, k, get_local_id(0)) >> shift,
                  second = load_four(odd + parents, k, get_local_id(0)) >> shift;
      words = (uint4)(joined(first.x, second.x), joined(first.y, second.y), joined(first.z, second.z),
                      joined(first.w, second.w));
    }
    store_four(words & mask, to, k, get_local_id(0));
  }
#endif
}

// The messages that a work item's pixels receive from a direction.
typedef struct {
  const global Value* from;  // address for label 0
  int step;                  // from elements of a group to those that are wanted: −1, 0 or 1
  long next_group;           // values to the next group in the direction of the step
} Source;

static Source find_source(global uchar* memory, const OpenclLevel* level, const Place* place, int direction) {
  const int row = place->y + (direction == BELOW) - (direction == ABOVE);
  // Reads the messages of the opposite direction. The columns of a colour, halved, count 0, 1, 2, … in each
  // row.
  const int step = direction == LEFT ? place->odd - 1 : direction == RIGHT ? place->odd : 0;
  const Source source = {messages_at(memory, level, 1 - place->colour, direction ^ 1, row, place->group),
                         step, step * GROUP_STEP(level)};
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

#if PROCESSOR

// Loads the messages of a label; returns the belief.
INLINE Word receive(const Sources* sources, long at, Word* messages) {
  Word belief = load_word(sources->data + at);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    const Source* source = &sources->from[direction];
    messages[direction] = *(const global Unaligned*)(source->from + at + source->step);
    belief = SUM(belief, messages[direction]);
  }
  return belief;
}

#else

// The messages of four labels of a share.
INLINE uint4 receive(const Source* source, int k, int share) {
  const uint4 here = load_four(source->from, k, share);
  if (source->step == 0) return here;
  const uint4 next = load_four(source->from + source->next_group, k, share);
  return source->step < 0 ? here << BITS | next >> (32 - BITS) : here >> BITS | next << (32 - BITS);
}

// The beliefs of four labels of a share.
INLINE uint4 beliefs(const Sources* sources, int k, int share) {
  uint4 sum = load_four(sources->data, k, share);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    sum += receive(&sources->from[direction], k, share);
  return sum;
}

#endif

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
  const int own = get_local_id(1), share = get_local_id(0);
  Values carry = all_values(NOTHING);
  for (int other = max(0, share - reach); other < share; ++other)
    carry = lower_of_raised(carry, way(slope), TO_VALUES(shared->up[other][own]));
  return carry;
}

INLINE Values carried_down(const local SharedMessages* shared, Values slope, int reach) {
  const int own = get_local_id(1), share = get_local_id(0);
  Values carry = all_values(NOTHING);
  for (int other = min(SHARES - 1, share + reach); other > share; --other)
    carry = lower_of_raised(carry, way(slope), TO_VALUES(shared->down[other][own]));
  return carry;
}

INLINE Values min_of_shares(const local SharedMessages* shared) {
  Values least = all_values(NOTHING);
  for (int other = 0; other < SHARES; ++other)
    least = lower(least, TO_VALUES(shared->least[other][get_local_id(1)]));
  return least;
}

// One iteration: the messages of one colour. Each is the lower envelope of h, limited to its minimum plus
// the truncation, minus its minimum. A work item has one direction of its pixels and labels, and finds the
// beliefs of a quarter of them. Global size z = 4 directions of each pair.
kernel __attribute__((reqd_work_group_size(SHARES, UPDATE_WORDS, DIRECTIONS))) void update(
    global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclSmoothness alike, int colour) {
  const Place place = own_place(level.width, level.height, level.labels, colour);
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, DIRECTIONS));
  const int own = get_local_id(1), share = get_local_id(0), direction = get_local_id(2);
  const Source source = find_source(memory, &level, &place, direction);
  const global Value* data = data_at(memory, &level, colour, place.y, place.group);
  // Words of four labels of each share.
  local uint4 received[DIRECTIONS][UPDATE_WORDS][SHARES * PER_SHARE / WORDS_AT_ONCE];
  local uint4 summed[UPDATE_WORDS][SHARES * PER_SHARE / WORDS_AT_ONCE];
  UNROLLED for (int k = 0; k < PER_SHARE; k += WORDS_AT_ONCE)
      received[direction][own][FOUR_AT(k, share) / WORDS_AT_ONCE] = receive(&source, k, share);
  const Smoothness smoothness = own_smoothness(memory, &level, &alike, &place, direction);
  const Values slope = smoothness.slope;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = direction * WORDS_AT_ONCE; k < PER_SHARE; k += DIRECTIONS * WORDS_AT_ONCE) {
    const int at = FOUR_AT(k, share) / WORDS_AT_ONCE;
    uint4 sum = load_four(data, k, share);
#pragma unroll
    for (int other = 0; other < DIRECTIONS; ++other) sum += received[other][own][at];
    summed[own][at] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  Values kept[PER_SHARE];
  Values least = all_values(NOTHING), up = least, down = least;
  UNROLLED for (int k = 0; k < PER_SHARE; k += WORDS_AT_ONCE) {
    const int at = FOUR_AT(k, share) / WORDS_AT_ONCE;
    const uint4 h = summed[own][at] - received[direction][own][at];
    const Word words[WORDS_AT_ONCE] = {h.x, h.y, h.z, h.w};
    UNROLLED for (int j = 0; j < WORDS_AT_ONCE; ++j) {
      const Values value = has_label(&place, k + j) ? TO_VALUES(words[j]) : all_values(NOTHING);
      least = lower(least, value);
      kept[k + j] = up = lower_of_raised(up, slope, value);
    }
  }
#if SHARES > 1
  local SharedMessages shared_by_direction[DIRECTIONS];
  local SharedMessages* shared = &shared_by_direction[direction];
  shared->least[share][own] = TO_WORD(least);
  shared->up[share][own] = TO_WORD(up);
  barrier(CLK_LOCAL_MEM_FENCE);
  up = carried_up(shared, slope, alike.reach);
  least = min_of_shares(shared);
  UNROLLED for (int k = 0; k < PER_SHARE; ++k) kept[k] = up = lower_of_raised(up, slope, kept[k]);
  UNROLLED for (int k = PER_SHARE - 1; k >= 0; --k) down = lower_of_raised(down, slope, kept[k]);
  shared->down[share][own] = TO_WORD(down);
  barrier(CLK_LOCAL_MEM_FENCE);
  down = carried_down(shared, slope, alike.reach);
#endif
  if (!place.exists) return;
  const Word mask = inside_mask(&place);
  const Values highest = raised(least, smoothness.truncation);
  global Value* to = messages_at(memory, &level, colour, direction, place.y, place.group);
  UNROLLED for (int k = PER_SHARE - WORDS_AT_ONCE; k >= 0; k -= WORDS_AT_ONCE) {
    Word words[WORDS_AT_ONCE];
    UNROLLED for (int j = WORDS_AT_ONCE - 1; j >= 0; --j) {
      down = lower_of_raised(down, slope, kept[k + j]);
      words[j] = TO_WORD(lower(down, highest) - least) & mask;
    }
    store_four((uint4)(words[0], words[1], words[2], words[3]), to, k, share);
  }
}

#endif

#if PROCESSOR

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
  const OpenclDecision own_map = map_of(&to, pair);
  for (int i = 0; i < place.pixels; ++i) {
    const Beliefs found = beliefs_of(&pixels, i);
    write_decision(memory, &own_map, level.width, 2 * (place.group * PIXELS + i) + place.odd, place.y,
                   &found);
  }
}

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

#else

// The value of a pixel in a word.
INLINE uint value_of(uint word, int i) {
  return word >> i * BITS & ((1u << BITS) - 1);
}

// The lowest beliefs of a word's pixels, with their labels in the lower halves.
typedef struct {
  uint of[PIXELS];
} Lowest;

// Those of a share's labels.
INLINE Lowest lowest_of_share(const Sources* sources, const Place* place) {
  Lowest lowest;
  FOR_PIXELS(i) lowest.of[i] = ~0u;
  UNROLLED for (int k = 0; k < PER_SHARE; k += WORDS_AT_ONCE) {
    const uint4 four = beliefs(sources, k, get_local_id(0));
    const uint words[WORDS_AT_ONCE] = {four.x, four.y, four.z, four.w};
    UNROLLED for (int j = 0; j < WORDS_AT_ONCE; ++j) {
      if (!has_label(place, k + j)) continue;
      FOR_PIXELS(i)
      lowest.of[i] = min(lowest.of[i], value_of(words[j], i) << 16 | (uint)(place->first_label + k + j));
    }
  }
  return lowest;
}

// Those of all labels, for the first share.
INLINE Lowest lowest_of_all(local Lowest (*shared)[SHARES], const Lowest* own) {
  local Lowest* of_word = shared[get_local_id(1)];
  of_word[get_local_id(0)] = *own;
  barrier(CLK_LOCAL_MEM_FENCE);
  Lowest lowest = *own;
  for (int share = 1; share < SHARES; ++share)
    FOR_PIXELS(i) lowest.of[i] = min(lowest.of[i], of_word[share].of[i]);
  return lowest;
}

// The belief of a pixel for a label; infinite for labels that do not exist.
INLINE float belief_of(const Sources* sources, const OpenclLevel* level, int i, int label) {
  if (label < 0 || label >= level->labels) return INFINITY;
  const uint4 four = beliefs(sources, label % PER_SHARE, label / PER_SHARE);
  const uint words[WORDS_AT_ONCE] = {four.x, four.y, four.z, four.w};
  return (float)value_of(words[label % WORDS_AT_ONCE], i);
}

// Shares find the lowest beliefs of their labels. z = 2 colours of each pair.
kernel GROUP void decide(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclDecisions to) {
  local Lowest shared[GROUP_WORDS][SHARES];
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2) % 2);
  const int pair = PAIR_OF(pairs, 2);
  const Sources sources = find_sources(LEVELS_OF(memory, pairs, pair), &level, &place);
  const Lowest own = lowest_of_share(&sources, &place), lowest = lowest_of_all(shared, &own);
  if (get_local_id(0) > 0 || !place.exists) return;
  const OpenclDecision own_map = map_of(&to, pair);
  for (int i = 0; i < place.pixels; ++i) {
    const int label = lowest.of[i] & 0xFFFF;
    const Beliefs found = {label, belief_of(&sources, &level, i, label - 1), (float)(lowest.of[i] >> 16),
                           belief_of(&sources, &level, i, label + 1)};
    write_decision(memory, &own_map, level.width, 2 * (place.group * PIXELS + i) + place.odd, place.y,
                   &found);
  }
}

// Finds the label of each pixel's lowest belief. z = 2 colours of each pair.
kernel GROUP void find_labels(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclLabels best) {
  local Lowest shared[GROUP_WORDS][SHARES];
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2) % 2);
  memory = LEVELS_OF(memory, pairs, PAIR_OF(pairs, 2));
  const Sources sources = find_sources(memory, &level, &place);
  const Lowest own = lowest_of_share(&sources, &place), lowest = lowest_of_all(shared, &own);
  if (get_local_id(0) > 0 || !place.exists) return;
  global ushort* to = (global ushort*)(memory + best.labels) + (long)place.y * best.width;
  for (int i = 0; i < place.pixels; ++i)
    to[2 * (place.group * PIXELS + i) + place.odd] = lowest.of[i] & 0xFFFF;
}

#endif
