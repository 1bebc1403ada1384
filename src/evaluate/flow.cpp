// SPDX-License-Identifier: Apache-2.0
#include "parallax/flow.h"

#include <array>
#include <cmath>
#include <numbers>

#include "core/checks.h"
#include "core/floating_point.h"
#include "evaluate/quantiles.h"
#include "formats/flow.h"

namespace parallax {
namespace {

// The angle between (u, v, 1) and (s, t, 1), in degrees. An arc cosine would lose small ones.
double angle(double u, double v, double s, double t) {
  const double cross = std::hypot(v - t, s - u, u * t - v * s), dot = u * s + v * t + 1;
  return std::atan2(cross, dot) * 180 / std::numbers::pi;
}

// Sums over the evaluated pixels, in row order.
class FlowTally {
 public:
  void add_missing() {
    ++metrics_.count;
    for (double* count : shares()) ++*count;
  }

  void add(double u, double v, double true_u, double true_v) {
    ++metrics_.count;
    const double error = std::hypot(u - true_u, v - true_v);
    errors_.add(static_cast<float>(error));
    metrics_.bad05 += error > 0.5;
    metrics_.bad1 += error > 1;
    metrics_.bad2 += error > 2;
    metrics_.bad3 += error > 3;
    metrics_.bad5 += error > 5;
    metrics_.fl += error > 3 && error > 0.05 * std::hypot(true_u, true_v);
    metrics_.average += error;
    metrics_.rms += error * error;
    metrics_.angular += angle(u, v, true_u, true_v);
  }

  // Turns counts into fractions and sums into means.
  FlowMetrics finish() {
    if (metrics_.count == 0)
      throw Error(ErrorCategory::argument,
                  "no pixel to evaluate: the truth is unknown or masked out everywhere");
    for (double* share : shares()) *share /= static_cast<double>(metrics_.count);
    const auto valid = static_cast<double>(errors_.count());
    metrics_.coverage = valid / static_cast<double>(metrics_.count);
    metrics_.average /= valid;  // 0 / 0 = NaN where nothing is valid
    metrics_.angular /= valid;
    metrics_.rms = std::sqrt(metrics_.rms / valid);
    metrics_.a50 = errors_.quantile(50);
    metrics_.a90 = errors_.quantile(90);
    metrics_.a95 = errors_.quantile(95);
    metrics_.a99 = errors_.quantile(99);
    return metrics_;
  }

 private:
  // What is counted, and then divided by the number of pixels.
  std::array<double*, 6> shares() {
    return {&metrics_.bad05, &metrics_.bad1, &metrics_.bad2, &metrics_.bad3, &metrics_.bad5, &metrics_.fl};
  }

  FlowMetrics metrics_;
  Quantiles errors_;
};

}  // namespace

FlowMetrics evaluate_flow(const FlowView& flow, const FlowView& truth, View<const std::uint8_t> mask) {
  const DefaultFloatingPoint environment;
  check_flow("motion", flow);
  check_flow("truth", truth);
  check_view("truth", truth.u, flow.u.size);
  check_mask("mask", mask, flow.u.size);
  FlowTally tally;
  for (int y = 0; y < flow.u.size.height; ++y)
    for (int x = 0; x < flow.u.size.width; ++x) {
      if (!has_vector(truth, x, y) || !(mask.empty() || mask.at(x, y) == 255)) continue;
      if (has_vector(flow, x, y))
        tally.add(flow.u.at(x, y), flow.v.at(x, y), truth.u.at(x, y), truth.v.at(x, y));
      else
        tally.add_missing();
    }
  return tally.finish();
}

}  // namespace parallax
