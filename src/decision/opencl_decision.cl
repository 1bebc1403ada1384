// SPDX-License-Identifier: Apache-2.0
// The decision from a pixel's beliefs: see decision.h.

// The beliefs of one pixel.
typedef struct {
  int label;
  float before, best, after, rival;
} Beliefs;

static void write_decision(global uchar* memory, const OpenclDecision* to, int width, int x, long y,
                           const Beliefs* found) {
  const int column = to->mirrored ? width - 1 - x : x;
  const uchar status = memory[to->before + y * to->before_stride + x];
  float disparity = (float)(to->min_disparity + found->label);
  const bool inside = found->label > 0 && found->label + 1 < to->labels && found->before < INFINITY &&
                      found->after < INFINITY;
  if (to->sub_pixel != NO_SUB_PIXEL && inside)
    disparity += SUB_PIXEL_OFFSET(to->sub_pixel, found->before, found->best, found->after);
  ((global float*)(memory + to->disparity))[y * to->stride + column] =
      status == MATCHED ? disparity : NO_VALUE;
  if (to->status >= 0) memory[to->status + y * to->status_stride + column] = status;
}
