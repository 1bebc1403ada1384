// SPDX-License-Identifier: Apache-2.0
// The data costs of all pixels, and their sums over windows.
//
// Specialised by PIXELS (neighbours in a row whose costs a work item finds), COLUMNS (whose windows a
// processor's work item adds up), PROPORTIONAL (whether costs are OpenclCosts::per_bit for each bit of a
// difference), and by the macros of data_cost/opencl_costs.cl and opencl_values.cl.

#define FOR_PIXELS(p) EACH for (int p = 0; p < PIXELS; ++p)

// The cost rounded to units.
INLINE ushort to_units(float cost) {
  return (ushort)(int)(max(cost, 0.0f) + 0.5f);
}

INLINE bool is_label(const OpenclVolumes* volumes, int k) {
  return first_label() + k < volumes->labels;
}

INLINE uchar status_before(bool is_valid, bool some_right_exist) {
  return !is_valid ? INPUT_MASKED : some_right_exist ? MATCHED : OUT_OF_RANGE;
}

// A volume's labels correspond to no right pixels.
INLINE bool all_right_exist(const OpenclInputs* inputs) {
  return COST == VOLUME && !inputs->mirrored;
}

INLINE int right_column(const OpenclInputs* inputs, int min_disparity, int x) {
  // Limited to columns that are padding: no pixel is valid beyond the image.
  return clamp(x - min_disparity - first_label(), -PIXELS, inputs->width + PER_LANE - 1);
}

// The cost of a label in units, regardless of validity.
INLINE ushort cost_in_units(const OpenclCosts* costs, Difference difference) {
#if PROPORTIONAL
  return (uint)difference * (uint)costs->per_bit;
#else
  return to_units(cost_of(costs, difference));
#endif
}

INLINE ushort volume_cost_in_units(global uchar* memory, const OpenclVolumes* volumes, const OpenclInputs* inputs,
                                   const OpenclCosts* costs, int x, int y, int k) {
  const int label = min(first_label() + k, volumes->labels - 1);
  return to_units(volume_cost(memory, inputs, inputs->mirrored, costs, x, y, label, volumes->labels));
}

#if PROCESSOR

// The right pixels of a lane's labels.
typedef struct {
  const global FEATURE* features[FEATURE_PLANES];  // those of label 0
  const global uchar* valid;
  bool all_exist;
} RightPixels;

INLINE RightPixels right_pixels(global uchar* memory, const OpenclInputs* inputs, int min_disparity, int x,
                                int y) {
  const int column = right_column(inputs, min_disparity, x);
  RightPixels right;
  for (int plane = 0; plane < FEATURE_PLANES; ++plane)
    right.features[plane] = features_at(memory, inputs, 1, y, 0, plane) + column;
  right.valid = validity_at(memory, inputs, 1, y, 0) + column;
  right.all_exist = all_right_exist(inputs);
  return right;
}

// Costs regardless of validity.
INLINE void find_pixel_costs(global uchar* memory, const OpenclVolumes* volumes, const OpenclInputs* inputs,
                             const OpenclCosts* costs, const RightPixels* right, int x, int y, ushort* found) {
#if COST == VOLUME
  FOR_LABELS(k) {
    found[k] = volume_cost_in_units(memory, volumes, inputs, costs, x, y, k);
  }
#else
  const global FEATURE* left[FEATURE_PLANES];
  for (int plane = 0; plane < FEATURE_PLANES; ++plane) left[plane] = features_at(memory, inputs, 0, y, 0, plane);
  FEATURES(of_left, left, x)
  // This is a loop of its own so that compilers for processors vectorise it.
  Difference differences[PER_LANE];
  FOR_LABELS(k) {
    FEATURES(of_right, right->features, -k)
    differences[k] = difference(of_left, of_right);
  }
  FOR_LABELS(k) {
    found[k] = cost_in_units(costs, differences[k]);
  }
#endif
}

// The data costs of a pixel, and its status before matching. x = columns, y = rows.
kernel EACH_OF_GROUP void find_costs(global uchar* memory, OpenclVolumes volumes, OpenclInputs inputs,
                                     OpenclCosts costs, long lowest_of_right) {
  const int x = get_global_id(0), y = get_global_id(1);
  const RightPixels right = right_pixels(memory, &inputs, costs.min_disparity, x, y);
  const bool is_valid = validity_at(memory, &inputs, 0, y, 0)[x] != 0;
  uchar some = 0, missing = 0;
  FOR_LABELS(k) {
    const uchar exists = right.all_exist || right.valid[-k] != 0 ? 1 : 0, counts = is_label(&volumes, k) ? 1 : 0;
    some |= exists & counts;
    missing |= (exists ^ 1) & counts;
  }
  ushort found[PER_LANE];
  find_pixel_costs(memory, &volumes, &inputs, &costs, &right, x, y, found);
  const bool has_data = is_valid && (costs.has_outside || !missing);
  const ushort outside = (ushort)(int)costs.outside;
  FOR_LABELS(k) {
    const ushort cost = right.all_exist || right.valid[-k] != 0 ? found[k] : outside;
    found[k] = !is_label(&volumes, k) ? (ushort)volumes.padding : has_data ? cost : (ushort)0;
  }
  const long pixel = (long)y * inputs.width + x;
  store(found, costs_at(memory, volumes.costs, pixel));
  memory[inputs.status + y * inputs.stride + x] = status_before(is_valid, some);
  if (lowest_of_right >= 0) ((global uint*)(memory + lowest_of_right))[pixel] = ~0u;
}

