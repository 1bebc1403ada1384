// SPDX-License-Identifier: Apache-2.0
#include "parallax/flow.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax::test {
namespace {

constexpr FlowScene all_scenes[] = {FlowScene::translation, FlowScene::rotation, FlowScene::zoom,
                                    FlowScene::layers, FlowScene::thin};
constexpr const char* names[] = {"translation", "rotation", "zoom", "layers", "thin"};

FlowSynthParameters of(FlowScene scene, Size size = {96, 72}, std::uint64_t seed = 1) {
  FlowSynthParameters parameters;
  parameters.size = size;
  parameters.scene = scene;
  parameters.motion = 8;
  parameters.seed = seed;
  return parameters;
}

bool same(const FlowSynthPair& a, const FlowSynthPair& b) {
  return same_bytes(a.first, b.first) && same_bytes(a.second, b.second) && same_bytes(a.truth.u, b.truth.u) &&
         same_bytes(a.truth.v, b.truth.v) && same_bytes(a.mask, b.mask);
}

double share_of(const Plane<std::uint8_t>& mask, int value) {
  double count = 0;
  for (int y = 0; y < mask.height(); ++y)
    for (int x = 0; x < mask.width(); ++x) count += mask.at(x, y) == value;
  return count / static_cast<double>(mask.size().pixels());
}

// A gray level between those of four pixels.
double interpolated(const Plane<std::uint8_t>& rgb, double x, double y) {
  const int width = rgb.width() / 3;
  const int left = std::clamp(static_cast<int>(std::floor(x)), 0, width - 2);
  const int top = std::clamp(static_cast<int>(std::floor(y)), 0, rgb.height() - 2);
  const double a = x - left, b = y - top;
  const auto at = [&](int column, int row) { return static_cast<double>(rgb.at(3 * column + 1, row)); };
  return (1 - b) * ((1 - a) * at(left, top) + a * at(left + 1, top)) +
         b * ((1 - a) * at(left, top + 1) + a * at(left + 1, top + 1));
}

// The mean difference of gray levels between pixels of the first frame that are seen in both frames and the
// positions in the second one to which the vectors lead, if these are off by an offset.
double mean_difference(const FlowSynthPair& pair, double columns_off = 0, double rows_off = 0) {
  double sum = 0;
  int count = 0;
  for (int y = 0; y < pair.size().height; ++y)
    for (int x = 0; x < pair.size().width; ++x) {
      if (pair.mask.at(x, y) != 255) continue;
      const double seen = interpolated(pair.second, x + pair.truth.u.at(x, y) + columns_off,
                                       y + pair.truth.v.at(x, y) + rows_off);
      sum += std::abs(seen - pair.first.at(3 * x + 1, y));
      ++count;
    }
  return sum / count;
}

class FlowSynthTest : public ::testing::TestWithParam<FlowScene> {};

INSTANTIATE_TEST_SUITE_P(Scenes, FlowSynthTest, ::testing::ValuesIn(all_scenes),
                         [](const auto& info) { return std::string(names[static_cast<int>(info.param)]); });

TEST_P(FlowSynthTest, EverySizeIsRendered) {
  for (const Size size : {Size{1, 1}, Size{1, 9}, Size{9, 1}, Size{63, 47}}) {
    const FlowSynthPair pair = synthesize_flow(of(GetParam(), size));
    EXPECT_EQ(pair.size(), size);
    EXPECT_EQ(pair.first.size(), (Size{3 * size.width, size.height}));
    EXPECT_EQ(pair.second.size(), pair.first.size());
    EXPECT_EQ(pair.mask.size(), size);
  }
}

TEST_P(FlowSynthTest, SeedDecidesEveryByte) {
  FlowSynthParameters parameters = of(GetParam());
  parameters.noise = 4;
  EXPECT_TRUE(same(synthesize_flow(parameters), synthesize_flow(parameters)));
  FlowSynthParameters other = parameters;
  other.seed = 2;
  EXPECT_FALSE(same_bytes(synthesize_flow(parameters).first, synthesize_flow(other).first));
}

TEST_P(FlowSynthTest, NoVectorIsLongerThanTheLongestMotion) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const FlowSynthPair pair = synthesize_flow(of(GetParam(), {64, 48}, seed));
    EXPECT_LE(longest_vector(pair.truth.view()), 8) << seed;
    EXPECT_GT(longest_vector(pair.truth.view()), 0) << seed;
  }
}

