// SPDX-License-Identifier: Apache-2.0
// The confidence, written directly from the equations of confidence.h.

#include <cmath>

#include "decision/decision.h"
#include "refine/confidence.h"
#include "refine/refine.h"

namespace parallax::refine {
namespace {

float value_at(View<const float> disparity, int x, int y) {
  const bool inside = x >= 0 && y >= 0 && x < disparity.size.width && y < disparity.size.height;
  return inside ? disparity.at(x, y) : decision::no_value;
}

bool agrees(float disparity, float other, float opposite) {
  if (!decision::has_value(other)) return false;
  if (!decision::has_value(disparity) || std::abs(other - disparity) <= agreement_tolerance) return true;
  return decision::has_value(opposite) && std::abs(other + opposite - 2 * disparity) <= agreement_tolerance;
}

int count_agreeing(View<const float> disparity, int x, int y, int step) {
  int count = 0;
  for (int j = -confidence_radius; j <= confidence_radius; ++j)
    for (int i = -confidence_radius; i <= confidence_radius; ++i) {
      const float other = value_at(disparity, x + i * step, y + j * step),
                  opposite = value_at(disparity, x - i * step, y - j * step);
      if ((i != 0 || j != 0) && agrees(disparity.at(x, y), other, opposite)) ++count;
    }
  return count;
}

}  // namespace

void find_confidence_reference(const DisparityMap& map, float least, View<float> scratch) {
  copy_map(map.disparity, scratch);
  const View<const float> before{scratch.data, map.disparity.size, scratch.stride_bytes};
  for (int y = 0; y < before.size.height; ++y)
    for (int x = 0; x < before.size.width; ++x) {
      const auto status = static_cast<Status>(map.status.at(x, y));
      const int near = count_agreeing(before, x, y, near_step), far = count_agreeing(before, x, y, far_step);
      const float found = confidence_of(status, near * near + far * far);
      if (!map.confidence.empty()) map.confidence.at(x, y) = found;
      if (status == Status::matched && found < least) decision::reject(Status::ambiguous, x, y, map);
    }
}

}  // namespace parallax::refine
