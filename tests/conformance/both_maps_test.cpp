// SPDX-License-Identifier: Apache-2.0
// The map of the right image has the bytes of the mirrored pair's map, mirrored back, for every method.
#include "conformance/both_maps.h"

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "support.h"

namespace parallax::test {
namespace {

class BothMapsTest : public testing::TestWithParam<std::string> {};

// The methods that have both maps.
std::vector<std::string> stereo_methods() {
  std::vector<std::string> methods = list_methods();
  std::erase(methods, "motion");
  return methods;
}

INSTANTIATE_TEST_SUITE_P(Methods, BothMapsTest, testing::ValuesIn(stereo_methods()),
                         [](const auto& info) { return name_in_tests(info.param); });

TEST_P(BothMapsTest, RightMapIsThatOfTheMirroredPair) {
  for (unsigned seed = 500; seed < (sanitized ? 505 : 525); ++seed) {
    const RandomCase random_case(GetParam(), seed);
    const StereoPair pair = random_case.pair();
    for (const Device& device : processors(GetParam())) {
      if (pair.costs.labels > 0)
        expect_refused(
            [&] { Matcher(random_case.parameters(), device, pair.left.format, {.both_maps = true}); },
            "leave out the map of the right image");
      else
        expect_both_maps(random_case.parameters(), device, pair, random_case.with_confidence(),
                         device.text() + ", " + random_case.description());
    }
    if (HasFailure()) return;
  }
}

TEST_P(BothMapsTest, RowsAreAlignedForEachMap) {
  for (unsigned seed = 0; seed < 2; ++seed) {
    const MisalignedCase misaligned(seed);
    const MatcherParameters parameters = misaligned.parameters_of(GetParam());
    for (const Device& device : processors(GetParam()))
      expect_both_maps(parameters, device, misaligned.images.pair(), true,
                       device.text() + ", " + misaligned.description);
  }
}

parallax::Result match_both(const MatcherParameters& parameters, const StereoPair& pair) {
  return parallax::match(pair, parameters, cpu(2), {.both_maps = true});
}

double share_of_errors(const Plane<float>& disparity, const Plane<float>& truth,
                       const Plane<std::uint8_t>& mask) {
  return evaluate(disparity.view(), truth.view(), mask.view()).bad1;
}

// The rendered truth of the right image tells the sign, and to which image the pixels belong.
TEST_P(BothMapsTest, RightMapHasTheTruthOfTheRightImage) {
  const SynthPair pair = synth(Scene::layers);
  MatcherParameters parameters = preset(GetParam(), "default");
  parameters.disparities() = 20;
  const parallax::Result both = match_both(parameters, views(pair));
  EXPECT_LT(share_of_errors(both.disparity, pair.left_truth, pair.left_mask), 0.06);
  EXPECT_LT(share_of_errors(both.right->disparity, pair.right_truth, pair.right_mask), 0.06);
  EXPECT_GT(share_of_errors(both.right->disparity, pair.left_truth, pair.left_mask), 0.1);
}

// Exchanged images have negative disparities.
TEST_P(BothMapsTest, ExchangedImagesHaveTheNegativeTruth) {
  const SynthPair pair = synth(Scene::layers);
  const auto negative = [](const Plane<float>& truth) {
    Plane<float> result(truth.size());
    for (int y = 0; y < truth.height(); ++y)
      for (int x = 0; x < truth.width(); ++x) result.at(x, y) = -truth.at(x, y);
    return result;
  };
  MatcherParameters parameters = preset(GetParam(), "default");
  parameters.min_disparity() = -19;
  parameters.disparities() = 20;
  const parallax::Result both = match_both(parameters, {pair.right_view(), pair.left_view()});
  EXPECT_LT(share_of_errors(both.disparity, negative(pair.right_truth), pair.right_mask), 0.06);
  EXPECT_LT(share_of_errors(both.right->disparity, negative(pair.left_truth), pair.left_mask), 0.06);
}

TEST(BothMapsRefusalTest, AreRefusedWhereTheyWereNotPlanned) {
  const SynthPair pair = synth(Scene::dots, {64, 32}, 8);
  BlockParameters parameters;
  parameters.disparities = 8;
  Matcher left_alone(parameters, cpu(1), pair.left_view().format);
  EXPECT_FALSE(left_alone.has_both_maps());
  EXPECT_EQ(left_alone.make_result().right, nullptr);
  Matcher both(parameters, cpu(1), pair.left_view().format, {.both_maps = true});
  EXPECT_TRUE(both.has_both_maps());
  parallax::Result result = both.make_result(true);
  EXPECT_EQ(result.right->confidence.size(), pair.size());
  expect_refused([&] { left_alone.run(views(pair), result.map()); }, "planned for the left map alone");
  DisparityMap without_status = result.map();
  without_status.right.status = {};
  expect_refused([&] { both.run(views(pair), without_status); }, "right status map is 0×0");
  DisparityMap with_row_offsets = result.map();
  with_row_offsets.right.row_offset = result.right->disparity.view();
  expect_refused([&] { both.run(views(pair), with_row_offsets); }, "leave out the map of row offsets");
  // Room for two pairs and their masks.
  EXPECT_GE(both.memory_bytes(), left_alone.memory_bytes() + 8 * pair.size().pixels());
  expect_error(error_of([&] {
                 Matcher(parameters, cpu(1), pair.left_view().format,
                         {.max_memory_bytes = left_alone.memory_bytes(), .both_maps = true});
               }),
               ErrorCategory::memory, {"needs"});
}

TEST(BothMapsRefusalTest, MotionHasNone) {
  if (list_methods().size() == stereo_methods().size()) GTEST_SKIP() << "no motion in this build";
  expect_refused(
      [] {
        Matcher(preset("motion", "default"), cpu(1), {{64, 48}}, {.both_maps = true});
      },
      "motion has no map of the second image");
}

}  // namespace
}  // namespace parallax::test
