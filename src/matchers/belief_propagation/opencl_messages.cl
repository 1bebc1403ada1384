// SPDX-License-Identifier: Apache-2.0
// Levels that consider all labels: their data costs, messages, and decisions.
//
// Specialised by the macros of opencl_levels.cl.

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
// parent's column. A work item has PIXELS columns of the coarser level.
kernel GROUP void add_up(global uchar* memory, OpenclLevel fine, OpenclLevel coarse) {
  const Place place = own_place(fine.width, coarse.height, fine.labels, 0);
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
// = there is none.
kernel GROUP void start(global uchar* memory, OpenclLevel level, OpenclLevel coarser) {
  const Place place = own_place(level.width, level.height, level.labels, 0);
  if (!place.exists) return;
  const int row = place.y / 2;
  const Word mask = inside_mask(&place);
  for (int k = 0; k < place.labels; ++k) {
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      Word message = all_pixels(0);
      if (coarser.width > 0) {
        const long at = (place.first_label + k) * coarser.pitch + place.group * (PIXELS / 2);
        const global Value* even = messages_at(memory, &coarser, row & 1, direction, row, 0) + at;
        const global Value* odd = messages_at(memory, &coarser, 1 - (row & 1), direction, row, 0) + at;
        message = joined(even, odd);
      }
      store_word(message & mask, messages_at(memory, &level, 0, direction, place.y, place.group) +
                                          (place.first_label + k) * level.pitch);
    }
  }
}

// Addresses of the messages to a work item's pixels, and of its data costs; for label 0.
typedef struct {
  const global Value* from[DIRECTIONS];
  int step[DIRECTIONS];
  const global Value* data;
} Sources;

static Sources find_sources(global uchar* memory, const OpenclLevel* level, const Place* place) {
  Sources sources;
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    const int row = place->y + (direction == BELOW) - (direction == ABOVE);
    // Reads the messages of the opposite direction. The columns of a colour, halved, count 0, 1, 2, … in each
    // row.
    sources.from[direction] = messages_at(memory, level, 1 - place->colour, direction ^ 1, row, place->group);
    sources.step[direction] = direction == LEFT ? place->odd - 1 : direction == RIGHT ? place->odd : 0;
  }
  sources.data = data_at(memory, level, place->colour, place->y, place->group);
  return sources;
}

// Loads the messages of a label; returns the belief.
INLINE Word receive(const Sources* sources, long at, Word* messages) {
  Word belief = load_word(sources->data + at);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    messages[direction] = load_beside(sources->from[direction] + at, sources->step[direction]);
    belief = SUM(belief, messages[direction]);
  }
  return belief;
}

// Slopes and truncations of the edges of a work item's pixels.
typedef struct {
  Values slope[DIRECTIONS], truncation[DIRECTIONS];
} Smoothness;

static Smoothness own_smoothness(const global uchar* memory, const OpenclLevel* level,
                                 const OpenclSmoothness* alike, const Place* place) {
  Smoothness own;
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    own.slope[direction] = all_values(alike->slope);
    own.truncation[direction] = all_values(alike->truncation);
    if (level->edges < 0) continue;
    const long pair = (((long)place->colour * level->height + place->y) * DIRECTIONS + direction) * 2;
    const global Value* at =
        (const global Value*)(memory + level->edges) + pair * level->pitch + place->group * PIXELS;
    own.slope[direction] = TO_VALUES(load_word(at));
    own.truncation[direction] = TO_VALUES(load_word(at + level->pitch));
  }
  return own;
}