#else

// The columns that a work item's pixels and labels reach, from the first one on; and the column of a pixel
// and a label.
#define SPAN (PER_LANE + PIXELS - 1)
#define IN_SPAN(p, k) ((p) + PER_LANE - 1 - (k))

// A bit for each of SPAN bytes that are 0 or 1, from byte `first` of the memory on.
INLINE ulong bits_of_span(const global uchar* memory, long first) {
  const global uint* words = (const global uint*)(memory + (first & ~3L));
  ulong bits = 0;
  EACH for (int i = 0; i < (SPAN + 6) / 4; ++i) bits |= (ulong)(words[i] * 0x10204080u >> 28) << 4 * i;
  return bits >> (first & 3) & ((1UL << SPAN) - 1);
}

// Validity of a work item's pixels, as bits.
typedef struct {
  uint left_valid;
  ulong right_valid;   // validity of the span's pixels
  // pixels with a label whose right pixel exists, and with one whose right pixel does not
  uint some, missing;
} Existence;

INLINE uint either(uint a, uint b) {
  return a | b;
}

INLINE Existence find_existence(global uchar* memory, const OpenclVolumes* volumes, const OpenclInputs* inputs,
                                int first_right, int x, int y, local uint* shared) {
  const int labels = clamp(volumes->labels - first_label(), 0, PER_LANE);
  const ulong of_first = ((1UL << labels) - 1) << (PER_LANE - labels);
  const global uchar* left = validity_at(memory, inputs, 0, y, 0) + x;
  Existence exists = {0, ~0UL, 0, 0};
  if (!all_right_exist(inputs))
    exists.right_valid = bits_of_span(memory, validity_at(memory, inputs, 1, y, 0) + first_right - memory);
  uint flags = 0;
  FOR_PIXELS(p) {
    const ulong wanted = of_first << p, found = exists.right_valid & wanted;
    exists.left_valid |= (uint)(left[p] != 0) << p;
    flags |= (found != 0 ? 1u : 0) << p | (found != wanted ? 0x10000u : 0) << p;
  }
  OVER_LANES(either, flags, shared)
  exists.some = flags & 0xFFFF;
  exists.missing = flags >> 16;
  return exists;
}

// The costs of a work item, in memory form.
typedef struct {
  Value of[PIXELS][VALUES];
} Found;

// The value that holds the cost of a lane's label.
#define VALUE_OF(k) ((k) % WORDS * BITS / 16)
#define SHIFT_OF(k) ((k) / WORDS * 16 + (BITS == 8 ? (k) % 2 * 8 : 0))

// `all_exist`: all pixels are valid; otherwise the costs of missing pixels are replaced.
INLINE void find_all_costs(global uchar* memory, const OpenclVolumes* volumes, const OpenclInputs* inputs,
                           const OpenclCosts* costs, const Existence* exists, int first_right, int x, int y,
                           bool all_exist, Found* found) {
  const uint outside = (uint)(int)costs->outside;
  const uint has_data = all_exist ? ~0u : exists->left_valid & (costs->has_outside ? ~0u : ~exists->missing);
  const global FEATURE *left[FEATURE_PLANES], *right[FEATURE_PLANES];
  EACH for (int plane = 0; plane < FEATURE_PLANES; ++plane) {
    left[plane] = features_at(memory, inputs, 0, y, 0, plane) + x;
    right[plane] = features_at(memory, inputs, 1, y, 0, plane) + first_right;
  }
  FOR_PIXELS(p) {
    EACH for (int i = 0; i < VALUES; ++i) found->of[p][i] = 0;
  }
  EACH for (int i = 0; i < SPAN; ++i) {
    FEATURES(of_right, right, i)
    FOR_PIXELS(p) {
      const int k = IN_SPAN(p, i);
      if (k < 0 || k >= PER_LANE) continue;
#if COST == VOLUME
      uint cost = volume_cost_in_units(memory, volumes, inputs, costs, x + p, y, k);
#else
      FEATURES(of_left, left, p)
      uint cost = cost_in_units(costs, difference(of_left, of_right));
#endif
      if (!all_exist) cost = (has_data >> p & 1) == 0 ? 0 : (exists->right_valid >> i & 1) != 0 ? cost : outside;
      found->of[p][VALUE_OF(k)] |= cost << SHIFT_OF(k);
    }
  }
}

