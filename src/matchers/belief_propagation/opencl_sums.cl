// SPDX-License-Identifier: Apache-2.0
// What is found before candidates are: which pixels have data costs, and the data costs of the finest level
// that considers all labels.
//
// Specialised by LABELS, SIDE (pixels of the image along a side of a pixel of that level), SUM_ITEMS (of a
// group), and by the macros of opencl_image_costs.cl and opencl_values.cl.

// Whether some, and all, of some elements are valid.
typedef struct {
  uint some, all;
} Existence;

// Takes the elements from `first` to `last`, of a part of a row that has `end` elements. Those outside the
// image are not valid.
static void take_elements(Existence* so_far, const global uchar* validity, int first, int last, int end) {
  const int stop = clamp(last, -1, end);
  uint some = 0, all = 0x01010101u;
  for (int at = clamp(first, -1, end); at <= stop;) {
    const bool is_word = at % 4 == 0 && at + 3 <= stop;
    const uint valid = is_word ? *(const global uint*)(validity + at) : 0x01010101u * validity[at];
    some |= valid;
    all &= valid;
    at += is_word ? 4 : 1;
  }
  so_far->some |= some != 0 ? 1 : 0;
  so_far->all &= all == 0x01010101u ? 1 : 0;
}

// Finds the status of pixels before matching, and whether they have data costs. A work item has four
// elements of a part of a row; global size z = parts of each pair.
kernel void find_existence(global uchar* memory, OpenclPairs pairs, OpenclInputs inputs, OpenclCosts costs,
                           OpenclImageCosts image) {
  const int first = 4 * get_global_id(0), y = get_global_id(1), part = get_global_id(2) % PARTS;
  const int pair = PAIR_OF(pairs, PARTS), end = (inputs.width + 1) / 2;
  if (first >= end) return;
  memory = LEVELS_OF(memory, pairs, pair);
  Existence right[4];
  UNROLLED for (int i = 0; i < 4; ++i) right[i].some = 0, right[i].all = 1;
  for (int right_part = 0; right_part < PARTS; ++right_part) {
    // Every second label has right pixels in this part, each one element before that of the previous one.
    const int shift = part - costs.min_disparity, lowest = (shift - right_part) & 1;
    const int labels = (LABELS - lowest + 1) / 2, last = first + ((shift - lowest) >> 1),
              start = last - labels + 1;
    const global uchar* validity = validity_at(memory, &inputs, 1, y, right_part);
    // The elements of all four pixels, and then those of each.
    const int common = max(0, labels - 3);
    Existence shared = {0, 1};
    if (common > 0) take_elements(&shared, validity, start + 3, last, end);
    UNROLLED for (int i = 0; i < 4; ++i) {
      right[i].some |= shared.some;
      right[i].all &= shared.all;
      if (common > 0 && i < 3) take_elements(&right[i], validity, start + i, start + 2, end);
      if (common > 0 && i > 0) take_elements(&right[i], validity, last + 1, last + i, end);
      if (common == 0 && labels > 0) take_elements(&right[i], validity, start + i, last + i, end);
    }
  }
  const uint valid = *(const global uint*)(validity_at(memory, &inputs, 0, y, part) + first);
  *(global uint*)(has_data_at(memory, &inputs, &image, y, part) + first) =
      costs.has_outside
          ? valid
          : valid & (right[0].all | right[1].all << 8 | right[2].all << 16 | right[3].all << 24);
  UNROLLED for (int i = 0; i < 4; ++i) {
    const int x = PARTS * (first + i) + part;
    if (x < inputs.width)
      memory[inputs.status + y * inputs.stride + x] = (valid >> 8 * i & 1) == 0 ? INPUT_MASKED
                                                      : right[i].some != 0      ? MATCHED
                                                                                : OUT_OF_RANGE;
  }
}

// A group has a word of both colours.
#define SUM_PIXELS 8
#define LABEL_LANES (SUM_ITEMS / SUM_PIXELS)
// Labels of a work item, and of all.
#define SUM_LABELS (LABELS >= 8 * LABEL_LANES ? 8 : (LABELS + LABEL_LANES - 1) / LABEL_LANES)
#define LABELS_AT_ONCE (LABEL_LANES * SUM_LABELS)
#define LEFT_COLUMNS (SUM_PIXELS * SIDE)
#define RIGHT_COLUMNS (LEFT_COLUMNS + LABELS_AT_ONCE - 1)
// Spreads the columns, so that work items that read every SUM_LABELS-th column use all banks.
#define APART(column) (SUM_LABELS % 2 == 1 ? (column) : (column) + (column) / SUM_LABELS)

// The element of a column in its part; those outside the image are elements that are not valid.
INLINE int element_of(const OpenclInputs* inputs, int x) {
  return clamp(x >> 1, -1, (inputs->width + 1) / 2);
}

