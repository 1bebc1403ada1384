// SPDX-License-Identifier: Apache-2.0
#include "parallax/synth.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax {
namespace {

template <class T>
std::uint64_t fnv(const Plane<T>& plane, std::uint64_t hash) {
  for (int y = 0; y < plane.height(); ++y) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(plane.row(y));
    for (std::size_t i = 0; i < static_cast<std::size_t>(plane.width()) * sizeof(T); ++i)
      hash = (hash ^ bytes[i]) * 0x100000001b3u;
  }
  return hash;
}

// The FNV-1a hash of all rendered rows, without padding.
std::uint64_t hash_of(const SynthPair& pair) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const auto* plane : {&pair.left, &pair.right}) hash = fnv(*plane, hash);
  for (const auto* plane : {&pair.left_truth, &pair.right_truth}) hash = fnv(*plane, hash);
  for (const auto* plane : {&pair.left_mask, &pair.right_mask}) hash = fnv(*plane, hash);
  return hash;
}

std::size_t count(const Plane<std::uint8_t>& plane, int value) {
  std::size_t found = 0;
  for (int y = 0; y < plane.height(); ++y)
    for (int x = 0; x < plane.width(); ++x) found += plane.at(x, y) == value;
  return found;
}

std::string name_of(const ::testing::TestParamInfo<Scene>& info) {
  return info.param == Scene::dots ? "dots" : info.param == Scene::planes ? "planes" : "layers";
}

class SynthTest : public ::testing::TestWithParam<Scene> {
 protected:
  static SynthPair render(Size size, std::uint64_t seed = 1) {
    return synthesize({size, 16, GetParam(), seed});
  }
};

INSTANTIATE_TEST_SUITE_P(Scenes, SynthTest, ::testing::Values(Scene::dots, Scene::planes, Scene::layers),
                         name_of);

TEST_P(SynthTest, EverySizeIsRendered) {
  for (const Size size : {Size{1, 1}, Size{1, 9}, Size{9, 1}, Size{64, 48}}) {
    const SynthPair pair = render(size);
    EXPECT_EQ(pair.size(), size);
    const Size colour{3 * size.width, size.height};
    EXPECT_EQ(pair.left.size(), colour);
    EXPECT_EQ(pair.right.size(), colour);
    for (const Size plane :
         {pair.left_truth.size(), pair.right_truth.size(), pair.left_mask.size(), pair.right_mask.size()})
      EXPECT_EQ(plane, size);
  }
}

TEST_P(SynthTest, SeedDecidesEveryByte) {
  EXPECT_EQ(hash_of(render({64, 48}, 5)), hash_of(render({64, 48}, 5)));
  EXPECT_NE(hash_of(render({64, 48}, 5)), hash_of(render({64, 48}, 6)));
}

TEST_P(SynthTest, BandsOfRowsAreThoseOfTheWholePair) {
  const SynthParameters parameters{{64, 48}, 16, GetParam(), 5};
  const SynthPair whole = synthesize(parameters);
  const auto same = [](const auto& band, const auto& image, int first) {
    for (int y = 0; y < band.height(); ++y)
      if (!std::equal(band.row(y), band.row(y) + band.width(), image.row(first + y))) return false;
    return true;
  };
  for (int first = 0; first < 48; first += 13) {
    const SynthPair band = synthesize_rows(parameters, first, std::min(13, 48 - first));
    EXPECT_EQ(band.size(), (Size{64, std::min(13, 48 - first)}));
    EXPECT_TRUE(same(band.left, whole.left, first) && same(band.right, whole.right, first));
    EXPECT_TRUE(same(band.left_truth, whole.left_truth, first));
    EXPECT_TRUE(same(band.right_truth, whole.right_truth, first));
    EXPECT_TRUE(same(band.left_mask, whole.left_mask, first));
    EXPECT_TRUE(same(band.right_mask, whole.right_mask, first));
    EXPECT_EQ(band.calibration.height, 48);
    EXPECT_EQ(band.calibration.centre_y, whole.calibration.centre_y);
  }
  EXPECT_THROW(synthesize_rows(parameters, 48, 1), Error);
  EXPECT_THROW(synthesize_rows(parameters, 40, 9), Error);
}

