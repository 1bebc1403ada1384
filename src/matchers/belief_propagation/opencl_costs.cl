// SPDX-License-Identifier: Apache-2.0
// Data costs of the image, of all labels.
//
// Specialised by COST (a DataCost), FEATURE_PLANES and FEATURE, as opencl_images.cl; by UNITS (uchar, ushort or float)
// of costs before the least is subtracted, and MOST_UNITS; and by the macros of opencl_levels.cl.

#define CENSUS 2
#define COLOUR 1
#define BIRCHFIELD_TOMASI 3
#define VOLUME 4

// A row of features or of validity of the matched pair, by the parity of columns; of one plane.
static const global FEATURE* features_at(const global uchar* memory, const OpenclImages* images, int side,
                                         long y, int odd, int plane) {
  return (const global FEATURE*)(memory + images->features[side]) +
         ((2 * y + odd) * FEATURE_PLANES + plane) * images->feature_stride;
}

static const global uchar* validity_at(const global uchar* memory, const OpenclImages* images, int side,
                                       long y, int odd) {
  return memory + images->validity[side] + (2 * y + odd) * images->feature_stride;
}

// How far a sample is from a range.
INLINE int distance_from(int sample, int low, int high) {
  return max(0, max(sample - high, low - sample));
}

#if COST == CENSUS
typedef uchar Difference;  // in bits
#define DIFFERENCE_SCALE 256
#else
typedef int Difference;  // in 256ths of a gray level
#define DIFFERENCE_SCALE 1
#endif

// The difference between two pixels.
INLINE Difference difference(FEATURE left[FEATURE_PLANES][PIXELS], const global FEATURE* const* right,
                             int i) {
#if COST == CENSUS
  return popcount(left[0][i] ^ right[0][i]);
#elif COST == BIRCHFIELD_TOMASI
  return min(distance_from(left[0][i], right[1][i], right[2][i]),
             distance_from(right[0][i], left[1][i], left[2][i]));
#elif COST == COLOUR
  const uint third = 21845;  // of 65536
  uint sum = 0;
#pragma unroll
  for (int plane = 0; plane < 3; ++plane)
    sum += abs((int)left[plane][i] - (int)right[plane][i]) * third >> 16;
  return sum;
#else
  return abs((int)left[0][i] - (int)right[0][i]);
#endif
}

// In units.
INLINE UNITS to_units(float cost) {
  // Costs that fit in integers are not negative.
  return sizeof(UNITS) == sizeof(float) ? (UNITS)floor(cost + 0.5f) : (UNITS)(cost + 0.5f);
}

// The caller's cost of a label of column x; of the mirrored pair, that of the right pixel.
static UNITS volume_cost(const global uchar* memory, const OpenclImages* images, const OpenclCosts* costs,
                         const Place* place, int labels, int label, int i) {
  const int x = 2 * (place->group * PIXELS + i) + place->odd, right = x - costs->min_disparity - label;
  const int column = clamp(images->mirrored ? images->width - 1 - right : x, 0, images->width - 1);
  const long pixel = (long)place->y * images->width + column;
  const float units =
      ((const global float*)(memory + costs->volume))[pixel * labels + label] * costs->volume_scale;
  const float bounded = units < costs->volume_limit ? units : costs->volume_limit;
  return to_units(bounded > -costs->volume_limit ? bounded : -costs->volume_limit);
}

// What is stored here is too much for a processor's caches.
INLINE void store_far(Word word, global Value* to) {
#if PROCESSOR
  __builtin_nontemporal_store(word, (global Word*)to);
#else
  store_word(word, to);
#endif
}

// What a work item finds of its pixels: costs, and which right pixels exist.
typedef struct {
  UNITS costs[PER_SHARE][PIXELS];
  UNITS least[PIXELS];
  uchar some[PIXELS], missing[PIXELS];  // 1: a right pixel exists, or does not
} Found;

