// SPDX-License-Identifier: Apache-2.0
// The confidence of a matcher that takes the label of the lowest cost: (rival − best) / rival.
#pragma once

#include <optional>

namespace parallax::decision {

// `rival`: the lowest cost of a label more than one away from the best, if there is one. The difference is an
// integer and divided once, so the result is the same on every device.
template <class Cost>
float confidence(Cost best, std::optional<Cost> rival) {
  if (!rival) return 1;
  if (*rival == 0) return 0;
  return static_cast<float>(*rival - best) / static_cast<float>(*rival);
}

// The highest cost at which another label makes the best one ambiguous.
template <class Cost>
Cost ambiguity_bound(Cost best, int uniqueness) {
  return best + best * static_cast<Cost>(uniqueness) / 100;
}

}  // namespace parallax::decision
