// SPDX-License-Identifier: Apache-2.0
#include "parallax/evaluate.h"

#include <array>
#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"
#include "evaluate/quantiles.h"

namespace parallax {
namespace {

// Computed in double, where the sum is exact.
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
    errors_.add(static_cast<float>(error));
    metrics_.bad05 += error > 0.5;
    metrics_.bad1 += error > 1;
    metrics_.bad2 += error > 2;
    metrics_.bad3 += error > 3;
    metrics_.bad4 += error > 4;
    metrics_.bad5 += error > 5;
    metrics_.d1 += error > 3 && error > 0.05 * std::abs(truth);
    metrics_.mismatches += round_to_nearest(disparity) != round_to_nearest(truth);
    metrics_.average += error;
    metrics_.rms += error * error;
  }

  // Turns counts into fractions and sums into means.
  ErrorMetrics finish() {
    if (metrics_.count == 0)
      throw Error(ErrorCategory::argument,
                  "no pixel to evaluate: the truth is unknown or masked out everywhere");
    for (double* share : shares()) *share /= static_cast<double>(metrics_.count);
    const auto valid = static_cast<double>(errors_.count());
    metrics_.coverage = valid / static_cast<double>(metrics_.count);
    metrics_.average /= valid;  // 0 / 0 = NaN where nothing is valid
    metrics_.rms = std::sqrt(metrics_.rms / valid);
    metrics_.a50 = errors_.quantile(50);
    metrics_.a90 = errors_.quantile(90);
    metrics_.a95 = errors_.quantile(95);
    metrics_.a99 = errors_.quantile(99);
    return metrics_;
  }

 private:
  // What is counted, and then divided by the number of pixels.
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
