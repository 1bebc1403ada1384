// SPDX-License-Identifier: Apache-2.0
// Functions that the errors of disparities and of motions share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "parallax/error.h"

namespace parallax {

class Quantiles {
 public:
  void add(float error) { errors_.push_back(error); }
  std::size_t count() const { return errors_.size(); }

  // Element ⌊q·n⌋ of the n sorted errors; NaN if there is none. Must be called with ascending values, after
  // the last add(): each call continues to sort behind the previous one.
  double quantile(std::size_t per_cent) {
    if (errors_.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto ranked = errors_.begin() + static_cast<std::ptrdiff_t>(errors_.size() * per_cent / 100);
    std::nth_element(errors_.begin() + static_cast<std::ptrdiff_t>(sorted_), ranked, errors_.end());
    sorted_ = static_cast<std::size_t>(ranked - errors_.begin());
    return *ranked;
  }

 private:
  std::vector<float> errors_;
  std::size_t sorted_ = 0;  // no error before this index is greater than those behind it
};

// Counts an error beyond each limit that all metrics have, and adds it to the sums.
template <class Metrics>
void add_error(double error, Metrics& metrics, Quantiles& errors) {
  errors.add(static_cast<float>(error));
  metrics.bad05 += error > 0.5;
  metrics.bad1 += error > 1;
  metrics.bad2 += error > 2;
  metrics.bad3 += error > 3;
  metrics.bad5 += error > 5;
  metrics.average += error;
  metrics.rms += error * error;
}

// Divides counts, including those of `shares`, and sums by the number of pixels.
template <class Metrics, class Shares>
void finish_errors(Metrics& metrics, const Shares& shares, Quantiles& errors) {
  if (metrics.count == 0)
    throw Error(ErrorCategory::argument,
                "no pixel to evaluate: the truth is unknown or masked out everywhere");
  for (double* share : shares) *share /= static_cast<double>(metrics.count);
  const auto valid = static_cast<double>(errors.count());
  metrics.coverage = valid / static_cast<double>(metrics.count);
  metrics.average /= valid;  // 0 / 0 = NaN if no pixel is valid
  metrics.rms = std::sqrt(metrics.rms / valid);
  metrics.a50 = errors.quantile(50);
  metrics.a90 = errors.quantile(90);
  metrics.a95 = errors.quantile(95);
  metrics.a99 = errors.quantile(99);
}

}  // namespace parallax
