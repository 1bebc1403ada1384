// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "refine/refine.h"

namespace parallax::refine {

void median_reference(View<float> disparity, int window, View<float> scratch) {
  const int width = disparity.size.width, height = disparity.size.height;
  const int radius = window / 2;
  for (int y = 0; y < height; ++y) std::copy_n(disparity.row(y), width, scratch.row(y));
  const auto value = [&](int x, int y, float centre) {
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    return inside && has_value(scratch.at(x, y)) ? scratch.at(x, y) : centre;
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float centre = scratch.at(x, y);
      if (!has_value(centre)) continue;
      std::array<float, 25> values;
      int count = 0;
      for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx) values[count++] = value(x + dx, y + dy, centre);
      std::nth_element(values.begin(), values.begin() + count / 2, values.begin() + count);
      disparity.at(x, y) = values[count / 2];
    }
  }
}

}  // namespace parallax::refine
