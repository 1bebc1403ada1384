// SPDX-License-Identifier: Apache-2.0
// What the references of belief propagation on the 4-connected grid share.
#pragma once

#include <cstdint>

#include "parallax/image.h"

#include "core/cancellation.h"
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

struct GridLevel {
  Size size;
  Volume data = {};
  Volume to[4] = {};  // the messages that pixels send in each direction
  View<std::uint16_t> gray = {};

  bool contains(int x, int y) const { return x >= 0 && y >= 0 && x < size.width && y < size.height; }
  // The message from a direction; 0 from beyond the border.
  float incoming(int x, int y, Direction from, int label) const {
    const int i = x + step_x[from], j = y + step_y[from];
    return contains(i, j) ? to[opposite[from]].at(i, j)[label] : 0.0f;
  }
};

// Calls action(x, y) for all pixels, row by row.
template <class Action>
void for_each_pixel(Size size, const Action& action) {
  for (int y = 0; y < size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < size.width; ++x) action(x, y);
  }
}

}  // namespace parallax::data_cost
