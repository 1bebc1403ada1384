// SPDX-License-Identifier: Apache-2.0
// The median filters and the bilateral one, written directly from the equations of parallax/refine.h.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "refine/refine.h"

namespace parallax::refine {
namespace {

View<const float> copied(View<const float> disparity, View<float> scratch) {
  copy_map(disparity, scratch);
  return {scratch.data, disparity.size, scratch.stride_bytes};
}

// Calls each(value, gray difference, index in the window) for every neighbour that has a value.
template <class Each>
void for_neighbours(View<const float> disparity, View<const std::uint8_t> guide, int x, int y, int window,
                    const Each& each) {
  const int radius = window / 2;
  for (int j = 0; j < window; ++j) {
    for (int i = 0; i < window; ++i) {
      const int u = x + i - radius, v = y + j - radius;
      if (u < 0 || v < 0 || u >= disparity.size.width || v >= disparity.size.height) continue;
      if (!decision::has_value(disparity.at(u, v))) continue;
      const auto index = static_cast<std::size_t>(j * window + i);
      const auto difference = static_cast<std::size_t>(std::abs(guide.at(u, v) - guide.at(x, y)));
      each(disparity.at(u, v), difference, index);
    }
  }
}

}  // namespace

void median_reference(View<float> disparity, int window, View<float> scratch) {
  const int width = disparity.size.width, height = disparity.size.height;
  const int radius = window / 2;
  copy_map(disparity, scratch);
  const auto value = [&](int x, int y, float centre) {
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    return inside && decision::has_value(scratch.at(x, y)) ? scratch.at(x, y) : centre;
  };
  for (int y = 0; y < height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < width; ++x) {
      const float centre = scratch.at(x, y);
      if (!decision::has_value(centre)) continue;
      std::array<float, 25> values;
      int count = 0;
      for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx) values[count++] = value(x + dx, y + dy, centre);
      std::nth_element(values.begin(), values.begin() + count / 2, values.begin() + count);
      disparity.at(x, y) = values[count / 2];
    }
  }
}

void weighted_median_reference(View<float> disparity, View<const std::uint8_t> guide, int window, int range,
                               View<float> scratch) {
  const View<const float> before = copied(disparity, scratch);
  const GrayWeights weights = gray_weights(range);
  const auto median_at = [&](int x, int y) {
    struct Weighted {
      float value;
      int weight;
    };
    std::array<Weighted, max_guided_window * max_guided_window> values;
    auto end = values.begin();
    int all = 0;
    for_neighbours(before, guide, x, y, window, [&](float value, std::size_t difference, std::size_t) {
      *end++ = {value, weights[difference]};
      all += weights[difference];
    });
    std::sort(values.begin(), end, [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
    auto median = values.begin();
    for (int sum = median->weight; 2 * sum < all; sum += median->weight) ++median;
    return median->value;
  };
  for (int y = 0; y < disparity.size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < disparity.size.width; ++x)
      if (decision::has_value(disparity.at(x, y))) disparity.at(x, y) = median_at(x, y);
  }
}

void bilateral_reference(View<float> disparity, View<const std::uint8_t> guide, int window, int range,
                         float step, View<float> scratch) {
  const View<const float> before = copied(disparity, scratch);
  const GrayWeights gray = gray_weights(range);
  const DistanceWeights distance = distance_weights(window);
  // The shift in 1/256 pixel.
  const auto shift_at = [&](int x, int y) {
    const float here = before.at(x, y);
    int sum = 0, all = 0;
    for_neighbours(before, guide, x, y, window, [&](float value, std::size_t difference, std::size_t index) {
      if (!(std::abs(value - here) <= step)) return;
      const int weight = gray[difference] * distance[index] >> 8;
      sum += weight * static_cast<int>(std::nearbyint((value - here) * shift_unit));
      all += weight;
    });
    return nearest_quotient(sum, all);
  };
  for (int y = 0; y < disparity.size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < disparity.size.width; ++x)
      if (decision::has_value(disparity.at(x, y)))
        disparity.at(x, y) = before.at(x, y) + static_cast<float>(shift_at(x, y)) / shift_unit;
  }
}

}  // namespace parallax::refine
