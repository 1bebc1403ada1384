// SPDX-License-Identifier: Apache-2.0
// The data costs of all pixels, and their sums over windows.
//
// Specialised by PIXELS (neighbours in a row whose costs a work item finds), COLUMNS (whose windows a processor's work
// item adds up), and by the macros of data_cost/opencl_costs.cl and opencl_values.cl.

#define FOR_PIXELS(p) EACH for (int p = 0; p < PIXELS; ++p)

// In units.
INLINE ushort to_units(float cost) {
  return (ushort)(int)(max(cost, 0.0f) + 0.5f);
}

INLINE bool is_label(const OpenclVolumes* volumes, int k) {
  return first_label() + k < volumes->labels;
}

// The right pixels of a lane's labels.
typedef struct {
  const global FEATURE* features[FEATURE_PLANES];  // those of pixel 0 and label 0
  const global uchar* valid;
  bool all_exist;  // a volume's labels correspond to no right pixels
} RightPixels;

// Beyond the image, no pixel is valid.
INLINE RightPixels right_pixels(global uchar* memory, const OpenclInputs* inputs, int min_disparity, int x,
                                int y) {
  const int column = clamp(x - min_disparity - first_label(), -PIXELS, inputs->width + PER_LANE - 1);
  RightPixels right;
  EACH for (int plane = 0; plane < FEATURE_PLANES; ++plane) right.features[plane] =
      features_at(memory, inputs, 1, y, 0, plane) + column;
  right.valid = validity_at(memory, inputs, 1, y, 0) + column;
  right.all_exist = COST == VOLUME && !inputs->mirrored;
  return right;
}

// The costs of a pixel p after column x, without regard to validity.
INLINE void find_pixel_costs(global uchar* memory, const OpenclVolumes* volumes, const OpenclInputs* inputs,
                             const OpenclCosts* costs, const RightPixels* right, int x, int y, int p,
                             ushort* found) {
#if COST == VOLUME
  FOR_LABELS(k) {
    const int label = min(first_label() + k, volumes->labels - 1);
    found[k] = to_units(volume_cost(memory, inputs, costs, x + p, y, label, volumes->labels));
  }
#else
  const global FEATURE* left[FEATURE_PLANES];
  EACH for (int plane = 0; plane < FEATURE_PLANES; ++plane) left[plane] =
      features_at(memory, inputs, 0, y, 0, plane) + x;
  FEATURES(of_left, left, p)
  // In a loop of its own, which compilers for processors vectorise.
  Difference differences[PER_LANE];
  FOR_LABELS(k) {
    FEATURES(of_right, right->features, p - k)
    differences[k] = difference(of_left, of_right);
  }
  FOR_LABELS(k) {
    found[k] = to_units(cost_of(costs, differences[k]));
  }
#endif
}

// Bits of pixels which have a label whose right pixel exists, and, further up, which have one whose does not.
#define MISSING 16

INLINE uint find_existence(const OpenclVolumes* volumes, const RightPixels* right) {
  uint flags = 0;
  FOR_PIXELS(p) {
    uchar some = 0, missing = 0;
    FOR_LABELS(k) {
      const uchar exists = right->all_exist || right->valid[p - k] != 0 ? 1 : 0,
                  counts = is_label(volumes, k) ? 1 : 0;
      some |= exists & counts;
      missing |= (exists ^ 1) & counts;
    }
    flags |= (uint)some << p | (uint)missing << (p + MISSING);
  }
  return flags;
}

INLINE uint either(uint a, uint b) {
  return a | b;
}

// The data costs of pixels, and their status before matching. x = a work item for each lane, y = rows.
kernel EACH_OF_GROUP void find_costs(global uchar* memory, OpenclVolumes volumes, OpenclInputs inputs,
                                     OpenclCosts costs, long lowest_of_right) {
  local uint shared[GROUP];
  const int x = min((int)get_global_id(0) / LANES * PIXELS, inputs.width), y = get_global_id(1);
  const RightPixels right = right_pixels(memory, &inputs, costs.min_disparity, x, y);
  const global uchar* valid = validity_at(memory, &inputs, 0, y, 0) + x;
  uint flags = find_existence(&volumes, &right);
  OVER_LANES(either, flags, shared)
  FOR_PIXELS(p) {
    ushort found[PER_LANE];
    find_pixel_costs(memory, &volumes, &inputs, &costs, &right, x, y, p, found);
    const bool some = (flags >> p & 1) != 0, missing = (flags >> (p + MISSING) & 1) != 0;
    const bool has_data = valid[p] != 0 && (costs.has_outside || !missing);
    const ushort outside = (ushort)(int)costs.outside;
    FOR_LABELS(k) {
      const ushort cost = right.all_exist || right.valid[p - k] != 0 ? found[k] : outside;
      found[k] = !is_label(&volumes, k) ? (ushort)volumes.padding : has_data ? cost : (ushort)0;
    }
    if (x + p >= inputs.width) continue;
    const long pixel = (long)y * inputs.width + x + p;
    Word words[WORDS];
    set_costs(found, words);
    store(words, costs_at(memory, volumes.costs, pixel));
    if (own_lane() != 0) continue;
    memory[inputs.status + y * inputs.stride + x + p] = valid[p] == 0 ? INPUT_MASKED
                                                        : some        ? MATCHED
                                                                      : OUT_OF_RANGE;
    if (lowest_of_right >= 0) ((global uint*)(memory + lowest_of_right))[pixel] = ~0u;
  }
}

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

// Sums over a side of a window, along rows (step_x = 1) or columns: each from that of the pixel before. Groups: rows, or
// COLUMNS columns.
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
