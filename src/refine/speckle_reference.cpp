// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "refine/refine.h"

namespace parallax::refine {

// Finds the regions by flood fill, in `regions`.
void speckle_filter_reference(const DisparityMap& map, int size, float range, std::int32_t* regions) {
  const int width = map.disparity.size.width, height = map.disparity.size.height;
  std::vector<bool> is_found(map.disparity.size.pixels());
  const auto find_region = [&](std::int32_t first) {
    int count = 0;
    const auto add = [&](std::int32_t pixel) {
      is_found[static_cast<std::size_t>(pixel)] = true;
      regions[count++] = pixel;
    };
    add(first);
    for (int i = 0; i < count; ++i) {
      const int x = regions[i] % width, y = regions[i] / width;
      for (const auto& [u, v] : {std::pair{x, y - 1}, {x, y + 1}, {x - 1, y}, {x + 1, y}}) {
        if (u < 0 || v < 0 || u >= width || v >= height) continue;
        const std::int32_t pixel = v * width + u;
        const float here = map.disparity.at(x, y), there = map.disparity.at(u, v);
        if (has_value(there) && std::abs(here - there) <= range && !is_found[static_cast<std::size_t>(pixel)])
          add(pixel);
      }
    }
    return count;
  };
  for (std::int32_t first = 0; first < width * height; ++first) {
    if (is_found[static_cast<std::size_t>(first)] ||
        !has_value(map.disparity.at(first % width, first / width)))
      continue;
    const int count = find_region(first);
    for (int i = 0; i < count && count < size; ++i) {
      const int x = regions[i] % width, y = regions[i] / width;
      map.disparity.at(x, y) = no_value;
      map.status.at(x, y) = code(Status::speckle);
    }
  }
}

}  // namespace parallax::refine
