// SPDX-License-Identifier: Apache-2.0
// The weighted median and the bilateral filter.

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/device.h"
#include "parallax/error.h"

#include "refine/refine.h"
#include "support.h"

namespace parallax {
namespace {

constexpr float none = decision::no_value;
using Rows = std::vector<std::vector<float>>;
using Levels = std::vector<std::vector<int>>;

template <class T, class From>
Plane<T> plane_of(const std::vector<std::vector<From>>& rows) {
  Plane<T> plane({static_cast<int>(rows[0].size()), static_cast<int>(rows.size())});
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) plane.at(x, y) = static_cast<T>(rows[y][x]);
  return plane;
}

Rows rows_of(const Plane<float>& plane) {
  Rows rows;
  for (int y = 0; y < plane.height(); ++y) rows.emplace_back(plane.row(y), plane.row(y) + plane.width());
  return rows;
}

Rows median_of(const Rows& rows, const Levels& guide, int window = 3, int range = 10) {
  Plane<float> map = plane_of<float>(rows);
  weighted_median(map.view(), plane_of<std::uint8_t>(guide).view(), window, range);
  return rows_of(map);
}

Rows smoothed(const Rows& rows, const Levels& guide, int window = 3, int range = 10, float step = 1) {
  Plane<float> map = plane_of<float>(rows);
  bilateral(map.view(), plane_of<std::uint8_t>(guide).view(), window, range, step);
  return rows_of(map);
}

TEST(WeightedMedianTest, WeightsFallWithTheDifferenceOfGrayLevels) {
  // Three zeros weigh 3·⌊255·e^(−Δ/10) + ½⌋ against the centre's 255: 255 at Δ = 11, 231 at Δ = 12.
  const Rows rows{{0, 0, 0}, {none, 8, none}, {none, none, none}};
  const auto centre = [&](int level) {
    return median_of(rows, {{100, 100, 100}, {0, level, 0}, {0, 0, 0}})[1][1];
  };
  EXPECT_EQ(centre(111), 0);
  EXPECT_EQ(centre(112), 8);
  EXPECT_EQ(centre(89), 0);
  EXPECT_EQ(centre(88), 8);
}

TEST(WeightedMedianTest, IsTheLowestValueWithHalfOfTheWeight) {
  EXPECT_EQ(median_of({{1, 5, 9}}, {{100, 100, 200}}), (Rows{{1, 1, 9}}));
  EXPECT_EQ(median_of({{1, 5, 9}}, {{110, 100, 110}})[0][1], 5);
  EXPECT_EQ(median_of({{9}, {5}, {1}}, {{7}, {7}, {7}}), (Rows{{5}, {5}, {1}}));
}

TEST(WeightedMedianTest, OnOneGrayLevelItIsTheMedian) {
  EXPECT_EQ(median_of({{1, 8, 3}, {9, 5, 2}, {7, 4, 6}}, Levels(3, {7, 7, 7}))[1][1], 5);
}

TEST(WeightedMedianTest, OnlyValuesInsideTheMapCount) {
  EXPECT_EQ(median_of({{none, none, 4}, {none, 9, none}, {4, none, none}}, Levels(3, {0, 0, 0})),
            (Rows{{none, none, 4}, {none, 4, none}, {4, none, none}}));
  EXPECT_EQ(median_of({{-3}}, {{9}}, 15), (Rows{{-3}}));
}

TEST(WeightedMedianTest, WindowReachesAsFarAsItSays) {
  Rows rows(15, std::vector<float>(15, none));
  rows[0][0] = rows[14][14] = rows[0][14] = 1;
  rows[7][7] = 6;
  const Levels flat(15, std::vector<int>(15, 50));
  EXPECT_EQ(median_of(rows, flat, 15)[7][7], 1);
  EXPECT_EQ(median_of(rows, flat, 13)[7][7], 6);
}

TEST(BilateralTest, MovesByTheWeightedMeanOfTheDifferences) {
  // The neighbour weighs ⌊255·105/256⌋ = 104, the pixel 255: 104·128 / 359 = 37 of 256. 12 is more than a
  // pixel away.
  EXPECT_EQ(smoothed({{10, 10.5f, 12}}, {{50, 50, 50}}), (Rows{{10 + 37 / 256.0f, 10.5f - 37 / 256.0f, 12}}));
}

TEST(BilateralTest, WeightsFallWithTheDifferenceOfGrayLevels) {
  // ⌊94·105/256⌋ = 38: 38·128 / (38 + 255) = 16.6.
  EXPECT_EQ(smoothed({{10, 10.5f}}, {{50, 60}}), (Rows{{10 + 17 / 256.0f, 10.5f - 17 / 256.0f}}));
  EXPECT_EQ(smoothed({{10, 10.5f}}, {{50, 200}}), (Rows{{10, 10.5f}}));
}

TEST(BilateralTest, StepItselfCounts) {
  EXPECT_NE(smoothed({{10, 11}}, {{5, 5}})[0][0], 10);
  EXPECT_EQ(smoothed({{10, 11.25f}}, {{5, 5}}), (Rows{{10, 11.25f}}));
  EXPECT_EQ(smoothed({{10, 10.25f}}, {{5, 5}}, 3, 10, 0), (Rows{{10, 10.25f}}));
  EXPECT_EQ(smoothed({{0, 128, 256}}, {{5, 5, 5}}, 3, 255, 128)[0][1], 128);
}

TEST(BilateralTest, HalvesAreRoundedAwayFromNothing) {
  EXPECT_EQ(refine::nearest_quotient(3, 2), 2);
  EXPECT_EQ(refine::nearest_quotient(-3, 2), -2);
  EXPECT_EQ(refine::nearest_quotient(-1, 2), -1);
  EXPECT_EQ(refine::nearest_quotient(1, 3), 0);
  EXPECT_EQ(refine::nearest_quotient(-5, 3), -2);
  EXPECT_EQ(refine::nearest_quotient(0, 0), 0);
  // A full window of disparities that are 128 pixels away.
  EXPECT_EQ(refine::nearest_quotient(225 * 255 * 32768, 225 * 255), 32768);
  EXPECT_EQ(refine::nearest_quotient(-225 * 255 * 32768, 225 * 255), -32768);
}

TEST(BilateralTest, SlantedPlaneStaysOne) {
  Rows rows(9, std::vector<float>(9));
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 9; ++x) rows[y][x] = static_cast<float>(x) / 8 - static_cast<float>(y) / 4;
  const Rows result = smoothed(rows, Levels(9, std::vector<int>(9, 30)), 5);
  for (int y = 2; y < 7; ++y)
    for (int x = 2; x < 7; ++x) EXPECT_EQ(result[y][x], rows[y][x]) << x << ", " << y;
}

