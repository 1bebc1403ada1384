// SPDX-License-Identifier: Apache-2.0
// Types shared by the references of belief propagation on the 4-connected grid.
#pragma once

#include "core/integers.h"

namespace parallax::data_cost {

// The direction in which a message is sent, or from which it comes.
enum Direction { above, below, left, right };
// The order in which Felzenszwalb's program adds messages: float addition is not associative.
inline constexpr Direction all_directions[] = {below, above, right, left};
inline constexpr Direction opposite[] = {below, above, right, left};
inline constexpr int step_x[] = {0, 0, -1, 1};
inline constexpr int step_y[] = {-1, 1, 0, 0};

// Floats for each pixel of a level: one per label that the pixel considers.
struct Volume {
  float* values = nullptr;
  int width = 0, labels = 0;
  float* at(int x, int y) const {
    return values + (to_size(y) * to_size(width) + to_size(x)) * to_size(labels);
  }
};

}  // namespace parallax::data_cost
