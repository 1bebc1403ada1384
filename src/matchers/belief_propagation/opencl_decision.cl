// SPDX-License-Identifier: Apache-2.0
// The best labels of neighbouring pixels.

#define NO_BELIEF 0xFFFF

// The lowest belief of each pixel so far, and the beliefs of the labels next to it.
typedef struct {
  Wide best, label, before, after, last;
  int last_label;
} Decision;

INLINE Decision undecided() {
  const Wide none = NO_BELIEF;
  // Adjoins no label.
  const Wide no_label = NO_BELIEF - 8;
  const Decision decision = {none, no_label, none, none, none, -2};
  return decision;
}

// Adds the beliefs of the next label. Ties go to the lowest label.
INLINE void take(Decision* so_far, int label, Wide belief) {
  const Wide none = NO_BELIEF, own_label = (ushort)label;
  if (label != so_far->last_label + 1) so_far->last = none;
  const Wide after = so_far->label == (Wide)(own_label - (Wide)1) ? belief : so_far->after;
  so_far->before = belief < so_far->best ? so_far->last : so_far->before;
  so_far->after = belief < so_far->best ? none : after;
  so_far->label = belief < so_far->best ? own_label : so_far->label;
  so_far->best = lower_wide(so_far->best, belief);
  so_far->last = belief;
  so_far->last_label = label;
}

static float as_belief(ushort value) {
  return value == NO_BELIEF ? INFINITY : (float)value;
}

// The decisions of a vector, pixel by pixel.
typedef struct {
  WidePixels label, before, best, after;
} DecidedPixels;

INLINE DecidedPixels pixels_of(const Decision* decision) {
  DecidedPixels pixels;
  pixels.label.wide = decision->label;
  pixels.before.wide = decision->before;
  pixels.best.wide = decision->best;
  pixels.after.wide = decision->after;
  return pixels;
}

INLINE Beliefs beliefs_of(const DecidedPixels* pixels, int i) {
  const Beliefs beliefs = {pixels->label.of[i], as_belief(pixels->before.of[i]),
                           as_belief(pixels->best.of[i]), as_belief(pixels->after.of[i])};
  return beliefs;
}

// The destination of a pair's decisions: 0 = the given one, 1 = the mirrored one.
INLINE OpenclDecision map_of(const OpenclDecisions* maps, int pair) {
  OpenclDecision map = maps->of[0];
  if (pair > 0) map = maps->of[1];
  return map;
}
