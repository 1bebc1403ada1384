// The steps that a guide takes part in, straight from the equations of parallax/refine.h.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "refine/refine.h"

namespace parallax::refine {
namespace {

void copy(View<const float> from, View<float> to) {
  for (int y = 0; y < from.size.height; ++y) std::copy_n(from.row(y), from.size.width, to.row(y));
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
      if (!has_value(disparity.at(u, v))) continue;
      const auto index = static_cast<std::size_t>(j * window + i);
      const auto difference = static_cast<std::size_t>(std::abs(guide.at(u, v) - guide.at(x, y)));
      each(disparity.at(u, v), difference, index);
    }
  }
}

}  // namespace

void weighted_median_reference(View<float> disparity, View<const std::uint8_t> guide,
                               const WeightedMedian& filter, View<float> scratch) {
  copy(disparity, scratch);
  const auto median_at = [&](int x, int y) {
    struct Weighted {
      float value;
      int weight;
    };
    std::array<Weighted, most_guided_window * most_guided_window> values;
    auto end = values.begin();
    int all = 0;
    for_neighbours(scratch, guide, x, y, filter.window,
                   [&](float value, std::size_t difference, std::size_t) {
                     *end++ = {value, filter.weights[difference]};
                     all += filter.weights[difference];
                   });
    std::sort(values.begin(), end, [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
    auto median = values.begin();
    for (int sum = median->weight; 2 * sum < all; sum += median->weight) ++median;
    return median->value;
  };
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      if (has_value(disparity.at(x, y))) disparity.at(x, y) = median_at(x, y);
}

void bilateral_reference(View<float> disparity, View<const std::uint8_t> guide, const Bilateral& filter,
                         View<float> scratch) {
  copy(disparity, scratch);
  // In 1/256 pixel.
  const auto shift_at = [&](int x, int y) {
    const float here = scratch.at(x, y);
    int sum = 0, all = 0;
    for_neighbours(scratch, guide, x, y, filter.window,
                   [&](float value, std::size_t difference, std::size_t index) {
                     if (!(std::abs(value - here) <= filter.step)) return;
                     const int weight = filter.gray[difference] * filter.distance[index] >> 8;
                     sum += weight * static_cast<int>(std::nearbyint((value - here) * shift_unit));
                     all += weight;
                   });
    // The nearest whole number; of two, the one farther from 0.
    const auto twice = 2 * static_cast<std::int64_t>(std::abs(sum));
    const auto nearest = static_cast<int>((twice + all) / (2 * std::max(all, 1)));
    return sum < 0 ? -nearest : nearest;
  };
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      if (has_value(disparity.at(x, y)))
        disparity.at(x, y) = scratch.at(x, y) + static_cast<float>(shift_at(x, y)) / shift_unit;
}

}  // namespace parallax::refine
