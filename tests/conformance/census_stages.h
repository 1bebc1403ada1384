// SPDX-License-Identifier: Apache-2.0
// The intermediate results of census matching, on any device.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "matchers/census/census.h"
#include "matchers/registry.h"
#include "support.h"

namespace parallax::test {

inline std::unique_ptr<detail::Plan> make_census_plan(const CensusParameters& parameters,
                                                      const Device& device, const ImageFormat& format) {
  auto plan = detail::find_backend(parameters, device).make(parameters, device, format, {});
  plan->allocate();
  return plan;
}

// Both plans must be of census matching, and have run.
inline void expect_same_stages(const detail::Plan& expected_plan, const detail::Plan& actual_plan,
                               const std::string& about) {
  const auto& expected = dynamic_cast<const census::CensusPlan&>(expected_plan);
  const auto& actual = dynamic_cast<const census::CensusPlan&>(actual_plan);
  ASSERT_EQ(expected.levels().size(), actual.levels().size());
  for (int level = 0; level < static_cast<int>(expected.levels().size()); ++level)
    for (const int side : {census::left_side, census::right_side}) {
      const census::Stage wanted = expected.stage(level, side), found = actual.stage(level, side);
      const std::string where =
          " of level " + std::to_string(level) + ", side " + std::to_string(side) + ", " + about;
      ASSERT_TRUE(same_bytes(wanted.gray, found.gray)) << "gray" << where;
      ASSERT_EQ(wanted.signature.size(), found.signature.size()) << where;
      for (std::size_t byte = 0; byte < wanted.signature.size(); ++byte)
        ASSERT_TRUE(same_bytes(wanted.signature[byte], found.signature[byte]))
            << "byte " << byte << " of signatures" << where;
      ASSERT_TRUE(same_bytes(wanted.disparity, found.disparity)) << "disparities" << where;
    }
}

}  // namespace parallax::test
