// SPDX-License-Identifier: Apache-2.0
// Random parameters of the steps that a guide takes part in.
#pragma once

#include <random>
#include <string>

#include "parallax/refine.h"

#include "conformance/random_pair.h"

namespace parallax::test {

inline void choose_guided(std::mt19937& random, RefineParameters& refine) {
  static constexpr int windows[] = {0, 0, 0, 3, 5, 7};
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  refine.weighted_median = windows[any(0, 5)];
  refine.weighted_median_range = any(0, 1) == 0 ? any(1, 255) : any(1, 20);
  refine.bilateral = windows[any(0, 5)];
  refine.bilateral_range = any(0, 1) == 0 ? any(1, 255) : any(1, 20);
  refine.bilateral_step = static_cast<float>(any(0, 12)) / 4;
}

inline std::string description_of_guided(const RefineParameters& refine) {
  return " weighted median " + std::to_string(refine.weighted_median) + " range " +
         std::to_string(refine.weighted_median_range) + " bilateral " + std::to_string(refine.bilateral) +
         " range " + std::to_string(refine.bilateral_range) + " step " +
         std::to_string(refine.bilateral_step);
}

}  // namespace parallax::test
