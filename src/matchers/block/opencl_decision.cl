// SPDX-License-Identifier: Apache-2.0
// Block matching on OpenCL: the decision of a left pixel from its costs; shared by both searches.
//
// Specialised by WINDOW, METHOD (a BlockCost), UNIQUENESS, TEXTURE (whether there is a threshold), SUB_PIXEL
// (a SubPixel), and the type COST of a cost, whose highest value NO_COST no cost has.

// Values of BlockCost.
#define SAD 0
#define SSD 1
#define ZNCC 2

#define RADIUS (WINDOW / 2)
#define WINDOW_PIXELS (WINDOW * WINDOW)

// NO_COST = there is no such label.
typedef struct {
  COST best;
  COST before, after;  // costs of the labels next to the best one
  COST rival;          // lowest cost of a label more than one away from the best
} Costs;

// The highest cost at which another label makes the best one ambiguous.
static COST ambiguity_bound(COST best) {
  const ulong bound = best + (ulong)best * UNIQUENESS / 100;
  return bound < NO_COST ? (COST)bound : (COST)(NO_COST - 1);
}

static uchar status_of(const Costs* costs, bool valid, bool textureless) {
  if (!valid) return INPUT_MASKED;
  if (costs->best == NO_COST) return OUT_OF_RANGE;
  if (TEXTURE && textureless) return TEXTURELESS;
  if (UNIQUENESS > 0 && costs->rival <= ambiguity_bound(costs->best)) return AMBIGUOUS;
  return MATCHED;
}

static float refined(const Costs* costs, int disparity) {
  const bool inside = costs->before != NO_COST && costs->after != NO_COST;
  if (SUB_PIXEL == NO_SUB_PIXEL || !inside) return (float)disparity;
  const long before = costs->before, best = costs->best, after = costs->after;
  return (float)disparity + SUB_PIXEL_OFFSET(SUB_PIXEL, before, best, after);
}

// See confidence.h.
static float confidence_of(const Costs* costs, bool valid) {
  const COST best = costs->best, rival = costs->rival;
  if (!valid || best == NO_COST) return 0.0f;
  if (rival == NO_COST) return 1.0f;
  return rival == 0 ? 0.0f : quotient((float)(long)(rival - best), (float)(long)rival);
}
