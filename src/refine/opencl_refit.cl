// SPDX-License-Identifier: Apache-2.0
// refit() on OpenCL: the same results as refit.cpp.
//
// Specialised by WINDOW, by ROWS of a work item (1, 16), and by the macros of opencl_features.cl for the
// census.

#define RADIUS (WINDOW / 2)

// A row of an image. No pixel is valid in the columns beside it that windows read.
typedef struct {
  const global ulong* signatures;
  const global uchar* validity;
} Row;

INLINE Row row_of(global uchar* memory, const OpenclInputs* inputs, int side, int y) {
  const Row row = {features_at(memory, inputs, side, y, 0, 0), validity_at(memory, inputs, side, y, 0)};
  return row;
}

// Sums of Hamming distances over a window, for the label before a pixel's, its own and the one after it.
typedef struct {
  int before, here, after;
} LabelCosts;

// The sums over a row of the window around column x, whose match is column `match`.
INLINE LabelCosts costs_of_row(Row left, Row right, int x, int match) {
  LabelCosts costs = {0, 0, 0};
  int u = match - RADIUS;
  // Neighbours share two of their three right pixels.
  ulong after = right.signatures[u - 1], here = right.signatures[u];
  bool has_after = right.validity[u - 1] != 0, has_here = right.validity[u] != 0;
  UNROLLED for (int i = -RADIUS; i <= RADIUS; ++i) {
    ++u;
    const ulong before = right.signatures[u], signature = left.signatures[x + i];
    const bool has_before = right.validity[u] != 0;
    const ulong counted = left.validity[x + i] && has_before && has_here && has_after ? ~0ul : 0;
    costs.before += popcount((signature ^ before) & counted);
    costs.here += popcount((signature ^ here) & counted);
    costs.after += popcount((signature ^ after) & counted);
    after = here;
    here = before;
    has_after = has_here;
    has_here = has_before;
  }
  return costs;
}

// Adds row y of the window around column x to the sums, or subtracts it.
INLINE void add_row(LabelCosts* costs, int sign, global uchar* memory, const OpenclInputs* inputs, int x,
                    int y, int label) {
  const Row left = row_of(memory, inputs, 0, y), right = row_of(memory, inputs, 1, y);
  const LabelCosts row = costs_of_row(left, right, x, x - label);
  costs->before += sign * row.before;
  costs->here += sign * row.here;
  costs->after += sign * row.after;
}

// Sums over the window of a pixel. `slides`: `costs` has those of the pixel above, which has the same label.
INLINE void find_costs(LabelCosts* costs, bool slides, global uchar* memory, const OpenclInputs* inputs,
                       int x, int y, int label) {
  const LabelCosts nothing = {0, 0, 0};
  const int first = slides ? y + RADIUS : max(y - RADIUS, 0), last = min(y + RADIUS, inputs->height - 1);
  if (!slides)
    *costs = nothing;
  else if (y > RADIUS)
    add_row(costs, -1, memory, inputs, x, y - RADIUS - 1, label);
  for (int v = first; v <= last; ++v) add_row(costs, 1, memory, inputs, x, v, label);
}

// No disparity, or no pixel of the window has its three right pixels inside the image.
#define NO_LABEL INT_MIN

static int label_at(float disparity, int x, int width) {
  const float label = ceil(disparity - 0.5f), column = (float)x - label, reach = RADIUS - 1;
  return column >= -reach && column < (float)width + reach ? (int)label : NO_LABEL;
}

// See refitted() in refit.h.
static float refitted(float disparity, float label, const LabelCosts* costs) {
  if (costs->here > min(costs->before, costs->after) || costs->here >= max(costs->before, costs->after))
    return disparity;
  return (label + SUB_PIXEL_OFFSET(V_SHAPE, costs->before, costs->here, costs->after) + disparity) * 0.5f;
}

// A work item has ROWS pixels of a column.
kernel void refit(global uchar* memory, Map map, OpenclInputs inputs) {
  const int x = get_global_id(0), top = ROWS * get_global_id(1), end = min(top + ROWS, map.height);
  if (x >= map.width) return;
  LabelCosts costs = {0, 0, 0};
  int label_above = NO_LABEL;
  for (int y = top; y < end; ++y) {
    global float* disparity = (global float*)(memory + map.disparity) + y * map.stride + x;
    const int label = label_at(*disparity, x, map.width);
    if (label != NO_LABEL) {
      find_costs(&costs, label == label_above, memory, &inputs, x, y, label);
      *disparity = refitted(*disparity, (float)label, &costs);
    }
    label_above = label;
  }
}