// At half a pixel in any direction from the truth, frames agree less.
TEST_P(FlowSynthTest, VectorsLeadToTheSameColours) {
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const FlowSynthPair pair = synthesize_flow(of(GetParam(), {160, 120}, seed));
    const double here = mean_difference(pair);
    EXPECT_LT(here, 2.5) << seed;
    for (const auto& [columns, rows] : {std::pair{0.5, 0.0}, {-0.5, 0.0}, {0.0, 0.5}, {0.0, -0.5}})
      EXPECT_GT(mean_difference(pair, columns, rows), 1.5 * here) << seed << ": " << columns << ", " << rows;
  }
}

TEST_P(FlowSynthTest, PixelsSeenInBothFramesStayInside) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const FlowSynthPair pair = synthesize_flow(of(GetParam(), {64, 48}, seed));
    EXPECT_GT(share_of(pair.mask, 255), 0.5);
    EXPECT_DOUBLE_EQ(share_of(pair.mask, 255) + share_of(pair.mask, 128), 1);
    for (int y = 0; y < 48; ++y)
      for (int x = 0; x < 64; ++x) {
        const float to_x = static_cast<float>(x) + pair.truth.u.at(x, y),
                    to_y = static_cast<float>(y) + pair.truth.v.at(x, y);
        if (to_x < 0 || to_y < 0 || to_x > 63.001f || to_y > 47.001f) {
          ASSERT_EQ(pair.mask.at(x, y), 128) << x << ", " << y;
        }
      }
  }
}

TEST_P(FlowSynthTest, ExposureScalesTheSecondFrame) {
  FlowSynthParameters parameters = of(GetParam(), {40, 30});
  const FlowSynthPair usual = synthesize_flow(parameters);
  parameters.exposure = 0.5f;
  const FlowSynthPair dark = synthesize_flow(parameters);
  EXPECT_TRUE(same_bytes(dark.first, usual.first));
  EXPECT_TRUE(same_bytes(dark.truth.u, usual.truth.u));
  for (int y = 0; y < 30; ++y)
    for (int i = 0; i < 120; ++i) ASSERT_NEAR(dark.second.at(i, y), usual.second.at(i, y) / 2.0, 0.5);
}

TEST_P(FlowSynthTest, NoiseHasItsStandardDeviationInBothFrames) {
  FlowSynthParameters parameters = of(GetParam());
  const FlowSynthPair clean = synthesize_flow(parameters);
  parameters.noise = 6;
  const FlowSynthPair noisy = synthesize_flow(parameters);
  EXPECT_TRUE(same_bytes(noisy.truth.v, clean.truth.v));
  double product = 0;
  std::vector<std::vector<double>> noises;
  for (const auto frame : {&FlowSynthPair::first, &FlowSynthPair::second}) {
    std::vector<double> noise;
    double sum = 0, squares = 0;
    for (int y = 0; y < 72; ++y)
      for (int i = 0; i < 288; ++i) {
        const int level = (clean.*frame).at(i, y);
        noise.push_back((noisy.*frame).at(i, y) - level);
        if (level < 30 || level > 225) continue;  // these may be clipped
        sum += noise.back();
        squares += noise.back() * noise.back();
      }
    const auto count = static_cast<double>(noise.size());
    EXPECT_NEAR(sum / count, 0, 0.3);
    EXPECT_NEAR(std::sqrt(squares / count), 6, 1);
    noises.push_back(std::move(noise));
  }
  for (std::size_t i = 0; i < noises[0].size(); ++i) product += noises[0][i] * noises[1][i];
  EXPECT_LT(std::abs(product / static_cast<double>(noises[0].size())), 2)
      << "the frames have noise of their own";
}

// Adjacent seeds also have their own noise.
TEST(FlowSynthNoiseTest, IsTheSameInNoTwoFrames) {
  std::vector<std::vector<int>> noises;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    FlowSynthParameters parameters = of(FlowScene::translation, {48, 32}, seed);
    const FlowSynthPair clean = synthesize_flow(parameters);
    parameters.noise = 6;
    const FlowSynthPair noisy = synthesize_flow(parameters);
    for (const auto frame : {&FlowSynthPair::first, &FlowSynthPair::second}) {
      std::vector<int>& noise = noises.emplace_back();
      for (int y = 0; y < 32; ++y)
        for (int i = 0; i < 144; ++i) noise.push_back((noisy.*frame).at(i, y) - (clean.*frame).at(i, y));
    }
  }
  for (std::size_t a = 0; a < noises.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const double product = std::inner_product(noises[a].begin(), noises[a].end(), noises[b].begin(), 0.0);
      EXPECT_LT(std::abs(product / static_cast<double>(noises[a].size())), 4) << a << ", " << b;
    }
}

TEST(FlowSynthScenesTest, ATranslationIsTheSameEverywhere) {
  const FlowSynthPair pair = synthesize_flow(of(FlowScene::translation));
  for (int y = 0; y < 72; ++y)
    for (int x = 0; x < 96; ++x) {
      ASSERT_NEAR(pair.truth.u.at(x, y), pair.truth.u.at(0, 0), 1e-5);
      ASSERT_NEAR(pair.truth.v.at(x, y), pair.truth.v.at(0, 0), 1e-5);
    }
}

