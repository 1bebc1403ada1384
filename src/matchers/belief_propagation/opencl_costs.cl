// SPDX-License-Identifier: Apache-2.0
// Data costs of the image for all labels.
//
// Specialised by UNITS (uchar, ushort or float) of costs before the lowest is subtracted, and MOST_UNITS; and
// by the macros of data_cost/opencl_costs.cl and opencl_levels.cl.

// The cost rounded to units.
INLINE UNITS to_units(float cost) {
  // Costs that fit in integers are not negative.
  return sizeof(UNITS) == sizeof(float) ? (UNITS)floor(cost + 0.5f) : (UNITS)(cost + 0.5f);
}

// Costs of a work item's pixels, and the existence of their right pixels.
typedef struct {
  UNITS costs[PER_SHARE][PIXELS];
  UNITS least[PIXELS];
  uchar some[PIXELS], missing[PIXELS];  // 1 = a right pixel exists, or does not exist
} Found;

INLINE void find_costs_of_label(global uchar* memory, const global uchar* images, int mirrored,
                                const OpenclInputs* inputs, const OpenclCosts* costs, const Place* place,
                                FEATURE left[FEATURE_PLANES][PIXELS], int labels, int label, UNITS* own,
                                Found* found) {
  // Column of the first pixel's right pixel. No pixel is valid beyond the image.
  const int x = 2 * place->group * PIXELS + place->odd - costs->min_disparity - label;
  const int at = clamp(x >> 1, -PIXELS, (inputs->width + 1) / 2);
  const global uchar* valid = validity_at(memory, inputs, 1, place->y, x & 1) + at;
  const global FEATURE* right[FEATURE_PLANES];
#pragma unroll
  for (int plane = 0; plane < FEATURE_PLANES; ++plane)
    right[plane] = features_at(memory, inputs, 1, place->y, x & 1, plane) + at;
  // A volume's labels correspond to no right pixels.
  const bool everywhere = COST == VOLUME && !mirrored;
#if COST != VOLUME
  // This is a loop of its own so that compilers for processors vectorise it.
  Difference differences[PIXELS];
  FOR_PIXELS(i) {
    FEATURES(of_left, left, i)
    FEATURES(of_right, right, i)
    differences[i] = difference(of_left, of_right);
  }
#endif
  FOR_PIXELS(i) {
#if COST == VOLUME
    const int column = 2 * (place->group * PIXELS + i) + place->odd;
    const UNITS cost =
        to_units(volume_cost(images, inputs, mirrored, costs, column, place->y, label, labels));
#else
    const UNITS cost = to_units(cost_of(costs, differences[i]));
#endif
    const bool exists = everywhere || valid[i] != 0;
    own[i] = exists ? cost : (UNITS)costs->outside;
    found->least[i] = min(found->least[i], own[i]);
    found->some[i] |= exists ? 1 : 0;
    found->missing[i] |= exists ? 0 : 1;
  }
}

// Data that the shares of a group exchange.
typedef struct {
  UNITS least[SHARES][GROUP_WORDS][PIXELS];
  uchar some[SHARES][GROUP_WORDS][PIXELS], missing[SHARES][GROUP_WORDS][PIXELS];
} SharedCosts;

static void combine_shares(local SharedCosts* shared, Found* found) {
  const int own = get_local_id(1), share = get_local_id(0);
  FOR_PIXELS(i) {
    shared->least[share][own][i] = found->least[i];
    shared->some[share][own][i] = found->some[i];
    shared->missing[share][own][i] = found->missing[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int other = 0; other < SHARES; ++other) FOR_PIXELS(i) {
      found->least[i] = min(found->least[i], shared->least[other][own][i]);
      found->some[i] |= shared->some[other][own][i];
      found->missing[i] |= shared->missing[other][own][i];
    }
}

// Finds the data costs of the image, and the status of its pixels before matching. z = 2 colours of each
// pair.
kernel GROUP void find_costs(global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclInputs inputs,
                             OpenclCosts costs) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2) % 2);
  const int pair = PAIR_OF(pairs, 2);
  const global uchar* images = memory;
  memory = LEVELS_OF(memory, pairs, pair);
  const int at = place.group * PIXELS;
  FEATURE left[FEATURE_PLANES][PIXELS];
  Found found;
#pragma unroll
  for (int plane = 0; plane < FEATURE_PLANES; ++plane) FOR_PIXELS(i) {
      left[plane][i] = features_at(memory, &inputs, 0, place.y, place.odd, plane)[at + i];
    }
  FOR_PIXELS(i) {
    found.least[i] = MOST_UNITS;
    found.some[i] = found.missing[i] = 0;
  }
  FOR_LABELS(k, &place)
  if (has_label(&place, k))
    find_costs_of_label(memory, images, pair, &inputs, &costs, &place, left, level.labels,
                        place.first_label + k, found.costs[k], &found);
#if SHARES > 1
  local SharedCosts shared;
  combine_shares(&shared, &found);
#endif
  if (!place.exists) return;
  const global uchar* valid = validity_at(memory, &inputs, 0, place.y, place.odd) + at;
  UNITS highest[PIXELS];
  FOR_PIXELS(i) {
    const bool has_data = valid[i] != 0 && (costs.has_outside || found.missing[i] == 0);
    highest[i] = has_data ? (UNITS)min((float)DATA_BOUND, (float)MOST_UNITS) : 0;
  }
  global Value* to = data_at(memory, &level, place.colour, place.y, place.group);
#if PROCESSOR
  FOR_LABELS(k, &place) {
    Pixels kept;
    FOR_PIXELS(i) kept.of[i] = (Value)min((UNITS)(found.costs[k][i] - found.least[i]), highest[i]);
    // Past the caches, because the data is too large for them.
    __builtin_nontemporal_store(kept.word, (global Word*)(to + k * level.pitch));
  }
#else
  UNROLLED for (int k = 0; k < PER_SHARE; k += WORDS_AT_ONCE) {
    Pixels kept[WORDS_AT_ONCE];
    UNROLLED for (int j = 0; j < WORDS_AT_ONCE; ++j) FOR_PIXELS(i) {
      kept[j].of[i] = (Value)min((UNITS)(found.costs[k + j][i] - found.least[i]), highest[i]);
    }
    store_four((uint4)(kept[0].word, kept[1].word, kept[2].word, kept[3].word), to, k, get_local_id(0));
  }
#endif
  if (place.first_label > 0) return;
  global uchar* status = memory + inputs.status + place.y * inputs.stride + 2 * at + place.odd;
  for (int i = 0; i < place.pixels; ++i)
    status[2 * i] = valid[i] == 0 ? INPUT_MASKED : found.some[i] != 0 ? MATCHED : OUT_OF_RANGE;
}
