// SPDX-License-Identifier: Apache-2.0
// Census matching: the meaning of its parameters, tested on the reference. Other tests compare devices with
// it.

#include <random>

#include <gtest/gtest.h>

#include "conformance/census_stages.h"
#include "support.h"

namespace parallax::test {
namespace {

using census::CensusPlan;
using census::left_side;
using census::right_side;

// A CensusPlan of the reference after a run.
class Stages {
 public:
  Stages(const CensusParameters& parameters, const StereoPair& pair)
      : plan_(make_census_plan(parameters, reference, pair.left.format)) {
    Result result(pair.left.format.size);
    plan_->run(pair, result.map());
  }
  census::Stage of(int level, int side = left_side) const {
    return dynamic_cast<const CensusPlan&>(*plan_).stage(level, side);
  }
  const std::vector<census::Level>& levels() const {
    return dynamic_cast<const CensusPlan&>(*plan_).levels();
  }

 private:
  std::unique_ptr<detail::Plan> plan_;
};

StereoPair same_on_both(const Plane<std::uint8_t>& image) {
  return {image.view(), image.view()};
}

CensusParameters plain_census(CensusTransform transform = CensusTransform::census_5x5) {
  CensusParameters parameters;
  parameters.transform = transform;
  parameters.disparities = 3;
  parameters.window = 1;
  parameters.pyramid_levels = 1;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

const Plane<std::uint8_t> numbered = plane<std::uint8_t>(
    {{9, 9, 9, 9, 9}, {9, 5, 6, 7, 9}, {0, 8, 5, 4, 9}, {0, 5, 5, 3, 9}, {0, 0, 0, 0, 6}});

TEST(CensusTest, BitsAreNumberedByRowsWithoutTheCentreAndEqualIsNotBrighter) {
  const census::Stage stage = Stages(plain_census(), same_on_both(numbered)).of(0);
  ASSERT_EQ(stage.signature.size(), 3u);
  // Around (2, 2), of 5: rows 9 9 9 9 9 | 9 5 6 7 9 | 0 8 . 4 9 | 0 5 5 3 9 | 0 0 0 0 6.
  EXPECT_EQ(stage.signature[0].at(2, 2), 0b10111111);  // bits 0 to 7: five of row 0, then 9, 5, 6
  EXPECT_EQ(stage.signature[1].at(2, 2), 0b00101011);  // 7, 9; 0, 8, 4, 9; then 0, 5
  EXPECT_EQ(stage.signature[2].at(2, 2), 0b10000100);  // 5, 3, 9; 0, 0, 0, 0, 6
}

TEST(CensusTest, ModifiedComparesWithTheMeanOfThreeByThreeRoundedDown) {
  // Mean of the 3×3 around (2, 2) is 48/9 = 5.33: 6 is brighter, 5 is not.
  const census::Stage modified =
      Stages(plain_census(CensusTransform::modified_5x5), same_on_both(numbered)).of(0);
  const census::Stage classic = Stages(plain_census(), same_on_both(numbered)).of(0);
  for (std::size_t byte = 0; byte < 3; ++byte)
    EXPECT_EQ(modified.signature[byte].at(2, 2), classic.signature[byte].at(2, 2));
  // At (1, 1) the value is 5 and the mean 60/9 = 6.67: the 6 to its right is brighter than the value only.
  EXPECT_EQ(classic.signature[1].at(1, 1) >> 4 & 1, 1);
  EXPECT_EQ(modified.signature[1].at(1, 1) >> 4 & 1, 0);
}

TEST(CensusTest, NeighboursBeyondTheBorderRepeatIt) {
  const Plane<std::uint8_t> image = plane<std::uint8_t>({{1, 2}, {3, 4}});
  const census::Stage stage = Stages(plain_census(), same_on_both(image)).of(0);
  // Around (0, 0), whose value is 1, the columns to the left and the rows above repeat the border.
  //   row −2, −1 and 0:  1 1 1 2 2     row 1 and 2: 3 3 3 4 4
  const auto bits = static_cast<unsigned>(stage.signature[0].at(0, 0) | stage.signature[1].at(0, 0) << 8 |
                                          stage.signature[2].at(0, 0) << 16);
  EXPECT_EQ(bits, 0b11111'11111'11'00'11000'11000u);
}

TEST(CensusTest, SparseTakesEverySecondPixelOfEverySecondRow) {
  const census::Neighbourhood sparse = census::neighbourhood(CensusTransform::sparse_modified_7x7);
  ASSERT_EQ(sparse.neighbours.size(), 16u);
  EXPECT_TRUE(sparse.modified);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(sparse.neighbours[i].x, -3 + 2 * static_cast<int>(i % 4));
    EXPECT_EQ(sparse.neighbours[i].y, -3 + 2 * static_cast<int>(i / 4));
  }
}

TEST(CensusTest, WindowsHaveTheBitsTheyAreNamedFor) {
  EXPECT_EQ(census::neighbourhood(CensusTransform::census_5x5).neighbours.size(), 24u);
  EXPECT_EQ(census::neighbourhood(CensusTransform::census_7x7).neighbours.size(), 48u);
  EXPECT_EQ(census::neighbourhood(CensusTransform::census_9x7).neighbours.size(), 62u);
  EXPECT_EQ(census::neighbourhood(CensusTransform::census_9x9).neighbours.size(), 80u);
  EXPECT_EQ(census::neighbourhood(CensusTransform::modified_9x9).bytes(), 10);
}

TEST(CensusTest, APyramidHalvesByRoundedMeans) {
  CensusParameters parameters = plain_census();
  parameters.pyramid_levels = 9;
  const Plane<std::uint8_t> image = plane<std::uint8_t>({{1, 2, 7}, {2, 1, 8}, {0, 1, 255}});
  const Stages stages(parameters, same_on_both(image));
  ASSERT_EQ(stages.levels().size(), 3u);  // 3×3, 2×2, 1×1, and no more
  const census::Stage half = stages.of(1);
  EXPECT_EQ(half.gray.at(0, 0), 2);           // 6/4
  EXPECT_EQ(half.gray.at(1, 0), 8);           // 7 and 8 twice: 30/4
  EXPECT_EQ(half.gray.at(0, 1), 1);           // 0 and 1 twice: 2/4
  EXPECT_EQ(half.gray.at(1, 1), 255);         // one pixel
  EXPECT_EQ(stages.of(2).gray.at(0, 0), 67);  // 266/4
}

TEST(CensusTest, RangesOfLevelsCoverThoseBelow) {
  CensusParameters parameters = plain_census();
  parameters.min_disparity = -5;
  parameters.disparities = 9;  // to 3
  parameters.pyramid_levels = 3;
  parameters.row_tolerance = 5;
  const std::vector<census::Level> levels = census::plan_levels(parameters, {64, 64});
  EXPECT_EQ(levels[1].lowest, -3);
  EXPECT_EQ(levels[1].highest(), 2);
  EXPECT_EQ(levels[2].lowest, -2);
  EXPECT_EQ(levels[2].highest(), 1);
  EXPECT_EQ(levels[1].rows, 3);
  EXPECT_EQ(levels[2].rows, 2);
  EXPECT_EQ(census::plan_levels(parameters, {64, 3})[0].rows, 2);  // the image has no more
}

double bad1(const SynthPair& pair, const CensusParameters& parameters) {
  return error_against_truth(match(parameters, cpu(2), views(pair)), pair).bad1;
}

CensusParameters census_of(int disparities, int levels) {
  CensusParameters parameters;
  parameters.disparities = disparities;
  parameters.pyramid_levels = levels;
  return parameters;
}

TEST(CensusTest, FindsDisparitiesWithAndWithoutAPyramid) {
  const SynthPair pair = synth(Scene::layers);
  for (const int levels : {1, 2, 3}) EXPECT_LT(bad1(pair, census_of(20, levels)), 0.1) << levels << " levels";
}

TEST(CensusTest, AllTransformsAndCostsFindDisparities) {
  const SynthPair pair = synth(Scene::layers);
  for (int transform = 0; transform < 9; ++transform)
    for (const CensusCost cost : {CensusCost::hamming, CensusCost::ad_census}) {
      CensusParameters parameters = census_of(20, 1);
      parameters.transform = static_cast<CensusTransform>(transform);
      parameters.cost = cost;
      EXPECT_LT(bad1(pair, parameters), 0.1)
          << "transform " << transform << ", cost " << static_cast<int>(cost);
    }
}

// A post of seven columns in front of a wall is less than two pixels wide on level 2.
TEST(CensusTest, ThinThingsSurviveThePyramid) {
  const Size size{96, 40};
  std::mt19937 random(1);
  Plane<std::uint8_t> left(size), right(size), post(size);
  constexpr int wall = 4, near = 12, first = 60, last = 67;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      right.at(x, y) = static_cast<std::uint8_t>(random());
      post.at(x, y) = static_cast<std::uint8_t>(random());
    }
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x)
      left.at(x, y) = x >= first && x < last ? post.at(x, y) : right.at(std::max(x - wall, 0), y);
    for (int x = first; x < last; ++x) right.at(x - near, y) = post.at(x, y);
  }
  CensusParameters parameters = census_of(20, 3);
  parameters.window = 3;
  parameters.transform = CensusTransform::census_5x5;
  parameters.refine.median = 0;
  const Result result = match(parameters, cpu(1), {left.view(), right.view()});
  for (int y = 0; y < size.height; ++y)
    EXPECT_NEAR(result.disparity.at(first + 3, y), near, 0.5) << "row " << y;
}

}  // namespace
}  // namespace parallax::test
