// SPDX-License-Identifier: Apache-2.0
// Sub-pixel offsets from costs, integers or floats: both halves of sub_pixel.h.

// Values of SubPixel.
#define NO_SUB_PIXEL 0
#define PARABOLA 1
#define V_SHAPE 2

#define SUB_PIXEL_STEEPNESS(method, before, best, after) \
  ((method) == PARABOLA ? (before) - 2 * (best) + (after) : max(before, after) - (best))
#define SUB_PIXEL_OFFSET(method, before, best, after) \
  quotient((float)((before) - (after)), (float)(2 * SUB_PIXEL_STEEPNESS(method, before, best, after)))
