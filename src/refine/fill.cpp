// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/checks.h"
#include "core/floating_point.h"
#include "refine/planes.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {

int reach_of(Fill fill) {
  if (fill == Fill::planes) return plane_reach + fill_reach;
  return fill == Fill::directions ? fill_reach : 0;
}

namespace {

// Fills columns [first, last), a whole run of pixels without a value, from its two ends. An end outside the
// image is infinite, so it is never the lower one. Masked pixels belong to runs, but are left unchanged.
void fill_run(float* disparity, std::uint8_t* status, int first, int last, int width) {
  const float left = first > 0 ? disparity[first - 1] : decision::no_value;
  const float right = last < width ? disparity[last] : decision::no_value;
  const float lower = std::min(left, right);
  if (!decision::has_value(lower)) return;
  for (int x = first; x < last; ++x) {
    if (status[x] == decision::code(Status::input_masked)) continue;
    disparity[x] = lower;
    status[x] = decision::code(Status::filled);
  }
}

}  // namespace

void fill_row(const DisparityMap& map, const Workers& workers) {
  const Size size = map.disparity.size;
  for_rows(workers, size.height, [&](int y, int) {
    float* row = map.disparity.row(y);
    for_empty_runs(row, size.width,
                   [&](int first, int last) { fill_run(row, map.status.row(y), first, last, size.width); });
  });
}

}  // namespace refine

void fill_row(const DisparityMap& map, int threads) {
  const DefaultFloatingPoint environment;
  check_map(map);
  refine::fill_row(map, refine::checked_workers(threads));
}

}  // namespace parallax
