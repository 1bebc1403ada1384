// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {
namespace {

// The column that a disparity leads to; −1 outside the image, and without a value.
int right_column(int x, float disparity, int width) {
  const float column = static_cast<float>(x) - std::ceil(disparity - 0.5f);
  return column >= 0 && column < static_cast<float>(width) ? static_cast<int>(column) : -1;
}

}  // namespace

void occlusion_check(const DisparityMap& map, float tolerance, View<float> highest, const Workers& workers) {
  const int width = map.disparity.size.width;
  for_rows(workers, map.disparity.size.height, [&](int y, int) {
    float *disparity = map.disparity.row(y), *taken = highest.row(y);
    std::fill_n(taken, width, -decision::no_value);
    for (int x = 0; x < width; ++x) {
      const int column = right_column(x, disparity[x], width);
      if (column >= 0) taken[column] = std::max(taken[column], disparity[x]);
    }
    for (int x = 0; x < width; ++x) {
      if (!decision::has_value(disparity[x])) continue;
      const int column = right_column(x, disparity[x], width);
      if (column >= 0 && taken[column] - disparity[x] <= tolerance) continue;
      disparity[x] = decision::no_value;
      map.status.at(x, y) = decision::code(Status::inconsistent);
    }
  });
}

}  // namespace refine

void occlusion_check(const DisparityMap& map, float tolerance, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  check_not_negative("tolerance", tolerance);
  Plane<float> highest(map.disparity.size);
  refine::occlusion_check(map, tolerance, highest.view(), refine::checked_workers(threads));
}

}  // namespace parallax