INLINE void pad(const OpenclVolumes* volumes, Found* found) {
  FOR_PIXELS(p) {
    FOR_LABELS(k) {
      if (is_label(volumes, k)) continue;
      Value* value = &found->of[p][VALUE_OF(k)];
      *value = (*value & ~(((1u << BITS) - 1) << SHIFT_OF(k))) | (uint)volumes->padding << SHIFT_OF(k);
    }
  }
}

// Finds the data costs of pixels, and their status before matching. x = a work item for each lane, y = rows.
kernel EACH_OF_GROUP void find_costs(global uchar* memory, OpenclVolumes volumes, OpenclInputs inputs,
                                     OpenclCosts costs, long lowest_of_right) {
  local uint shared[GROUP];
  const int x = min((int)get_global_id(0) / LANES * PIXELS, inputs.width), y = get_global_id(1);
  const int first_right = right_column(&inputs, costs.min_disparity, x) - (PER_LANE - 1);
  const Existence exists = find_existence(memory, &volumes, &inputs, first_right, x, y, shared);
  Found found;
  if (exists.left_valid == (1u << PIXELS) - 1 && exists.missing == 0)
    find_all_costs(memory, &volumes, &inputs, &costs, &exists, first_right, x, y, true, &found);
  else
    find_all_costs(memory, &volumes, &inputs, &costs, &exists, first_right, x, y, false, &found);
  if (first_label() + PER_LANE > volumes.labels) pad(&volumes, &found);
  FOR_PIXELS(p) {
    if (x + p >= inputs.width) break;
    const long pixel = (long)y * inputs.width + x + p;
    store_values(found.of[p], costs_at(memory, volumes.costs, pixel));
    if (own_lane() != p % LANES) continue;
    memory[inputs.status + y * inputs.stride + x + p] =
        status_before((exists.left_valid >> p & 1) != 0, (exists.some >> p & 1) != 0);
    if (lowest_of_right >= 0) ((global uint*)(memory + lowest_of_right))[pixel] = ~0u;
  }
}

#endif

#if PROCESSOR

INLINE void add(const Word* costs, Word* sums) {
  FOR_WORDS(k) {
    sums[k] += costs[k];
  }
}

INLINE void subtract(const Word* costs, Word* sums) {
  FOR_WORDS(k) {
    sums[k] -= costs[k];
  }
}

// Sums over a side of a window, along rows (step_x = 1) or columns: each from the previous pixel's sum.
// Groups: rows, or COLUMNS columns.
kernel EACH_OF_GROUP void add_window(global uchar* memory, OpenclVolumes volumes, long from, long to, int reach,
                                     int step_x) {
  const int width = volumes.width, first = get_group_id(0) * (step_x ? 1 : COLUMNS),
            lines = step_x ? 1 : min(COLUMNS, width - first), length = step_x ? width : volumes.height;
  const long step = step_x ? 1 : width, start = step_x ? (long)first * width : first;
  Word sums[COLUMNS][WORDS], costs[WORDS];
  for (int line = 0; line < lines; ++line) {
    FOR_WORDS(k) {
      sums[line][k] = 0;
    }
    for (int i = -reach; i <= reach; ++i) {
      load(costs_at(memory, from, start + line + clamp(i, 0, length - 1) * step), costs);
      add(costs, sums[line]);
    }
  }
  for (int i = 0; i < length; ++i)
    for (int line = 0; line < lines; ++line) {
      FOR_WORDS(k) {
        costs[k] = sums[line][k];
      }
      set_padding(costs, volumes.labels, volumes.padding);
      stream(costs, costs_at(memory, to, start + line + i * step));
      load(costs_at(memory, from, start + line + min(i + reach + 1, length - 1) * step), costs);
      add(costs, sums[line]);
      load(costs_at(memory, from, start + line + max(i - reach, 0) * step), costs);
      subtract(costs, sums[line]);
    }
}

#else

// Sums over a side of a window, along rows (step_x = 1) or columns. x = a work item for each lane, y = rows.
kernel EACH_OF_GROUP void add_window(global uchar* memory, OpenclVolumes volumes, long from, long to, int reach,
                                     int step_x) {
  const int x = get_global_id(0) / LANES, y = get_global_id(1), step_y = 1 - step_x;
  if (x >= volumes.width) return;
  Word sums[WORDS], costs[WORDS];
  FOR_WORDS(k) {
    sums[k] = all_of(0);
  }
  for (int i = -reach; i <= reach; ++i) {
    const int u = clamp(x + i * step_x, 0, volumes.width - 1), v = clamp(y + i * step_y, 0, volumes.height - 1);
    load(costs_at(memory, from, (long)v * volumes.width + u), costs);
    FOR_WORDS(k) {
      sums[k] += costs[k];
    }
  }
  set_padding(sums, volumes.labels, volumes.padding);
  store(sums, costs_at(memory, to, (long)y * volumes.width + x));
}

#endif
