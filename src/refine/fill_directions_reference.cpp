// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "refine/refine.h"

namespace parallax::refine {
namespace {

// A step to the next pixel, and the maximum number of steps.
struct Direction {
  int dx, dy, reach;
};

constexpr int unlimited = std::numeric_limits<int>::max();
constexpr Direction directions[] = {
    {0, -1, fill_reach}, {0, 1, fill_reach}, {-1, 0, unlimited}, {1, 0, unlimited}};

struct Candidate {
  float weight = decision::no_value, value = decision::no_value;
};

// The first value from pixel (x, y) in a direction.
Candidate first_value(View<const float> disparity, View<const std::uint8_t> guide, int x, int y,
                      const Direction& direction) {
  const int here = guide.at(x, y);
  for (int distance = 1, difference = 0; distance <= direction.reach; ++distance) {
    x += direction.dx;
    y += direction.dy;
    if (x < 0 || x >= guide.size.width || y < 0 || y >= guide.size.height) break;
    difference = std::max(difference, std::abs(guide.at(x, y) - here));
    const float value = disparity.at(x, y);
    if (decision::has_value(value)) return {value + 0.5f * static_cast<float>(difference + distance), value};
  }
  return {};
}

}  // namespace

void fill_directions_reference(const DisparityMap& map, View<const std::uint8_t> guide, View<float> scratch) {
  const Size size = map.disparity.size;
  copy_map(map.disparity, scratch);
  for (int y = 0; y < size.height; ++y) {
    stop_if_cancelled();
    for (int x = 0; x < size.width; ++x) {
      if (decision::has_value(scratch.at(x, y)) ||
          map.status.at(x, y) == decision::code(Status::input_masked))
        continue;
      Candidate best;
      for (const Direction& direction : directions) {
        const Candidate candidate = first_value(scratch, guide, x, y, direction);
        if (candidate.weight < best.weight) best = candidate;
      }
      if (!decision::has_value(best.value)) continue;
      map.disparity.at(x, y) = best.value;
      map.status.at(x, y) = decision::code(Status::filled);
    }
  }
}

}  // namespace parallax::refine
