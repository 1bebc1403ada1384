// SPDX-License-Identifier: Apache-2.0
// How the labels of a pixel are distributed over the threads of a GPU that share it, its lanes.
#pragma once

#include "core/round_up.h"

namespace parallax::semi_global {

struct Dealing {
  int lanes = 1, per_lane = 0;
  int labels() const { return lanes * per_lane; }
};

// Few labels per lane mean more threads, many mean that lanes exchange less. `wanted_per_lane`: 0 = default.
inline Dealing deal(int labels, int wanted_per_lane = 0) {
  constexpr int most_lanes = 32;
  const int wanted = wanted_per_lane > 0 ? wanted_per_lane : labels <= 32 ? 8 : 16;
  Dealing dealing;
  while (dealing.lanes < most_lanes && dealing.lanes * wanted < labels) dealing.lanes *= 2;
  dealing.per_lane = round_up(divide_round_up(labels, dealing.lanes), 4);
  return dealing;
}

}  // namespace parallax::semi_global
