// SPDX-License-Identifier: Apache-2.0
// refit() on OpenCL: the same results as refit.cpp.
//
// Specialised by WINDOW, and by the macros of opencl_features.cl for signatures of the census.

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

// Adds a row of the window around column x, whose match is column `match`.
INLINE void add_row(LabelCosts* costs, Row left, Row right, int x, int match) {
  int u = match - RADIUS;
  // Neighbours share two of their three right pixels.
  ulong after = right.signatures[u - 1], here = right.signatures[u];
  bool has_after = right.validity[u - 1] != 0, has_here = right.validity[u] != 0;
  UNROLLED for (int i = -RADIUS; i <= RADIUS; ++i) {
    ++u;
    const ulong before = right.signatures[u], signature = left.signatures[x + i];
    const bool has_before = right.validity[u] != 0;
    const ulong counted = left.validity[x + i] && has_before && has_here && has_after ? ~(ulong)0 : 0;
    costs->before += popcount((signature ^ before) & counted);
    costs->here += popcount((signature ^ here) & counted);
    costs->after += popcount((signature ^ after) & counted);
    after = here;
    here = before;
    has_after = has_here;
    has_here = has_before;
  }
}

// One work item per pixel.
kernel void refit(global uchar* memory, Map map, OpenclInputs inputs) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= map.width) return;
  global float* disparity = (global float*)(memory + map.disparity) + y * map.stride + x;
  const float label = ceil(*disparity - 0.5f), column = (float)x - label, reach = RADIUS - 1;
  // False if there is no disparity, or no pixel of the window has its three right pixels inside the image.
  if (!(column >= -reach && column < (float)map.width + reach)) return;
  LabelCosts costs = {0, 0, 0};
  const int first = max(y - RADIUS, 0), last = min(y + RADIUS, map.height - 1);
  for (int v = first; v <= last; ++v)
    add_row(&costs, row_of(memory, &inputs, 0, v), row_of(memory, &inputs, 1, v), x, x - (int)label);
  if (costs.here > min(costs.before, costs.after) || costs.here >= max(costs.before, costs.after)) return;
  const float offset = SUB_PIXEL_OFFSET(V_SHAPE, costs.before, costs.here, costs.after);
  *disparity = (label + offset + *disparity) * 0.5f;
}