// Data costs of a level for all labels: sums over the costs of SIDE × SIDE pixels of the image, less a
// pixel's least one. Global size z = pairs.
kernel __attribute__((reqd_work_group_size(SUM_ITEMS, 1, 1))) void sum_costs(
    global uchar* memory, OpenclPairs pairs, OpenclLevel level, OpenclInputs inputs, OpenclCosts costs,
    OpenclImageCosts image) {
  local uint table[COST_TABLE];
  local ulong left[SIDE][LEFT_COLUMNS], right[SIDE][APART(RIGHT_COLUMNS) + 1];
  local ushort left_costs[SIDE][LEFT_COLUMNS], right_costs[SIDE][APART(RIGHT_COLUMNS) + 1];
  local ushort sums[SUM_PIXELS][LABELS];
  local uint least[SUM_PIXELS];
  const int own = get_local_id(0), group = get_group_id(0), y = get_group_id(1), pair = PAIR_OF(pairs, 1);
  const int first_x = group * LEFT_COLUMNS, rows = min(SIDE, inputs.height - y * SIDE);
  memory = LEVELS_OF(memory, pairs, pair);
  fill_table(&costs, table, own, SUM_ITEMS);
  if (own < SUM_PIXELS) least[own] = ~0u;
  for (int i = own; i < rows * LEFT_COLUMNS; i += SUM_ITEMS) {
    const int row = i / LEFT_COLUMNS, column = i % LEFT_COLUMNS, x = first_x + column;
    const int at = element_of(&inputs, x);
    left[row][column] = features_at(memory, &inputs, 0, y * SIDE + row, x & 1, 0)[at];
    left_costs[row][column] =
        has_data_at(memory, &inputs, &image, y * SIDE + row, x & 1)[at] != 0 ? 0 : 2 * SIGNATURES;
  }
  const int pixel = own / LABEL_LANES, lane = own % LABEL_LANES;
  for (int first_label = 0; first_label < LABELS; first_label += LABELS_AT_ONCE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first_right = first_x - costs.min_disparity - first_label - (LABELS_AT_ONCE - 1);
    for (int i = own; i < rows * RIGHT_COLUMNS; i += SUM_ITEMS) {
      const int row = i / RIGHT_COLUMNS, column = i % RIGHT_COLUMNS, x = first_right + column;
      const int at = element_of(&inputs, x);
      right[row][APART(column)] = features_at(memory, &inputs, 1, y * SIDE + row, x & 1, 0)[at];
      right_costs[row][APART(column)] =
          validity_at(memory, &inputs, 1, y * SIDE + row, x & 1)[at] != 0 ? 0 : SIGNATURES;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum[SUM_LABELS];
    UNROLLED for (int k = 0; k < SUM_LABELS; ++k) sum[k] = 0;
    // The column of the last label of the leftmost pixel.
    const int first_column = pixel * SIDE + (LABEL_LANES - 1 - lane) * SUM_LABELS;
    for (int row = 0; row < rows; ++row) {
      ulong here[SIDE];
      uint costs_here[SIDE];
      UNROLLED for (int p = 0; p < SIDE; ++p) {
        here[p] = left[row][pixel * SIDE + p];
        costs_here[p] = left_costs[row][pixel * SIDE + p];
      }
      UNROLLED for (int i = 0; i < SIDE + SUM_LABELS - 1; ++i) {
        const int column = APART(first_column + i);
        const ulong there = right[row][column];
        const uint costs_there = right_costs[row][column];
        UNROLLED for (int p = 0; p < SIDE; ++p) {
          const int k = p + SUM_LABELS - 1 - i;
          if (k >= 0 && k < SUM_LABELS)
            sum[k] += table[costs_here[p] + costs_there + (uint)popcount(here[p] ^ there)];
        }
      }
    }
    uint lowest = ~0u;
    UNROLLED for (int k = 0; k < SUM_LABELS; ++k) {
      const int label = first_label + lane * SUM_LABELS + k;
      if (label >= LABELS) continue;
      sums[pixel][label] = sum[k];
      lowest = min(lowest, sum[k]);
    }
    atomic_min(&least[pixel], lowest);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int label = own; label < LABELS; label += SUM_ITEMS)
    for (int colour = 0; colour < 2; ++colour) {
      uint word = 0;
      UNROLLED for (int p = 0; p < SUM_PIXELS / 2; ++p) {
        const int i = 2 * p + parity(y, colour);
        if (group * SUM_PIXELS + i < level.width)
          word |= min(sums[i][label] - least[i], (uint)DATA_BOUND) << p * BITS;
      }
      store_word(word, data_at(memory, &level, colour, y, group) + LABEL_AT(label) * SUM_PIXELS / 2);
    }
}
