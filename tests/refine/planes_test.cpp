// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/device.h"
#include "parallax/matcher.h"

#include "refine/maps.h"
#include "support.h"

namespace parallax::test {
namespace {

using decision::code;

struct Surface {
  float a, b, c;
  float at(int x, int y) const { return a * static_cast<float>(x) + b * static_cast<float>(y) + c; }
};

// A plane in front of a background: in the left half of the image, which is dark, and in the right half,
// which is bright.
constexpr Surface dark{0.125f, -0.25f, 40}, bright{-0.5f, 0.0625f, -30};

struct Scene {
  Map map;
  std::vector<std::uint8_t> pixels;

  explicit Scene(Size size) : map(size), pixels(size.pixels() * 3) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        map.view().disparity.at(x, y) = surface_at(x).at(x, y);
        map.view().status.at(x, y) = code(Status::matched);
        std::uint8_t* pixel = &pixels[3 * (static_cast<std::size_t>(y) * size.width + x)];
        pixel[0] = 40;
        pixel[1] = is_dark(x) ? 60 : 180;
        pixel[2] = 90;
      }
    }
  }

  bool is_dark(int x) const { return x < map.size.width / 2; }
  const Surface& surface_at(int x) const { return is_dark(x) ? dark : bright; }
  ImageView left() const { return {pixels.data(), {map.size, BitDepth::bits8}, 3, 3 * map.size.width}; }

  void reject(int x, int y, Status status = Status::inconsistent) {
    map.view().disparity.at(x, y) = none;
    map.view().status.at(x, y) = code(status);
  }
  void reject(int left, int top, int right, int bottom) {
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x) reject(x, y);
  }
  float disparity(int x, int y) { return map.view().disparity.at(x, y); }
  Status status(int x, int y) { return static_cast<Status>(map.view().status.at(x, y)); }
};

void fill_by_reference(const DisparityMap& map, const ImageView& left) {
  Arena arena;
  refine::PlaneFill(map.disparity.size, arena);
  arena.allocate();
  refine::fill_planes_reference(map, left, refine::PlaneFill(map.disparity.size, arena));
}

class FillPlanesTest : public ::testing::Test {
 protected:
  void TearDown() override { force_cpu_target(""); }
};

TEST_F(FillPlanesTest, HolesTakeTheirOwnSurface) {
  Scene scene({151, 97});
  // One hole is on the edge between the surfaces, the others on the border of the image.
  scene.reject(60, 30, 95, 50);
  scene.reject(0, 0, 20, 12);
  scene.reject(140, 80, 151, 97);
  fill_planes(scene.map.view(), scene.left());
  int filled = 0;
  for (int y = 0; y < 97; ++y) {
    for (int x = 0; x < 151; ++x) {
      EXPECT_NEAR(scene.disparity(x, y), scene.surface_at(x).at(x, y), 2.0f / 256) << x << ", " << y;
      filled += scene.status(x, y) == Status::filled;
    }
  }
  EXPECT_EQ(filled, 35 * 20 + 20 * 12 + 11 * 17);
}

TEST_F(FillPlanesTest, PixelsWithAValueKeepItToTheBit) {
  Scene scene({151, 97});
  scene.reject(60, 30, 95, 50);
  for (int x = 0; x < 151; x += 3) scene.map.view().disparity.at(x, 10) = 0.1f * static_cast<float>(x);
  Map before = scene.map;
  fill_planes(scene.map.view(), scene.left());
  for (int y = 0; y < 97; ++y)
    for (int x = 0; x < 151; ++x)
      if (decision::has_value(before.view().disparity.at(x, y))) {
        EXPECT_EQ(scene.disparity(x, y), before.view().disparity.at(x, y));
        EXPECT_EQ(scene.status(x, y), Status::matched);
      }
}

TEST_F(FillPlanesTest, OutliersDoNotBendThePlane) {
  Scene scene({96, 96});
  scene.reject(20, 20, 40, 44);
  for (int y = 0; y < 96; y += 2)
    for (int x = 0; x < 96; x += 8) scene.map.view().disparity.at(x, y) += 17;
  fill_planes(scene.map.view(), scene.left());
  for (int y = 20; y < 44; ++y)
    for (int x = 20; x < 40; ++x) EXPECT_NEAR(scene.disparity(x, y), dark.at(x, y), 2.0f / 256);
}

