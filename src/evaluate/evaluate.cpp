// SPDX-License-Identifier: Apache-2.0
#include "parallax/evaluate.h"

#include <array>
#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"
#include "evaluate/error_tally.h"

namespace parallax {
namespace {

// Computed as a double, in which the sum is exact.
double round_to_nearest(double value) {
  return std::floor(value + 0.5);
}

// Sums over the evaluated pixels, in row order.
class Tally {
 public:
  void add(float disparity, float truth) {
    ++metrics_.count;
    if (!std::isfinite(disparity)) return add_missing();
    const double error = std::abs(static_cast<double>(disparity) - truth);
    add_error(error, metrics_, errors_);
    metrics_.bad4 += error > 4;
    metrics_.d1 += error > 3 && error > 0.05 * std::abs(truth);
    metrics_.mismatches += round_to_nearest(disparity) != round_to_nearest(truth);
  }

  ErrorMetrics finish() {
    finish_errors(metrics_, shares(), errors_);
    return metrics_;
  }

 private:
  // The counts that are later divided by the number of pixels.
  std::array<double*, 7> shares() {
    return {&metrics_.bad05, &metrics_.bad1, &metrics_.bad2, &metrics_.bad3,
            &metrics_.bad4,  &metrics_.bad5, &metrics_.d1};
  }

  void add_missing() {
    for (double* count : shares()) ++*count;
    ++metrics_.mismatches;
  }

  ErrorMetrics metrics_;
  Quantiles errors_;
};

}  // namespace

ErrorMetrics evaluate(View<const float> disparity, View<const float> truth, View<const std::uint8_t> mask) {
  const DefaultFloatingPoint environment;
  check_view("disparity map", disparity, disparity.size);
  check_view("truth", truth, disparity.size);
  check_mask("mask", mask, disparity.size);
  Tally tally;
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x)
      if (std::isfinite(truth.at(x, y)) && (mask.empty() || mask.at(x, y) == 255))
        tally.add(disparity.at(x, y), truth.at(x, y));
  return tally.finish();
}

}  // namespace parallax