TEST_P(SynthTest, MasksAreSeenOrOccluded) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const SynthPair pair = render({64, 48}, seed);
    for (const auto* mask : {&pair.left_mask, &pair.right_mask}) {
      EXPECT_EQ(count(*mask, 255) + count(*mask, 128), mask->size().pixels());
      EXPECT_GT(count(*mask, 255), 0u);
      EXPECT_GT(count(*mask, 128), 0u);
    }
  }
}

TEST_P(SynthTest, LeftTruthIsInTheSearchRange) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const Size size : {Size{1, 1}, Size{1, 9}, Size{64, 48}}) {
      const SynthPair pair = render(size, seed);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          for (const auto* truth : {&pair.left_truth, &pair.right_truth})
            ASSERT_TRUE(truth->at(x, y) >= 0 && truth->at(x, y) <= 15) << truth->at(x, y);
    }
  }
}

TEST_P(SynthTest, PixelSeenByBothHasItsPartnerInTheOtherImage) {
  const SynthPair pair = render({64, 48});
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      const float to = static_cast<float>(x) - pair.left_truth.at(x, y);
      EXPECT_TRUE(pair.left_mask.at(x, y) == 128 || (to >= 0 && to <= 63)) << x << ", " << y;
      const float from = static_cast<float>(x) + pair.right_truth.at(x, y);
      EXPECT_TRUE(pair.right_mask.at(x, y) == 128 || (from >= 0 && from <= 63)) << x << ", " << y;
    }
  }
}

TEST_P(SynthTest, TruthsOfBothViewsAgreeAwayFromEdges) {
  const SynthPair pair = render({64, 48});
  int seen = 0, agreeing = 0;
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      if (pair.left_mask.at(x, y) == 128) continue;
      ++seen;
      // Along a row, the disparity of a plane is linear in the columns of either view.
      const float disparity = pair.left_truth.at(x, y);
      const float column = static_cast<float>(x) - disparity;
      const int before = static_cast<int>(column);
      const float share = column - static_cast<float>(before);
      const float* truth = pair.right_truth.row(y);
      const float expected =
          share == 0 ? truth[before] : truth[before] * (1 - share) + truth[before + 1] * share;
      agreeing += std::abs(expected - disparity) < 1e-4f;
    }
  }
  EXPECT_GT(agreeing, 0.8 * seen);
}

TEST_P(SynthTest, OneDisparityIsZeroEverywhere) {
  const SynthPair pair = synthesize({{64, 48}, 1, GetParam(), 3});
  for (int y = 0; y < 48; ++y) {
    EXPECT_EQ(std::memcmp(pair.left.row(y), pair.right.row(y), 3 * 64), 0);
    for (int x = 0; x < 64; ++x) {
      EXPECT_EQ(pair.left_truth.at(x, y), 0.0f);
      EXPECT_EQ(pair.right_truth.at(x, y), 0.0f);
    }
  }
}

TEST_P(SynthTest, CalibrationDescribesThePair) {
  const Calibration c = render({64, 48}).calibration;
  EXPECT_EQ(c.width, 64);
  EXPECT_EQ(c.height, 48);
  EXPECT_EQ(c.disparities, 16);
  EXPECT_EQ(c.doffs, 0);
  EXPECT_EQ(c.centre_x, 31.5);
  EXPECT_EQ(c.centre_y, 23.5);
  EXPECT_GT(depth(c, 1), 0);
}

TEST_P(SynthTest, ViewsShowTheColours) {
  const SynthPair pair = render({64, 48});
  EXPECT_EQ(pair.left_view().format, (ImageFormat{{64, 48}, BitDepth::bits8}));
  EXPECT_EQ(pair.left_view().channels, 3);
  EXPECT_EQ(pair.left_view().row(47), pair.left.row(47));
  EXPECT_EQ(pair.right_view().row(47), pair.right.row(47));
}