struct Step {
  const char* name;
  std::function<void(View<float>, const ImageView&, int window, int range, int threads)> run;
  std::function<void(View<float>, View<const std::uint8_t>, int window, int range, View<float> scratch)>
      reference;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << step.name;
}

constexpr float step = 2;

const Step steps[] = {
    {"weighted_median",
     [](View<float> map, const ImageView& guide, int window, int range, int threads) {
       weighted_median(map, guide, window, range, threads);
     },
     refine::weighted_median_reference},
    {"bilateral",
     [](View<float> map, const ImageView& guide, int window, int range, int threads) {
       bilateral(map, guide, window, range, step, threads);
     },
     [](View<float> map, View<const std::uint8_t> guide, int window, int range, View<float> scratch) {
       refine::bilateral_reference(map, guide, window, range, step, scratch);
     }},
};

class GuidedTest : public ::testing::TestWithParam<Step> {
 protected:
  void TearDown() override { force_cpu_target(""); }

  static Rows run(const Rows& rows, const ImageView& guide, int window = 5, int range = 10) {
    Plane<float> map = plane_of<float>(rows);
    GetParam().run(map.view(), guide, window, range, 1);
    return rows_of(map);
  }
};

// Two noisy surfaces, whose edge is also in the picture.
struct Scene {
  Plane<float> map;
  Plane<std::uint8_t> guide;

  explicit Scene(Size size, unsigned seed = 1) : map(size), guide(size) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const bool front = (x / 9 + y / 5) % 2 == 0;
        guide.at(x, y) = static_cast<std::uint8_t>((front ? 60 : 190) + below(60));
        map.at(x, y) = static_cast<float>(front ? 40 : 12) + static_cast<float>(below(1024)) / 256;
        if (below(6) == 0) map.at(x, y) = none;
        if (below(50) == 0) map.at(x, y) = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
};

TEST_P(GuidedTest, ConstantMapStaysAsItIs) {
  const Scene scene({20, 11});
  const Rows rows(11, std::vector<float>(20, 3.125f));
  EXPECT_EQ(run(rows, scene.guide.view()), rows);
}

TEST_P(GuidedTest, EdgeOfThePictureKeepsTheEdgeOfTheMap) {
  Rows rows(8, std::vector<float>(12));
  Levels edge(8, std::vector<int>(12)), flat(8, std::vector<int>(12, 70));
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 12; ++x) {
      // The corner of a square, which a filter that ignores the picture would round.
      const bool front = x < 5 && y < 4;
      rows[y][x] = front ? 11 : 10;
      edge[y][x] = front ? 200 : 40;
    }
  }
  EXPECT_EQ(run(rows, plane_of<std::uint8_t>(edge).view()), rows);
  EXPECT_NE(run(rows, plane_of<std::uint8_t>(flat).view())[3][4], 11);
}

TEST_P(GuidedTest, PixelWithoutAValueKeepsWhatItHas) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Rows rows{{2, none, 2}, {nan, 2, none}, {2, 2, nan}};
  const Plane<std::uint8_t> guide({3, 3}, 50);
  const Rows result = run(rows, guide.view());
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      EXPECT_EQ(std::memcmp(&result[y][x], &rows[y][x], sizeof(float)), 0) << x << ", " << y;
}

