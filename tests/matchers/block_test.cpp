// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

Result match_synth(const SynthPair& pair, const BlockParameters& parameters) {
  return match(parameters, cpu(2), {pair.left_view(), pair.right_view()});
}

TEST(BlockTest, FindsTheDisparitiesOfRandomDots) {
  const SynthPair pair = synth(Scene::dots);
  for (const BlockCost cost : {BlockCost::sad, BlockCost::ssd, BlockCost::zncc}) {
    BlockParameters parameters;
    parameters.disparities = 20;
    parameters.cost = cost;
    parameters.prefilter = Prefilter::none;
    const Result result = match_synth(pair, parameters);
    const ErrorMetrics error = error_against_truth(result, pair);
    EXPECT_LT(error.bad1, 0.06) << "cost " << static_cast<int>(cost);
    EXPECT_EQ(error.coverage, 1.0);
  }
}

// Costs of 10, 4, 8: the minimum of a parabola is at (10 − 8) / (2·(10 − 8 + 8)) = 0.1, the tip of a V at
// (10 − 8) / (2·(10 − 4)) = 1/6.
TEST(BlockTest, ParabolaAndVGoThroughTheThreeCosts) {
  const auto left = plane<std::uint8_t>({{100, 100, 100, 100, 100}});
  const auto right = plane<std::uint8_t>({{0, 108, 104, 110, 0}});
  BlockParameters parameters = plain_block();
  parameters.window = 1;
  parameters.disparities = 3;
  const auto disparity = [&](SubPixel sub_pixel) {
    parameters.sub_pixel = sub_pixel;
    return match(parameters, cpu(1), {left.view(), right.view()}).disparity.at(3, 0);
  };
  EXPECT_FLOAT_EQ(disparity(SubPixel::parabola), 1.1f);
  EXPECT_FLOAT_EQ(disparity(SubPixel::v_shape), 1 + 1.0f / 6);
  // No fraction at the ends of the range.
  parameters.min_disparity = 1;
  parameters.disparities = 2;
  EXPECT_EQ(disparity(SubPixel::parabola), 1.0f);
}

// The costs of left pixel 4 at disparities 0…4 are 50, 20, 40, 32, 50; the only cost of left pixel 0 is 50.
TEST(BlockTest, ConfidenceIsWhatTheRivalCostsMore) {
  const auto left = plane<std::uint8_t>({{100, 100, 100, 100, 100}});
  const auto right = plane<std::uint8_t>({{150, 132, 140, 120, 150}});
  const auto no_left = plane<std::uint8_t>({{255, 255, 255, 0, 255}});
  BlockParameters parameters = plain_block();
  parameters.window = 1;
  parameters.disparities = 5;
  for (const Device& device : {reference, cpu(1)}) {
    for (const int uniqueness : {0, 100}) {
      parameters.uniqueness = uniqueness;
      const Result result =
          match(parameters, device, {left.view(), right.view(), no_left.view(), {}}, 0x11, true);
      EXPECT_EQ(result.confidence.at(4, 0), 12.0f / 32);
      EXPECT_EQ(result.confidence.at(3, 0), 0) << "masked";
      EXPECT_EQ(result.confidence.at(0, 0), 1) << "no rival";
    }
  }
}

TEST(BlockTest, PerfectRivalLeavesNoConfidence) {
  const auto image = plane<std::uint8_t>({{7, 7, 7, 7, 7}});
  BlockParameters parameters = plain_block();
  parameters.window = 1;
  parameters.disparities = 5;
  const Result result = match(parameters, cpu(1), {image.view(), image.view()}, 0x11, true);
  EXPECT_EQ(result.confidence.at(4, 0), 0);
}

TEST(BlockTest, PixelOutOfRangeHasNoConfidence) {
  const auto image = plane<std::uint8_t>({{7, 9, 7}});
  BlockParameters parameters = plain_block();
  parameters.window = 1;
  parameters.min_disparity = 2;
  parameters.disparities = 1;
  const Result result = match(parameters, cpu(1), {image.view(), image.view()}, 0x11, true);
  EXPECT_EQ(status_at(result, 0, 0), Status::out_of_range);
  EXPECT_EQ(result.confidence.at(0, 0), 0);
  EXPECT_EQ(result.confidence.at(2, 0), 1);
}

