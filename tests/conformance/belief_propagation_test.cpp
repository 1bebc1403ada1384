// SPDX-License-Identifier: Apache-2.0
// Belief propagation: the cpu device gives the bytes of the reference, on every vector target and thread
// count, for random images and parameters; in floats too, as lanes do the reference's operations in its
// order.

#include <algorithm>

#include <gtest/gtest.h>

#include "conformance/belief_propagation_case.h"
#include "support.h"

namespace parallax::test {
namespace {

constexpr Arithmetic arithmetics[] = {Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32,
                                      Arithmetic::float16, Arithmetic::bfloat16};

class BeliefPropagationConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

TEST_P(BeliefPropagationConformance, EqualsTheReferenceOnRandomCases) {
  constexpr unsigned cases = sanitized ? 15 : 80;
  const unsigned first = first_seed(GetParam(), cases);
  for (unsigned seed = first; seed < first + cases; ++seed) {
    const BeliefPropagationCase random_case(seed);
    const auto run = [&](const Device& device, int poison) {
      return match(random_case.parameters(), device, random_case.pair(), poison,
                   random_case.with_confidence(), random_case.configuration(device.kind));
    };
    const Result expected = run(reference, 0x11);
    for (const int threads : {1, 2, 7}) {
      const Result actual = run(cpu(threads), 0xEE);
      const auto which = [&] {
        return ", seed " + std::to_string(seed) + ", " + std::to_string(threads) +
               " threads: " + random_case.description();
      };
      ASSERT_TRUE(same_bytes(expected.status, actual.status)) << "status" << which();
      ASSERT_TRUE(same_bytes(expected.disparity, actual.disparity)) << "disparity" << which();
      ASSERT_TRUE(same_bytes(expected.confidence, actual.confidence)) << "confidence" << which();
    }
  }
}

// Ranges that end anywhere in a vector; labels that no byte can count.
TEST_P(BeliefPropagationConformance, EqualsTheReferenceForEveryLabelCount) {
  const SynthPair pair = synthesize({.size = {71, 3}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  std::vector<int> counts{127, 128, 129, 255, 256, 257, 1023, 1024};
  for (int labels = 2; labels <= 70; labels += sanitized ? 11 : 1) counts.push_back(labels);
  for (const int labels : counts) {
    BeliefPropagationParameters parameters = plain_belief_propagation();
    parameters.disparities = labels;
    parameters.min_disparity = labels % 2 == 1 ? 0 : labels % 7 - 3;
    parameters.arithmetic = arithmetics[labels % std::size(arithmetics)];
    parameters.cost = static_cast<DataCost>(labels % 4);
    parameters.iterations = 3;
    parameters.levels = 2;
    // A matcher that has run before, so that memory holds messages of another row.
    Matcher matcher(parameters, cpu(1), pair.left_view().format);
    Result actual(pair.size());
    for (int i = 0; i < 2; ++i) matcher.run(views, actual.map());
    ASSERT_TRUE(same_bytes(match(parameters, reference, views), actual)) << labels << " labels";
  }
}

// So many labels that the cache holds no row of them.
TEST_P(BeliefPropagationConformance, EqualsTheReferenceInStripsOfColumns) {
  const SynthPair pair = synthesize({.size = {1501, 6}, .disparities = 200});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  BeliefPropagationParameters parameters;
  parameters.disparities = 256;
  parameters.levels = 2;
  parameters.iterations = 4;
  parameters.data_weight = 0.01f;
  parameters.cost = DataCost::absolute_difference;
  parameters.refine = RefineParameters::none();
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float32, Arithmetic::bfloat16}) {
    if (sanitized && arithmetic == Arithmetic::bfloat16) continue;
    parameters.arithmetic = arithmetic;
    EXPECT_TRUE(same_bytes(match(parameters, reference, views, 0x11, true),
                           match(parameters, cpu(2), views, 0xEE, true)))
        << "arithmetic " << static_cast<int>(arithmetic);
  }
}

TEST_P(BeliefPropagationConformance, KeepsNothingFromTheRunBefore) {
  for (unsigned seed = 1000; seed < (sanitized ? 1004 : 1030); ++seed) {
    const BeliefPropagationCase random_case(seed);
    const StereoPair pair = random_case.pair();
    const Size size = pair.left.format.size;
    std::vector<float> no_costs(size.pixels() * static_cast<std::size_t>(pair.costs.labels));
    StereoPair other{pair.right, pair.left, pair.right_mask, {}};
    if (pair.costs.labels > 0) other.costs = CostVolume(no_costs.data(), size, pair.costs.labels);
    Matcher matcher(random_case.parameters(), cpu(2), pair.left.format);
    Result first(size, 0x11, true), second(size, 0xEE, true), last(size, 0x77);
    matcher.run(pair, first.map());
    matcher.run(other, second.map());
    matcher.run(pair, second.map());
    ASSERT_TRUE(same_bytes(first, second)) << "seed " << seed << ": " << random_case.description();
    matcher.run(pair, last.map());
    ASSERT_TRUE(same_bytes(first.disparity, last.disparity) && same_bytes(first.status, last.status))
        << "without confidence, seed " << seed << ": " << random_case.description();
  }
}

INSTANTIATE_TEST_SUITE_P(Target, BeliefPropagationConformance, testing::ValuesIn(cpu_targets()),
                         [](const auto& target) { return target.param; });

// So many rows that each thread has a band of its own.
TEST(BeliefPropagationConformanceTest, EqualsTheReferenceOnALargerPair) {
  const SynthPair pair = synthesize({.size = {331, sanitized ? 21 : 111}, .disparities = 29});
  const StereoPair views{pair.left_view(), pair.right_view(), {}, {}};
  BeliefPropagationParameters parameters;
  parameters.disparities = 32;
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float16}) {
    parameters.arithmetic = arithmetic;
    const Result expected = match(parameters, reference, views, 0x11, true);
    for (const int threads : {1, 2, 7})
      EXPECT_TRUE(same_bytes(expected, match(parameters, cpu(threads), views, 0xEE, true)))
          << "arithmetic " << static_cast<int>(arithmetic) << ", " << threads << " threads";
  }
}

}  // namespace
}  // namespace parallax::test
