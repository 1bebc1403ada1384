// SPDX-License-Identifier: Apache-2.0
// Quantiles of errors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

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

}  // namespace parallax