TEST_F(FillPlanesTest, PixelsThatLookLikeNoSurfaceStayEmpty) {
  Scene scene({96, 64});
  scene.reject(20, 20, 30, 30);
  for (int y = 20; y < 30; ++y)
    for (int x = 20; x < 30; ++x) scene.pixels[3 * static_cast<std::size_t>(y * 96 + x)] = 250;
  fill_planes(scene.map.view(), scene.left());
  for (int y = 20; y < 30; ++y)
    for (int x = 20; x < 30; ++x) {
      EXPECT_EQ(scene.disparity(x, y), none);
      EXPECT_EQ(scene.status(x, y), Status::inconsistent);
    }
}

// The plane through the pixels around the hole rises to 64 there.
TEST_F(FillPlanesTest, ValuesAreCutToTheRangeOfTheSuperpixelsAround) {
  Scene scene({64, 64});
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x) scene.map.view().disparity.at(x, y) = static_cast<float>(x + 1);
  std::fill(scene.pixels.begin(), scene.pixels.end(), std::uint8_t{90});
  scene.reject(56, 0, 64, 64);
  fill_planes(scene.map.view(), scene.left());
  // Samples are in even columns.
  for (int x = 56; x < 64; ++x) EXPECT_EQ(scene.disparity(x, 30), 55) << x;
  scene.reject(56, 0, 64, 64);
  scene.map.view().disparity.at(0, 0) = 60;
  fill_planes(scene.map.view(), scene.left());
  for (int x = 56; x < 64; ++x) EXPECT_NEAR(scene.disparity(x, 30), std::min(x + 1, 60), 2.0f / 256) << x;
}

TEST_F(FillPlanesTest, MaskedPixelsStayEmpty) {
  Scene scene({64, 64});
  scene.reject(10, 10, 20, 20);
  scene.reject(12, 12, Status::input_masked);
  fill_planes(scene.map.view(), scene.left());
  EXPECT_EQ(scene.disparity(12, 12), none);
  EXPECT_EQ(scene.status(12, 12), Status::input_masked);
  EXPECT_EQ(scene.status(13, 12), Status::filled);
}

TEST_F(FillPlanesTest, MapsWithoutAnyValueStayAsTheyAre) {
  for (const Size size : {Size{1, 1}, Size{64, 3}, Size{70, 70}}) {
    Scene scene(size);
    scene.reject(0, 0, size.width, size.height);
    const Map before = scene.map;
    fill_planes(scene.map.view(), scene.left());
    EXPECT_EQ(first_difference(scene.map, before), "");
  }
}

TEST_F(FillPlanesTest, EmptyMapsAreAccepted) {
  float value = 0;
  std::uint8_t status = 0;
  for (const Size size : {Size{0, 0}, Size{5, 0}, Size{0, 5}}) {
    const DisparityMap map{View<float>(&value, size), View<std::uint8_t>(&status, size)};
    EXPECT_NO_THROW(fill_planes(map, View<const std::uint8_t>(&status, size)));
  }
}

// Surfaces, holes, noise and outliers, so that clusters meet every rule.
Map random_surfaces(Size size, unsigned seed) {
  Random random(seed);
  Map map(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const bool is_far = (x / 37 + y / 23) % 2 == 0;
      float value = is_far ? 0.37f * static_cast<float>(x) - 21.3f : 0.9f * static_cast<float>(y) - 50.6f;
      value += static_cast<float>(random.below(256)) / 128;
      if (random.one_in(12)) value = static_cast<float>(random.below(4000)) / 16 - 100;
      const bool is_hole = random.one_in(4) || (x / 50 + y / 40) % 3 == 0;
      map.view().disparity.at(x, y) = is_hole ? none : value;
      map.view().status.at(x, y) = static_cast<std::uint8_t>(is_hole ? random.below(status_count) : 0);
    }
  }
  return map;
}

TEST_F(FillPlanesTest, EqualsTheReferenceOnEveryTargetAndNumberOfThreads) {
  std::vector<std::string> targets = cpu_targets();
  targets.push_back("");
  int filled = 0;
  for (const Size size :
       {Size{1, 1}, Size{2, 1}, Size{1, 40}, Size{33, 31}, Size{64, 64}, Size{65, 97}, Size{211, 131}}) {
    for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16}) {
      const Guide guide =
          random_patches(size, depth, size.width % 2 == 0 || depth == BitDepth::bits16 ? 3 : 1);
      const std::vector<std::byte> bytes = guide.bytes();
      const Map map = random_surfaces(size, static_cast<unsigned>(size.width));
      Map expected = map;
      fill_by_reference(expected.view(), guide.at(bytes.data()));
      for (std::size_t i = 0; i < map.disparities.size(); ++i)
        filled += map.disparities[i] != expected.disparities[i];
      for (const std::string& target : targets) {
        force_cpu_target(target);
        for (const int threads : {1, 3}) {
          Map actual = map;
          fill_planes(actual.view(), guide.at(bytes.data()), threads);
          EXPECT_EQ(first_difference(actual, expected), "")
              << target << ", " << size.width << ", " << threads;
        }
      }
    }
  }
  EXPECT_GT(filled, 4000);
}

