// SPDX-License-Identifier: Apache-2.0
#include "parallax/flow.h"

#include <array>
#include <cmath>
#include <numbers>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/length.h"
#include "evaluate/error_tally.h"
#include "formats/flow.h"

namespace parallax {
namespace {

// The angle between (u, v, 1) and (s, t, 1), in degrees. An arc cosine would be inaccurate for small angles.
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
    const double error = detail::length_of(u - true_u, v - true_v);
    add_error(error, metrics_, errors_);
    metrics_.fl += error > 3 && error > 0.05 * detail::length_of(true_u, true_v);
    metrics_.angular += angle(u, v, true_u, true_v);
  }

  FlowMetrics finish() {
    finish_errors(metrics_, shares(), errors_);
    metrics_.angular /= static_cast<double>(errors_.count());
    return metrics_;
  }

 private:
  // The counts that are later divided by the number of pixels.
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