#if SHARES > 1
// Data of a direction that the shares of a group exchange.
typedef struct {
  Word least[SHARES][GROUP_WORDS], up[SHARES][GROUP_WORDS], down[SHARES][GROUP_WORDS];
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
#endif

// One iteration: the messages of one colour. Each is the lower envelope of h, limited to its minimum plus the
// truncation, minus its minimum. The part from below is kept until the part from above is known: in
// registers, or on a processor in the message's memory.
kernel GROUP void update(global uchar* memory, OpenclLevel level, OpenclSmoothness alike, int colour) {
  const Place place = own_place(level.width, level.height, level.labels, colour);
  const Sources sources = find_sources(memory, &level, &place);
  const Smoothness smoothness = own_smoothness(memory, &level, &alike, &place);
  global Value* to[DIRECTIONS];
  Values least[DIRECTIONS], reach[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    to[direction] = messages_at(memory, &level, colour, direction, place.y, place.group) +
                    place.first_label * level.pitch;
    least[direction] = reach[direction] = all_values(NOTHING);
  }
#if PROCESSOR
#define KEPT(direction, k) (*(global Word*)(to[direction] + (k)*level.pitch))
#else
  Word kept[DIRECTIONS][PER_SHARE];
#define KEPT(direction, k) kept[direction][k]
#endif
  FOR_LABELS(k, &place) {
    Word messages[DIRECTIONS];
    const Word belief =
        receive(&sources, min(place.first_label + k, level.labels - 1) * level.pitch, messages);
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
      const Word h = has_label(&place, k) ? DIFFERENCE(belief, messages[direction]) : all_pixels(NOTHING);
      least[direction] = lower(least[direction], TO_VALUES(h));
      reach[direction] = lower_of_raised(reach[direction], smoothness.slope[direction], TO_VALUES(h));
      KEPT(direction, k) = TO_WORD(reach[direction]);
    }
  }
#if SHARES > 1
  local SharedMessages shared[DIRECTIONS];
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    shared[direction].least[get_local_id(1)][get_local_id(0)] = TO_WORD(least[direction]);
    shared[direction].up[get_local_id(1)][get_local_id(0)] = TO_WORD(reach[direction]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    const Values slope = smoothness.slope[direction];
    Values up = carried_up(&shared[direction], slope, alike.reach), down = all_values(NOTHING);
    least[direction] = min_of_shares(&shared[direction]);
    EACH for (int k = 0; k < PER_SHARE; ++k) {
      up = lower_of_raised(up, slope, TO_VALUES(KEPT(direction, k)));
      KEPT(direction, k) = TO_WORD(up);
    }
    EACH for (int k = PER_SHARE - 1; k >= 0; --k) down = lower_of_raised(down, slope, TO_VALUES(KEPT(direction, k)));
    shared[direction].down[get_local_id(1)][get_local_id(0)] = TO_WORD(down);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction)
    reach[direction] = carried_down(&shared[direction], smoothness.slope[direction], alike.reach);
#else
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) reach[direction] = all_values(NOTHING);
#endif
  if (!place.exists) return;
  const Word mask = inside_mask(&place);
#pragma unroll
  for (int direction = 0; direction < DIRECTIONS; ++direction) {
    const Values highest = raised(least[direction], smoothness.truncation[direction]);
    FOR_LABELS_DOWN(k, &place) {
      if (!has_label(&place, k)) continue;
      reach[direction] =
          lower_of_raised(reach[direction], smoothness.slope[direction], TO_VALUES(KEPT(direction, k)));
      const Values message = lower(reach[direction], highest) - least[direction];
      store_word(TO_WORD(message) & mask, to[direction] + k * level.pitch);
    }
  }
}

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

// z = 2 colours.
kernel void decide(global uchar* memory, OpenclLevel level, OpenclDecision to) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2));
  if (!place.exists) return;
  const Decision decision = decide_pixels(memory, &level, &place);
  const DecidedPixels pixels = pixels_of(&decision);
  for (int i = 0; i < place.pixels; ++i) {
    const Beliefs found = beliefs_of(&pixels, i);
    write_decision(memory, &to, level.width, 2 * (place.group * PIXELS + i) + place.odd, place.y, &found);
  }
}

// Finds the label of each pixel's lowest belief. z = 2 colours.
kernel void find_labels(global uchar* memory, OpenclLevel level, OpenclLabels best) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2));
  if (!place.exists) return;
  const Decision decision = decide_pixels(memory, &level, &place);
  WidePixels labels;
  labels.wide = decision.label;
  global ushort* to = (global ushort*)(memory + best.labels) + (long)place.y * best.width;
  for (int i = 0; i < place.pixels; ++i) to[2 * (place.group * PIXELS + i) + place.odd] = labels.of[i];
}
