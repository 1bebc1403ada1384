// SPDX-License-Identifier: Apache-2.0
// Plans for tests of devices: small, and with every step that a match can have.
#pragma once

#include <ostream>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {

inline BlockParameters small_block() {
  BlockParameters parameters;
  parameters.disparities = 5;
  parameters.window = 5;
  parameters.uniqueness = 5;
  parameters.texture_threshold = 10;
  parameters.refine.speckle_size = 3;
  parameters.refine.weighted_median = 3;
  parameters.refine.bilateral = 3;
  return parameters;
}

inline CensusParameters small_census() {
  CensusParameters parameters;
  parameters.disparities = 5;
  parameters.pyramid_levels = 3;
  parameters.uniqueness = 5;
  parameters.refine.speckle_size = 3;
  parameters.refine.weighted_median = 3;
  return parameters;
}

inline constexpr Size small_size{9, 7};

inline SynthPair small_pair(std::uint64_t seed = 1) {
  return synthesize({.size = small_size, .disparities = 5, .seed = seed});
}

inline BeliefPropagationParameters small_belief_propagation(Arithmetic arithmetic = Arithmetic::fixed8) {
  BeliefPropagationParameters parameters;
  parameters.disparities = 5;
  parameters.levels = 2;
  parameters.iterations = 2;
  parameters.arithmetic = arithmetic;
  parameters.refine.speckle_size = 3;
  return parameters;
}

inline SemiGlobalParameters small_semi_global() {
  SemiGlobalParameters parameters;
  parameters.disparities = 5;
  parameters.window = 3;
  parameters.refine.speckle_size = 3;
  return parameters;
}

struct SmallPlan {
  const char* name;
  MatcherParameters parameters;
};

inline std::ostream& operator<<(std::ostream& out, const SmallPlan& plan) {
  return out << plan.name;
}

inline const SmallPlan small_plans[] = {{"Fixed8", small_belief_propagation()},
                                        {"Float32", small_belief_propagation(Arithmetic::float32)},
                                        {"Block", small_block()},
                                        {"Census", small_census()},
                                        {"SemiGlobal", small_semi_global()}};

inline std::string name_of_plan(const testing::TestParamInfo<SmallPlan>& info) {
  return info.param.name;
}

}  // namespace parallax::test
