// What becomes of the beliefs of a pixel: the part of the specification that all devices share.
#pragma once

#include "matchers/belief_propagation/belief_propagation.h"
#include "refine/refine.h"
#include "refine/sub_pixel.h"

namespace parallax::belief_propagation {

// The lowest belief of a pixel, its neighbours, and the lowest that is not its neighbour; in units. `before`
// and `after` count only where those labels exist; `rival` is infinite where there is none.
struct Beliefs {
  int label;
  float before, best, after;
  float rival;
};

inline float confidence(const Beliefs& beliefs, const Model& model) {
  const float gap = beliefs.rival - beliefs.best;
  if (gap == refine::no_value) return 1;
  return gap / (gap + model.truncation * model.scale);
}

inline float disparity(const Beliefs& beliefs, const Model& model) {
  const auto whole = static_cast<float>(model.parameters.min_disparity + beliefs.label);
  const bool inside = beliefs.label > 0 && beliefs.label + 1 < model.labels;
  if (model.parameters.sub_pixel == SubPixel::none || !inside) return whole;
  return whole +
         refine::sub_pixel_offset(model.parameters.sub_pixel, beliefs.before, beliefs.best, beliefs.after)
             .value();
}

// Writes a pixel that the matcher decided.
inline void write_decision(const Beliefs& beliefs, const Model& model, int x, int y,
                           const DisparityMap& map) {
  const bool sure =
      model.parameters.min_confidence == 0 || confidence(beliefs, model) >= model.parameters.min_confidence;
  map.status.at(x, y) = refine::code(sure ? Status::matched : Status::ambiguous);
  map.disparity.at(x, y) = sure ? disparity(beliefs, model) : refine::no_value;
  if (!map.confidence.empty()) map.confidence.at(x, y) = confidence(beliefs, model);
}

inline void write_none(Status status, int x, int y, const DisparityMap& map) {
  map.status.at(x, y) = refine::code(status);
  map.disparity.at(x, y) = refine::no_value;
  if (!map.confidence.empty()) map.confidence.at(x, y) = 0;
}

}  // namespace parallax::belief_propagation