TEST(FlowSynthScenesTest, ARotationTurnsAndAZoomGrows) {
  const FlowSynthPair turned = synthesize_flow(of(FlowScene::rotation, {97, 73}));
  const FlowSynthPair grown = synthesize_flow(of(FlowScene::zoom, {97, 73}));
  for (const FlowSynthPair* pair : {&turned, &grown})
    EXPECT_NEAR(std::hypot(pair->truth.u.at(48, 36), pair->truth.v.at(48, 36)), 0, 1e-5)
        << "the middle stays";
  for (int y = 0; y < 73; y += 9)
    for (int x = 0; x < 97; x += 8) {
      const double right = x - 48.0, down = y - 36.0;
      ASSERT_NEAR(std::hypot(right + turned.truth.u.at(x, y), down + turned.truth.v.at(x, y)),
                  std::hypot(right, down), 1e-4);
      ASSERT_NEAR(right * grown.truth.v.at(x, y), down * grown.truth.u.at(x, y), 1e-3);
      ASSERT_GE(right * grown.truth.u.at(x, y) + down * grown.truth.v.at(x, y), 0);
    }
}

TEST(FlowSynthScenesTest, ThingsInFrontHideWhatTheyMoveOver) {
  for (const FlowScene scene : {FlowScene::layers, FlowScene::thin}) {
    const FlowSynthPair pair = synthesize_flow(of(scene, {160, 120}));
    int hidden = 0;
    for (int y = 10; y < 110; ++y)
      for (int x = 10; x < 150; ++x) hidden += pair.mask.at(x, y) == 128;
    EXPECT_GT(hidden, 50) << names[static_cast<int>(scene)];
  }
}

// The hashes are from the first version that rendered these scenes, and hold for all machines, compilers and
// versions.
TEST(FlowSynthBytesTest, AreTheSameOnEveryMachine) {
  const auto hash = [](FlowScene scene) {
    FlowSynthParameters parameters = of(scene, {37, 29}, 7);
    parameters.noise = 3;
    parameters.exposure = 1.25f;
    const FlowSynthPair pair = synthesize_flow(parameters);
    std::uint64_t hash = 0xcbf29ce484222325u;
    const auto add = [&](const auto& plane) {
      for (int y = 0; y < plane.height(); ++y) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(plane.row(y));
        for (std::size_t i = 0; i < static_cast<std::size_t>(plane.width()) * sizeof(*plane.row(y)); ++i)
          hash = (hash ^ bytes[i]) * 0x100000001b3u;
      }
    };
    add(pair.first);
    add(pair.second);
    add(pair.truth.u);
    add(pair.truth.v);
    add(pair.mask);
    return hash;
  };
  EXPECT_EQ(hash(FlowScene::translation), 0x6681d0b758f4cdcbu);
  EXPECT_EQ(hash(FlowScene::rotation), 0x9d4b845ccc0465b0u);
  EXPECT_EQ(hash(FlowScene::zoom), 0x3e5f54d62befb047u);
  EXPECT_EQ(hash(FlowScene::layers), 0xd7b0e599db086e9au);
  EXPECT_EQ(hash(FlowScene::thin), 0x9c48e9c261821369u);
}

TEST(FlowSceneTest, NamesAreRead) {
  for (std::size_t i = 0; i < std::size(names); ++i) EXPECT_EQ(parse_flow_scene(names[i]), all_scenes[i]);
  for (const std::string name : {"", "Zoom", "dots"})
    expect_refused([&] { parse_flow_scene(name); },
                   "scene is " + name + ": choose translation, rotation, zoom, layers or thin");
}

TEST(FlowSynthParametersTest, FieldsOutOfRangeAreNamed) {
  const auto refused = [](auto change, std::string_view reason) {
    FlowSynthParameters parameters;
    change(parameters);
    expect_refused([&] { synthesize_flow(parameters); }, reason);
  };
  refused([](auto& p) { p.size = {0, 5}; }, "width is 0: choose a number from 1 to 1000000");
  refused([](auto& p) { p.size = {5, 1'000'001}; }, "height is 1000001: choose");
  refused([](auto& p) { p.scene = static_cast<FlowScene>(9); }, "scene is 9: choose");
  refused([](auto& p) { p.motion = -1; }, "motion is -1: choose");
  refused([](auto& p) { p.noise = std::nanf(""); }, "noise is nan: choose");
  refused([](auto& p) { p.exposure = 0; }, "exposure is 0: choose");
}

}  // namespace
}  // namespace parallax::test
