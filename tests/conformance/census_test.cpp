// SPDX-License-Identifier: Apache-2.0
// Census matching: the cpu device gives the bytes of the reference at every stage, on every vector target and
// thread count, for random images and parameters.

#include <gtest/gtest.h>

#include "conformance/census_stages.h"
#include "conformance/random_case.h"
#include "support.h"

namespace parallax::test {
namespace {

class CensusConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

struct StagedResult {
  std::unique_ptr<detail::Plan> plan;
  Result result;

  const census::CensusPlan& stages() const { return dynamic_cast<const census::CensusPlan&>(*plan); }
};

StagedResult match_staged(const CensusParameters& parameters, const Device& device, const StereoPair& pair,
                          int poison, bool with_confidence) {
  StagedResult staged{make_census_plan(parameters, device, pair.left.format),
                      Result(pair.left.format.size, poison, with_confidence)};
  staged.plan->run(pair, staged.result.map());
  return staged;
}

TEST_P(CensusConformance, EqualsTheReferenceOnRandomCases) {
  constexpr unsigned cases = sanitized ? 10 : 70;
  for (unsigned seed = 0; seed < cases; ++seed) {
    const RandomCase random_case("census", seed);
    const bool with_confidence = random_case.with_confidence();
    const CensusParameters& parameters = *random_case.parameters().get_if<CensusParameters>();
    const StagedResult expected =
        match_staged(parameters, reference, random_case.pair(), 0x11, with_confidence);
    for (const int threads : {1, 2, 7}) {
      const StagedResult actual =
          match_staged(parameters, cpu(threads), random_case.pair(), 0xEE, with_confidence);
      const std::string about = std::to_string(threads) + " threads: " + random_case.description();
      expect_same_stages(expected.stages(), actual.stages(), about);
      ASSERT_TRUE(same_bytes(expected.result.status, actual.result.status)) << "status, " << about;
      ASSERT_TRUE(same_bytes(expected.result.disparity, actual.result.disparity)) << "disparity, " << about;
      ASSERT_TRUE(same_bytes(expected.result.confidence, actual.result.confidence))
          << "confidence, " << about;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Target, CensusConformance, testing::ValuesIn(cpu_targets()),
                         [](const auto& target) { return target.param; });

// Several tiles in both directions, so that their seams are crossed.
TEST(CensusConformanceTest, EqualsTheReferenceOnALargerPair) {
  SynthParameters synth;
  synth.size = {331, sanitized ? 29 : 133};
  synth.disparities = 37;
  const SynthPair pair = synthesize(synth);
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const int levels : {1, 3}) {
    CensusParameters parameters;
    parameters.disparities = 40;
    parameters.pyramid_levels = levels;
    const Result expected = match(parameters, reference, views);
    for (const int threads : {1, 2, 7})
      EXPECT_TRUE(same_bytes(expected, match(parameters, cpu(threads), views))) << levels << " levels";
  }
}

}  // namespace
}  // namespace parallax::test
