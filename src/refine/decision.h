// SPDX-License-Identifier: Apache-2.0
// The decision from a pixel's beliefs, for matchers that have them: the part of the specification that all
// devices share.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "refine/refine.h"
#include "refine/sub_pixel.h"

namespace parallax::refine {

// The lowest belief of a pixel, those of its neighbouring labels, and the lowest other one; in units.
// `before` and `after` are valid only where those labels exist, and infinite where they were not considered;
// `rival` is infinite where there is none.
struct Beliefs {
  int label;
  float before, best, after;
  float rival;
};

// Finds them among belief(0) … belief(labels − 1), as a reference does.
template <class Belief>
Beliefs find_beliefs(int labels, const Belief& belief) {
  Beliefs found{0, 0, belief(0), 0, no_value};
  for (int label = 1; label < labels; ++label) {
    if (belief(label) >= found.best) continue;
    found.label = label;
    found.best = belief(label);
  }
  for (int label = 0; label < labels; ++label)
    if (std::abs(label - found.label) > 1) found.rival = std::min(found.rival, belief(label));
  if (found.label > 0) found.before = belief(found.label - 1);
  if (found.label + 1 < labels) found.after = belief(found.label + 1);
  return found;
}

struct DecisionRule {
  int min_disparity;
  int labels;
  SubPixel sub_pixel;
  float min_confidence;
  float full_gap;  // the gap to the rival that gives confidence one half: the truncation of the smoothness
};

inline float confidence(const Beliefs& beliefs, const DecisionRule& rule) {
  const float gap = beliefs.rival - beliefs.best;
  if (gap == no_value) return 1;
  return gap / (gap + rule.full_gap);
}

inline float disparity(const Beliefs& beliefs, const DecisionRule& rule) {
  const auto integer = static_cast<float>(rule.min_disparity + beliefs.label);
  const bool inside = beliefs.label > 0 && beliefs.label + 1 < rule.labels && beliefs.before < no_value &&
                      beliefs.after < no_value;
  if (rule.sub_pixel == SubPixel::none || !inside) return integer;
  return integer + sub_pixel_offset(rule.sub_pixel, beliefs.before, beliefs.best, beliefs.after).value();
}

// Writes a decided pixel.
inline void write_decision(const Beliefs& beliefs, const DecisionRule& rule, int x, int y,
                           const DisparityMap& map) {
  const bool sure = rule.min_confidence == 0 || confidence(beliefs, rule) >= rule.min_confidence;
  map.status.at(x, y) = code(sure ? Status::matched : Status::ambiguous);
  map.disparity.at(x, y) = sure ? disparity(beliefs, rule) : no_value;
  if (!map.confidence.empty()) map.confidence.at(x, y) = confidence(beliefs, rule);
}

inline void write_none(Status status, int x, int y, const DisparityMap& map) {
  map.status.at(x, y) = code(status);
  map.disparity.at(x, y) = no_value;
  if (!map.confidence.empty()) map.confidence.at(x, y) = 0;
}

}  // namespace parallax::refine