// The costs of left pixel 4 at disparities 0…4 are 50, 20, 40, 22, 50. 22 is 10 % more than 20, and two
// labels away.
TEST(BlockTest, UniquenessRejectsWhenAnotherDisparityIsAlmostAsGood) {
  const auto left = plane<std::uint8_t>({{100, 100, 100, 100, 100}});
  const auto right = plane<std::uint8_t>({{150, 122, 140, 120, 150}});
  BlockParameters parameters = plain_block();
  parameters.window = 1;
  parameters.disparities = 5;
  const auto status = [&](int uniqueness) {
    parameters.uniqueness = uniqueness;
    return status_at(match(parameters, cpu(1), {left.view(), right.view()}), 4, 0);
  };
  EXPECT_EQ(status(0), Status::matched);
  EXPECT_EQ(status(9), Status::matched);
  EXPECT_EQ(status(10), Status::ambiguous);
}

TEST(BlockTest, NeighboursOfTheBestDisparityAreNoRivals) {
  const auto left = plane<std::uint8_t>({{100, 100, 100, 100, 100}});
  const auto right = plane<std::uint8_t>({{150, 150, 121, 120, 121}});
  BlockParameters parameters = plain_block();
  parameters.window = 1;
  parameters.disparities = 5;
  parameters.uniqueness = 50;
  EXPECT_EQ(status_at(match(parameters, cpu(1), {left.view(), right.view()}), 4, 0), Status::matched);
}

TEST(BlockTest, FlatWindowsAreTextureless) {
  Plane<std::uint8_t> image({40, 9}, 90);
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 10; ++x) image.at(x, y) = static_cast<std::uint8_t>(30 * (x % 2) + 40);
  BlockParameters parameters = plain_block();
  parameters.window = 3;
  parameters.disparities = 4;
  parameters.texture_threshold = 1;
  const Result result = match(parameters, cpu(1), {image.view(), image.view()});
  EXPECT_EQ(status_at(result, 30, 4), Status::textureless);
  EXPECT_EQ(status_at(result, 9, 4), Status::matched);
}

TEST(BlockTest, FullRowSearchesEveryColumn) {
  Plane<std::uint8_t> left({50, 3}, 10), right({50, 3}, 10);
  left.at(48, 1) = 250;
  right.at(1, 1) = 250;
  left.at(2, 1) = 130;
  right.at(45, 1) = 130;
  BlockParameters parameters = preset<BlockParameters>("sad-full-row");
  parameters.window = 1;
  const Result result = match(parameters, cpu(1), {left.view(), right.view()});
  EXPECT_EQ(result.disparity.at(48, 1), 47.0f);
  EXPECT_EQ(result.disparity.at(2, 1), -43.0f);
}

TEST(BlockTest, RightMaskBehavesAsAShorterRange) {
  const SynthPair pair = synth(Scene::layers);
  const Plane<std::uint8_t> nothing(pair.size(), 0);
  BlockParameters parameters = plain_block();
  parameters.disparities = 20;
  const Result result = match(parameters, cpu(1), {pair.left_view(), pair.right_view(), {}, nothing.view()});
  for (int x = 0; x < pair.size().width; ++x) EXPECT_EQ(status_at(result, x, 50), Status::out_of_range);
}

TEST(BlockTest, LeftRightCheckFindsOcclusions) {
  const SynthPair pair = synth(Scene::layers, {320, 192}, 40);
  BlockParameters parameters;
  parameters.disparities = 40;
  parameters.refine = RefineParameters::none();
  parameters.refine.left_right_check = true;
  const Result result = match_synth(pair, parameters);
  int occluded = 0, found = 0, seen = 0, wrongly = 0;
  for (int y = 0; y < pair.size().height; ++y) {
    for (int x = 0; x < pair.size().width; ++x) {
      const bool rejected = status_at(result, x, y) == Status::inconsistent;
      const bool hidden = pair.left_mask.at(x, y) == 128 && static_cast<float>(x) >= pair.left_truth.at(x, y);
      hidden ? ++occluded : ++seen;
      hidden ? found += rejected : wrongly += rejected;
    }
  }
  EXPECT_GT(occluded, 1000);
  EXPECT_GT(found, occluded * 6 / 10);
  EXPECT_LT(wrongly, seen / 10);
}

// docs/measurements/block.md promises this for 1920×1080 pixels with 256 labels and two threads.
TEST(BlockTest, NeverHoldsAVolume) {
  BlockParameters parameters;
  parameters.disparities = 256;
  parameters.refine.fill = Fill::row;
  EXPECT_LT(estimate_memory_bytes(parameters, cpu(2), {{1920, 1080}, BitDepth::bits8}), 64u << 20);
}

}  // namespace
}  // namespace parallax::test
