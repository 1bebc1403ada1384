#include <cmath>

#include "core/checks.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {
namespace {

bool consistent(float disparity, int x, const float* right, int width, float tolerance) {
  const float column = static_cast<float>(x) - std::ceil(disparity - 0.5f);
  if (!(column >= 0.0f && column < static_cast<float>(width))) return false;
  // Without a value, `right` is infinite, and so is the difference.
  return std::abs(right[static_cast<int>(column)] - disparity) <= tolerance;
}

}  // namespace

void left_right_check(const DisparityMap& left, View<const float> right, float tolerance,
                      const Workers& workers) {
  const Size size = left.disparity.size;
  for_row_ranges(workers, size.height, [&](int first, int last, int) {
    for (int y = first; y < last; ++y) {
      float* disparity = left.disparity.row(y);
      for (int x = 0; x < size.width; ++x) {
        if (!has_value(disparity[x]) || consistent(disparity[x], x, right.row(y), size.width, tolerance))
          continue;
        disparity[x] = no_value;
        left.status.at(x, y) = code(Status::inconsistent);
      }
    }
  });
}

}  // namespace refine

void left_right_check(const DisparityMap& left, View<const float> right, float tolerance, int threads) {
  check_map(left);
  check_view("right disparity map", right, left.disparity.size);
  check_not_negative("tolerance", tolerance);
  refine::left_right_check(left, right, tolerance, refine::checked_workers(threads));
}

}  // namespace parallax