TEST_P(GuidedTest, EqualsTheReferenceOnEveryTarget) {
  for (const std::string& target : cpu_targets()) {
    force_cpu_target(target);
    for (const Size size : {Size{1, 1}, Size{1, 17}, Size{31, 3}, Size{67, 41}, Size{129, 2}, Size{2, 5}}) {
      for (const auto& [window, range] : {std::pair{3, 1}, {5, 255}, {7, 10}, {15, 60}}) {
        Scene scene(size, static_cast<unsigned>(window));
        Plane<float> expected = Scene(size, static_cast<unsigned>(window)).map;
        Plane<float> scratch(refine::bordered_size(size, window), 7.0f);
        GetParam().reference(expected.view(), scene.guide.view(), window, range, scratch.view());
        GetParam().run(scene.map.view(), scene.guide.view(), window, range, 1);
        EXPECT_TRUE(test::same_bytes(scene.map, expected))
            << target << ", " << size.width << "×" << size.height << ", window " << window;
      }
    }
  }
}

TEST_P(GuidedTest, ThreadsNeverChangeAByte) {
  const auto result = [](int threads) {
    Scene scene({67, 71});
    GetParam().run(scene.map.view(), scene.guide.view(), 7, 10, threads);
    return std::move(scene.map);
  };
  const Plane<float> expected = result(1);
  EXPECT_FALSE(test::same_bytes(expected, Scene({67, 71}).map));
  for (const int threads : {0, 2, 7}) EXPECT_TRUE(test::same_bytes(result(threads), expected)) << threads;
}

TEST_P(GuidedTest, GuideMayBeOfAnyFormat) {
  const Size size{37, 9};
  const Scene scene(size);
  const Rows rows = rows_of(scene.map), expected = run(rows, scene.guide.view());
  Plane<std::uint16_t> deep(size);
  Plane<std::uint8_t> colour({3 * size.width, size.height});
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      deep.at(x, y) = static_cast<std::uint16_t>(scene.guide.at(x, y) * 256 + x);
      for (int c = 0; c < 3; ++c) colour.at(3 * x + c, y) = scene.guide.at(x, y);
    }
  }
  const ImageView in_colour(colour.view().data, {size}, 3, colour.view().stride_bytes);
  const auto same = [&](const Rows& actual) {
    return test::same_bytes(plane_of<float>(actual), plane_of<float>(expected));
  };
  EXPECT_TRUE(same(run(rows, deep.view())));
  EXPECT_TRUE(same(run(rows, in_colour)));
}

TEST_P(GuidedTest, BadArgumentsAreRefused) {
  Plane<float> map({4, 4});
  const Plane<std::uint8_t> guide({4, 4}), other({5, 4});
  const std::string name = GetParam().name;
  const auto refused = [&](const ImageView& image, int window, int range, const std::string& message) {
    test::expect_refused([&] { GetParam().run(map.view(), image, window, range, 1); }, message);
  };
  for (const int window : {-3, 0, 1, 4, 17})
    refused(guide.view(), window, 10,
            name + " is " + std::to_string(window) + ": choose an odd number from 3 to 15");
  for (const int range : {0, 256})
    refused(guide.view(), 5, range,
            name + "_range is " + std::to_string(range) + ": choose a number from 1 to 255");
  refused(other.view(), 5, 10, "guide is 5×4, the map 4×4");
  refused(ImageView(), 5, 10, "guide points to no memory");
}

INSTANTIATE_TEST_SUITE_P(, GuidedTest, ::testing::ValuesIn(steps),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BilateralTest, StepOutOfRangeIsRefused) {
  Plane<float> map({4, 4});
  const Plane<std::uint8_t> guide({4, 4});
  for (const float bad : {-1.0f, 128.5f, std::numeric_limits<float>::quiet_NaN()})
    test::expect_refused([&] { bilateral(map.view(), guide.view(), 3, 10, bad); }, "bilateral_step is");
}

TEST(GuidedPipelineTest, MatcherRefinesAsTheFunctionsDo) {
  const SynthPair pair = synthesize({.size = {71, 43}, .disparities = 20});
  const StereoPair views{pair.left_view(), pair.right_view()};
  BlockParameters parameters;
  parameters.disparities = 20;
  test::Result expected = test::match(parameters, test::cpu(1), views);
  weighted_median(expected.disparity.view(), views.left, 7, 12);
  bilateral(expected.disparity.view(), views.left, 5, 20, 1.5f);
  parameters.refine.weighted_median = 7;
  parameters.refine.weighted_median_range = 12;
  parameters.refine.bilateral = 5;
  parameters.refine.bilateral_range = 20;
  parameters.refine.bilateral_step = 1.5f;
  EXPECT_TRUE(test::same_bytes(test::match(parameters, test::cpu(2), views), expected));
}

}  // namespace
}  // namespace parallax
