// SPDX-License-Identifier: Apache-2.0
// Compares motion on the cpu device with the reference, byte for byte: windows of labels, scales, masks and
// the check.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "matchers/motion_case.h"
#include "support.h"

namespace parallax {
namespace {

using test::Result;
using Case = test::MotionCase;

// The parameters of a test are a vector target.
class MotionCpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

TEST_P(MotionCpu, EqualsTheReferenceOnRandomCases) {
  for (unsigned seed = 0; seed < (test::sanitized ? 8u : 40u); ++seed) {
    if (!test::takes_case(GetParam(), seed)) continue;
    const Case problem(seed);
    const StereoPair pair = problem.pair();
    const Result wanted = test::match(problem.parameters, test::reference, pair, 0xA5, true);
    for (const int threads : test::thread_counts(GetParam(), seed)) {
      Matcher matcher(problem.parameters, test::cpu(threads), problem.format());
      Result found(problem.size, 0xEE, true, true);
      // A match leaves no state that affects the next one.
      if (threads != 1) matcher.run({pair.right, pair.left, pair.right_mask, pair.left_mask}, found.map());
      matcher.run(pair, found.map());
      test::expect_same(
          wanted, found,
          std::to_string(threads) + " threads, seed " + std::to_string(seed) + ": " + problem.description());
      if (HasFailure()) return;
    }
  }
}

// No confidence is computed if the map has no plane for it.
TEST_P(MotionCpu, MapsDoNotDependOnConfidenceBeingAskedFor) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Case problem(seed);
    const Result wanted = test::match(problem.parameters, test::reference, problem.pair()),
                 found = test::match(problem.parameters, test::cpu(2), problem.pair());
    test::expect_same(wanted, found, problem.description());
  }
}

INSTANTIATE_TEST_SUITE_P(Target, MotionCpu, testing::ValuesIn(cpu_targets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace parallax
