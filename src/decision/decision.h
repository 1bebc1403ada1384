// SPDX-License-Identifier: Apache-2.0
// The decision from a pixel's beliefs, for matchers that have beliefs: the part of the specification that all
// devices share.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "decision/sub_pixel.h"
#include "decision/values.h"

namespace parallax::decision {

// The lowest belief of a pixel, the beliefs of its neighbouring labels, and the lowest other belief; in
// units. `before` and `after` are valid only if those labels exist, and infinite if they were not considered;
// `rival` is infinite if there is none, or if nobody asks for it.
struct Beliefs {
  int label;
  float before, best, after;
  float rival = no_value;
  // The beliefs of the same disparity one row offset before and after; infinite where there is none.
  float row_before = no_value, row_after = no_value;
};

// Finds them among belief(0) … belief(labels − 1), as a reference does. Labels are ordered by `row_offsets`
// row offsets, then by disparity; the rival differs by more than one in either.
template <class Belief>
Beliefs find_beliefs(int labels, const Belief& belief, int row_offsets = 1) {
  Beliefs found{0, 0, belief(0), 0, no_value};
  for (int label = 1; label < labels; ++label) {
    if (belief(label) >= found.best) continue;
    found.label = label;
    found.best = belief(label);
  }
  const int disparities = labels / row_offsets;
  const int column = found.label % disparities, row = found.label / disparities;
  for (int label = 0; label < labels; ++label)
    if (std::abs(label % disparities - column) > 1 || std::abs(label / disparities - row) > 1)
      found.rival = std::min(found.rival, belief(label));
  if (column > 0) found.before = belief(found.label - 1);
  if (column + 1 < disparities) found.after = belief(found.label + 1);
  if (row > 0) found.row_before = belief(found.label - disparities);
  if (row + 1 < row_offsets) found.row_after = belief(found.label + disparities);
  return found;
}

struct DecisionRule {
  int min_disparity;
  int labels;
  SubPixel sub_pixel;
  int min_row_offset = 0, row_offsets = 1;
  // Where decisions tell the confidence; a method may find it later (refine/confidence.h).
  float min_confidence = 0;
  float full_gap =
      0;  // the gap to the rival that gives confidence one half: the truncation of the smoothness

  int disparities() const { return labels / row_offsets; }
  int column(int label) const { return row_offsets == 1 ? label : label % disparities(); }
  int row(int label) const { return row_offsets == 1 ? 0 : label / disparities(); }
  float integer_disparity(int label) const { return static_cast<float>(min_disparity + column(label)); }
};

inline float confidence(const Beliefs& beliefs, const DecisionRule& rule) {
  const float gap = beliefs.rival - beliefs.best;
  if (gap == no_value) return 1;
  return gap / (gap + rule.full_gap);
}

inline float disparity(const Beliefs& beliefs, const DecisionRule& rule) {
  const int column = rule.column(beliefs.label);
  const auto integer = static_cast<float>(rule.min_disparity + column);
  const bool inside =
      column > 0 && column + 1 < rule.disparities() && beliefs.before < no_value && beliefs.after < no_value;
  if (rule.sub_pixel == SubPixel::none || !inside) return integer;
  return integer + sub_pixel_offset(rule.sub_pixel, beliefs.before, beliefs.best, beliefs.after).value();
}

inline float row_offset(const Beliefs& beliefs, const DecisionRule& rule) {
  const auto integer = static_cast<float>(rule.min_row_offset + rule.row(beliefs.label));
  const bool inside = beliefs.row_before < no_value && beliefs.row_after < no_value;
  if (rule.sub_pixel == SubPixel::none || !inside) return integer;
  return integer +
         sub_pixel_offset(rule.sub_pixel, beliefs.row_before, beliefs.best, beliefs.row_after).value();
}

// Writes a decided pixel.
inline void write_decision(const Beliefs& beliefs, const DecisionRule& rule, int x, int y,
                           const DisparityMap& map) {
  const bool sure = rule.min_confidence == 0 || confidence(beliefs, rule) >= rule.min_confidence;
  map.status.at(x, y) = code(sure ? Status::matched : Status::ambiguous);
  map.disparity.at(x, y) = sure ? disparity(beliefs, rule) : no_value;
  if (!map.confidence.empty()) map.confidence.at(x, y) = confidence(beliefs, rule);
  if (!map.row_offset.empty()) map.row_offset.at(x, y) = sure ? row_offset(beliefs, rule) : no_value;
}

// Clears the values of a decided pixel, except its confidence.
inline void reject(Status status, int x, int y, const DisparityMap& map) {
  map.status.at(x, y) = code(status);
  map.disparity.at(x, y) = no_value;
  if (!map.row_offset.empty()) map.row_offset.at(x, y) = no_value;
}

inline void write_none(Status status, int x, int y, const DisparityMap& map) {
  reject(status, x, y, map);
  if (!map.confidence.empty()) map.confidence.at(x, y) = 0;
}

}  // namespace parallax::decision
