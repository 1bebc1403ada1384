// SPDX-License-Identifier: Apache-2.0
// Block matching: the cpu device gives the bytes of the reference, on every vector target and thread count,
// for random images and parameters.

#include <algorithm>

#include <gtest/gtest.h>

#include "conformance/random_pair.h"
#include "support.h"

namespace parallax::test {
namespace {

class BlockConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

// Ranges that end anywhere in a vector, on images wide enough that most pixels have every label.
TEST_P(BlockConformance, EqualsTheReferenceForEveryLabelCount) {
  const SynthPair pair = synthesize({.size = {173, 5}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const int window : {1, 3, 9}) {
    for (int labels = 1; labels <= 70; labels += sanitized ? 11 : 1) {
      BlockParameters parameters = plain_block();
      parameters.window = window;
      parameters.disparities = labels;
      parameters.min_disparity = labels % 2 == 1 ? 0 : labels % 7 - 3;
      parameters.cost = static_cast<BlockCost>(labels % 3);
      // A matcher that has run before, so that memory holds sums of another row.
      Matcher matcher(parameters, cpu(1), pair.left_view().format);
      Result actual(pair.size());
      for (int i = 0; i < 2; ++i) matcher.run(views, actual.map());
      ASSERT_TRUE(same_bytes(match(parameters, reference, views), actual))
          << labels << " labels, window " << window;
    }
  }
}

// Ranges far wider than the image: small blocks of pixels, and labels that no 16-bit lane can count.
TEST_P(BlockConformance, EqualsTheReferenceOnWideRanges) {
  const SynthPair pair = synthesize({.size = {41, 3}, .disparities = 9});
  const StereoPair views{pair.left_view(), pair.right_view()};
  for (const auto& [lowest, labels] :
       {std::pair{-300, 700}, {-2000, 9000}, {-65000, 66000}, {-1'000'000, 1'000'000}}) {
    // The widest takes long.
    if (labels == 1'000'000 && GetParam() != cpu_targets().front()) continue;
    BlockParameters parameters;
    parameters.window = 3;
    parameters.min_disparity = lowest;
    parameters.disparities = labels;
    for (const BlockCost cost : {BlockCost::sad, BlockCost::zncc}) {
      parameters.cost = cost;
      ASSERT_TRUE(same_bytes(match(parameters, reference, views), match(parameters, cpu(2), views)))
          << labels << " labels";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Target, BlockConformance, testing::ValuesIn(cpu_targets()),
                         [](const auto& target) { return target.param; });

// Larger than a band and a block of pixels, so that their seams are crossed.
TEST(BlockConformanceTest, EqualsTheReferenceOnALargerPair) {
  SynthParameters synth;
  synth.size = {331, sanitized ? 21 : 111};
  synth.disparities = 37;
  const SynthPair pair = synthesize(synth);
  BlockParameters parameters;
  parameters.disparities = 40;
  parameters.window = 7;
  for (const BlockCost cost : {BlockCost::sad, BlockCost::ssd, BlockCost::zncc}) {
    parameters.cost = cost;
    const StereoPair views{pair.left_view(), pair.right_view()};
    const Result expected = match(parameters, reference, views);
    for (const int threads : {1, 2, 7})
      EXPECT_TRUE(same_bytes(expected, match(parameters, cpu(threads), views)));
  }
}

}  // namespace
}  // namespace parallax::test