// The hashes are from the first version that rendered these scenes, and hold for all machines, compilers and
// versions.
TEST(SynthBytesTest, AreTheSameOnEveryMachine) {
  EXPECT_EQ(hash_of(synthesize({{37, 29}, 16, Scene::dots, 7})), 0xd96ff6efee70b4cdu);
  EXPECT_EQ(hash_of(synthesize({{37, 29}, 16, Scene::planes, 7})), 8957207005644225528u);
  EXPECT_EQ(hash_of(synthesize({{37, 29}, 16, Scene::layers, 7})), 0x4daff0e385587044u);
}

TEST(SynthDotsTest, LeftMaskTruthAndColourAgreePixelByPixel) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const SynthPair pair = synthesize({{64, 48}, 16, Scene::dots, seed});
    for (int y = 0; y < 48; ++y) {
      for (int x = 0; x < 64; ++x) {
        const float disparity = pair.left_truth.at(x, y);
        ASSERT_EQ(disparity, std::floor(disparity));
        const int to = x - static_cast<int>(disparity);
        const bool seen = to >= 0 && pair.right_truth.at(to, y) == disparity;
        ASSERT_EQ(pair.left_mask.at(x, y), seen ? 255 : 128) << x << ", " << y;
        if (!seen) continue;
        ASSERT_EQ(std::memcmp(pair.left.row(y) + 3 * x, pair.right.row(y) + 3 * to, 3), 0) << x << ", " << y;
      }
    }
  }
}

TEST(SynthDotsTest, RightMaskAndTruthAgreePixelByPixel) {
  const SynthPair pair = synthesize({{64, 48}, 16, Scene::dots, 4});
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      const int from = x + static_cast<int>(pair.right_truth.at(x, y));
      const bool seen = from < 64 && pair.left_truth.at(from, y) == pair.right_truth.at(x, y);
      ASSERT_EQ(pair.right_mask.at(x, y), seen ? 255 : 128) << x << ", " << y;
    }
  }
}

TEST(SynthDotsTest, DotsAreGray) {
  const SynthPair pair = synthesize({{64, 48}, 16, Scene::dots, 4});
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      const std::uint8_t* colour = pair.left.row(y) + 3 * x;
      ASSERT_TRUE(colour[0] == colour[1] && colour[1] == colour[2]);
    }
  }
}

TEST(SynthLayersTest, NearSurfacesHideFarOnes) {
  const SynthPair pair = synthesize({{64, 48}, 16, Scene::layers, 1});
  std::size_t hidden_inside = 0;
  for (int y = 0; y < 48; ++y)
    for (int x = 16; x < 64; ++x) hidden_inside += pair.left_mask.at(x, y) == 128;
  EXPECT_GT(hidden_inside, 0u);
}

TEST(SynthPlanesTest, FractionsOfAPixelOccur) {
  const SynthPair pair = synthesize({{64, 48}, 16, Scene::planes, 1});
  bool tenths[10] = {};
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      const float disparity = pair.left_truth.at(x, y);
      tenths[static_cast<int>(10 * (disparity - std::floor(disparity)))] = true;
    }
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(tenths[i]) << i;
}

TEST(SceneTest, NamesAreRead) {
  EXPECT_EQ(parse_scene("dots"), Scene::dots);
  EXPECT_EQ(parse_scene("planes"), Scene::planes);
  EXPECT_EQ(parse_scene("layers"), Scene::layers);
}

TEST(SceneTest, OtherNamesAreRefused) {
  for (const std::string name : {"", "Dots", "layer"})
    test::expect_refused([&] { parse_scene(name); }, "scene is " + name + ": choose dots, planes or layers");
}

TEST(SynthParametersTest, FieldsOutOfRangeAreNamed) {
  struct Case {
    SynthParameters parameters;
    std::string message;
  };
  for (const Case& c : {Case{{{0, 5}, 16}, "width is 0: choose a number from 1 to 1000000"},
                        {{{1'000'001, 5}, 16}, "width is 1000001: choose"},
                        {{{5, -1}, 16}, "height is -1: choose"},
                        {{{5, 5}, 0}, "disparities is 0: choose a number from 1 to 1000000"},
                        {{{5, 5}, 1'000'001}, "disparities is 1000001: choose"},
                        {{{5, 5}, 16, static_cast<Scene>(9)}, "scene is 9: choose a value of"}})
    test::expect_refused([&] { synthesize(c.parameters); }, c.message);
}

}  // namespace
}  // namespace parallax
