// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "support.h"

namespace parallax::test {
namespace {

constexpr std::pair<int, int> positions[] = {{0, 0},   {199, 149}, {30, 75},  {101, 3},
                                             {64, 64}, {150, 90},  {77, 120}, {190, 60}};

class CostCurveTest : public testing::TestWithParam<std::string> {
 protected:
  // The parameters without the steps that change the match's decisions.
  MatcherParameters bare() const {
    MatcherParameters parameters = preset(GetParam(), "default");
    parameters.disparities() = 24;
    RefineParameters& steps = parameters.refine();
    steps.left_right_check = false;
    steps.speckle_size = 0;
    steps.fill = Fill::none;
    steps.median = 0;
    set_parameter(parameters, "sub_pixel", "none");
    return parameters;
  }

  // The number of pixels at `positions` with a disparity at the minimum of their curve, and of pixels with
  // another disparity.
  struct Count {
    int alike = 0, other = 0;
  };
  Count compare(const StereoPair& pair) const {
    const MatcherParameters parameters = bare();
    const Result whole = match(parameters, reference, pair);
    Count count;
    for (const auto& [x, y] : positions) {
      const float disparity = whole.disparity.at(x, y);
      if (!std::isfinite(disparity)) continue;
      ++(minimum(cost_curve(parameters, pair, x, y)) == disparity ? count.alike : count.other);
    }
    return count;
  }
  // Whether the method's totals depend on the whole image.
  bool is_approximate() const { return capabilities(GetParam()).approximate_tiles; }

  static float minimum(const CostCurve& curve) {
    const std::vector<float>& costs = curve.decisive();
    const auto best = std::min_element(costs.begin(), costs.end());
    return static_cast<float>(curve.min_disparity + (best - costs.begin()));
  }

  const Size size_{200, 150};
  SynthPair scene_ = synthesize({.size = size_, .disparities = 24});
  StereoPair pair_{scene_.left_view(), scene_.right_view()};
};

TEST_P(CostCurveTest, ItsMinimumIsTheDisparity) {
  const Count count = compare(pair_);
  EXPECT_GE(count.alike, 6);
  EXPECT_LE(count.other, is_approximate() ? 1 : 0);
}

// Colour, gray, 16 bits and masks are cut out in the same way.
TEST_P(CostCurveTest, TheSurroundingsAreCutOutOfAnyImage) {
  Plane<std::uint16_t> left(size_), right(size_);
  Plane<std::uint8_t> mask(size_, 255);
  for (int y = 0; y < size_.height; ++y)
    for (int x = 0; x < size_.width; ++x) {
      const auto deep = [&](const Plane<std::uint8_t>& picture) {
        return static_cast<std::uint16_t>(257 * picture.at(3 * x, y));
      };
      left.at(x, y) = deep(scene_.left);
      right.at(x, y) = deep(scene_.right);
      mask.at(x, y) = x < 150 ? 255 : 0;
    }
  const Count count = compare({left.view(), right.view(), {}, mask.view()});
  EXPECT_GE(count.alike, 5);
  EXPECT_LE(count.other, is_approximate() ? 1 : 0);
}

TEST_P(CostCurveTest, HasACostForEachLabel) {
  MatcherParameters parameters = bare();
  parameters.min_disparity() = -3;
  const CostCurve curve = cost_curve(parameters, pair_, 5, 75);
  EXPECT_EQ(curve.min_disparity, -3);
  EXPECT_EQ(curve.data_costs.size(), 24u);
  EXPECT_EQ(curve.totals.empty(), GetParam() == "block");
  for (const float cost : curve.data_costs) EXPECT_GE(cost, 0);
}

TEST_P(CostCurveTest, RefusesWhatIsNoPixel) {
  EXPECT_THROW(cost_curve(bare(), pair_, 200, 0), Error);
  EXPECT_THROW(cost_curve(bare(), pair_, 0, -1), Error);
  StereoPair unlike = pair_;
  unlike.right.format.size.width = 150;
  EXPECT_THROW(cost_curve(bare(), unlike, 0, 0), Error);
}

INSTANTIATE_TEST_SUITE_P(Methods, CostCurveTest, testing::Values("block", "bp", "census", "sgm", "tiled-bp"),
                         [](const auto& info) { return name_in_tests(info.param); });

TEST(CostCurveOfMotionTest, IsRefused) {
  const SynthPair scene = synth(Scene::layers, {16, 12}, 4);
  MatcherParameters parameters = preset("motion", "default");
  expect_refused([&] { cost_curve(parameters, views(scene), 3, 3); }, "method motion has no cost curve");
}

}  // namespace
}  // namespace parallax::test