TEST_F(FillPlanesTest, EqualsTheReferenceForEveryKindOfMap) {
  for (const Picture& picture : pictures) {
    const Size size{131, 77};
    const Guide guide(size, BitDepth::bits8, 3);
    const std::vector<std::byte> bytes = guide.bytes();
    Map expected = random_map(picture, size, 5), actual = expected;
    fill_by_reference(expected.view(), guide.at(bytes.data()));
    fill_planes(actual.view(), guide.at(bytes.data()));
    EXPECT_EQ(first_difference(actual, expected), "") << picture;
  }
}

// Noise, so that pixels are nearly as far from one superpixel as from the next.
std::vector<std::byte> noise(Size size, unsigned seed) {
  Random random(seed);
  std::vector<std::byte> bytes(size.pixels());
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

// A slanted surface with noise and holes.
Map random_slant(Size size, unsigned seed) {
  Random random(seed);
  Map map(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const float noise = 0.1f * static_cast<float>(random.below(10));
      const float value = 0.1f * static_cast<float>(x) + 0.01f * static_cast<float>(y) + noise;
      const bool is_hole = random.one_in(2);
      map.view().disparity.at(x, y) = is_hole ? none : value;
      map.view().status.at(x, y) = code(is_hole ? Status::inconsistent : Status::matched);
    }
  return map;
}

// The first row that the fill changes if the map and the image end at row `cut`.
int first_row_changed_by_a_cut(unsigned seed, int cut) {
  const Size size{70, 640};
  const std::vector<std::byte> bytes = noise(size, seed);
  const ImageView left(bytes.data(), {size, BitDepth::bits8}, 1, size.width);
  Map complete = random_slant(size, seed), part = complete;
  fill_planes(complete.view(), left);
  const Size top{size.width, cut};
  View<float> disparity = part.view().disparity;
  View<std::uint8_t> status = part.view().status;
  disparity.size = status.size = top;
  fill_planes({disparity, status}, {bytes.data(), {top, BitDepth::bits8}, 1, size.width});
  for (int y = 0; y < cut; ++y)
    for (int x = 0; x < size.width; ++x)
      if (disparity.at(x, y) != complete.view().disparity.at(x, y)) return y;
  return cut;
}

TEST_F(FillPlanesTest, ReachesAsFarAsItSays) {
  int farthest = 0;
  for (const int cut : {320, 350}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const int reached = cut - first_row_changed_by_a_cut(seed, cut);
      EXPECT_LE(reached, refine::plane_reach) << cut << ", " << seed;
      farthest = std::max(farthest, reached);
    }
  }
  EXPECT_GT(farthest, refine::plane_reach - refine::cell_side);
}

TEST_F(FillPlanesTest, BadArgumentsAreRefused) {
  Scene scene({20, 10});
  const Plane<std::uint8_t> other({20, 11});
  expect_refused([&] { fill_planes(scene.map.view(), other.view()); }, "guide is 20×11, the map 20×10");
}

TEST_F(FillPlanesTest, WhatIsLeftIsFilledInDirections) {
  Scene scene({96, 64});
  scene.reject(20, 20, 30, 30);
  scene.reject(60, 20, 70, 30);
  for (int x = 60; x < 70; ++x) scene.pixels[3 * static_cast<std::size_t>(25 * 96 + x)] = 250;
  Map expected = scene.map;
  fill_planes(expected.view(), scene.left());
  fill_directions(expected.view(), scene.left());
  RefineParameters parameters = RefineParameters::none();
  parameters.fill = Fill::planes;
  EXPECT_EQ(first_difference(refined_on_cpu(parameters, {scene.left(), {}}, scene.map, scene.map), expected),
            "");
  EXPECT_EQ(std::count(expected.disparities.begin(), expected.disparities.end(), none), 0);
}

}  // namespace
}  // namespace parallax::test