INLINE void find_costs_of_label(const global uchar* memory, const OpenclImages* images,
                                const OpenclCosts* costs, const Place* place,
                                FEATURE left[FEATURE_PLANES][PIXELS], int labels, int label, UNITS* own,
                                Found* found) {
  // Of the right pixel of the first one. Beyond the image, no pixel is valid.
  const int x = 2 * place->group * PIXELS + place->odd - costs->min_disparity - label;
  const int at = clamp(x >> 1, -PIXELS, (images->width + 1) / 2);
  const global uchar* valid = validity_at(memory, images, 1, place->y, x & 1) + at;
  const global FEATURE* right[FEATURE_PLANES];
#pragma unroll
  for (int plane = 0; plane < FEATURE_PLANES; ++plane)
    right[plane] = features_at(memory, images, 1, place->y, x & 1, plane) + at;
  // A volume's labels correspond to no right pixels.
  const bool everywhere = COST == VOLUME && !images->mirrored;
#if COST != VOLUME
  // In a loop of its own, which compilers for processors vectorise.
  Difference differences[PIXELS];
  FOR_PIXELS(i) {
    differences[i] = difference(left, right, i);
  }
#endif
  FOR_PIXELS(i) {
#if COST == VOLUME
    const UNITS cost = volume_cost(memory, images, costs, place, labels, label, i);
#else
    const UNITS cost =
        to_units((float)min(DIFFERENCE_SCALE * differences[i], costs->differences) * costs->scale);
#endif
    const bool exists = everywhere || valid[i] != 0;
    own[i] = exists ? cost : (UNITS)costs->outside;
    found->least[i] = min(found->least[i], own[i]);
    found->some[i] |= exists ? 1 : 0;
    found->missing[i] |= exists ? 0 : 1;
  }
}

// What the shares of a group tell each other.
typedef struct {
  UNITS least[SHARES][GROUP_WORDS][PIXELS];
  uchar some[SHARES][GROUP_WORDS][PIXELS], missing[SHARES][GROUP_WORDS][PIXELS];
} SharedCosts;

static void combine_shares(local SharedCosts* shared, Found* found) {
  const int own = get_local_id(0), share = get_local_id(1);
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

// Data costs of the image, and the status of its pixels before matching. z = 2 colours.
kernel GROUP void find_costs(global uchar* memory, OpenclLevel level, OpenclImages images,
                             OpenclCosts costs) {
  const Place place = own_place(level.width, level.height, level.labels, get_global_id(2));
  const int at = place.group * PIXELS;
  FEATURE left[FEATURE_PLANES][PIXELS];
  Found found;
#pragma unroll
  for (int plane = 0; plane < FEATURE_PLANES; ++plane) FOR_PIXELS(i) {
      left[plane][i] = features_at(memory, &images, 0, place.y, place.odd, plane)[at + i];
    }
  FOR_PIXELS(i) {
    found.least[i] = MOST_UNITS;
    found.some[i] = found.missing[i] = 0;
  }
  FOR_LABELS(k, &place)
  if (has_label(&place, k))
    find_costs_of_label(memory, &images, &costs, &place, left, level.labels, place.first_label + k,
                        found.costs[k], &found);
#if SHARES > 1
  local SharedCosts shared;
  combine_shares(&shared, &found);
#endif
  if (!place.exists) return;
  const global uchar* valid = validity_at(memory, &images, 0, place.y, place.odd) + at;
  UNITS highest[PIXELS];
  FOR_PIXELS(i) {
    const bool has_data = valid[i] != 0 && (costs.has_outside || found.missing[i] == 0);
    highest[i] = has_data ? (UNITS)min((float)DATA_BOUND, (float)MOST_UNITS) : 0;
  }
  global Value* to = data_at(memory, &level, place.colour, place.y, place.group);
  FOR_LABELS(k, &place) {
    if (!has_label(&place, k)) continue;
    Pixels kept;
    FOR_PIXELS(i) {
      kept.of[i] = (Value)min((UNITS)(found.costs[k][i] - found.least[i]), highest[i]);
    }
    store_far(kept.word, to + (place.first_label + k) * level.pitch);
  }
  if (place.first_label > 0) return;
  global uchar* status = memory + images.status + place.y * images.stride + 2 * at + place.odd;
  for (int i = 0; i < place.pixels; ++i)
    status[2 * i] = valid[i] == 0 ? INPUT_MASKED : found.some[i] != 0 ? MATCHED : OUT_OF_RANGE;
}
