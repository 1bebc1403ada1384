// SPDX-License-Identifier: Apache-2.0
#include "refine/unseen.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax {
namespace {

using decision::code, decision::has_value;
constexpr float nothing = decision::no_value;

// A map and its left image. At first, all is textured and has the disparity 5.
struct Scene {
  Plane<float> disparity;
  Plane<std::uint8_t> status, image;
  std::mt19937 random{7};

  explicit Scene(Size size) : disparity(size), status(size), image(size) {
    for_each({0, 0}, size, [&](int x, int y) {
      disparity.at(x, y) = 5;
      status.at(x, y) = code(Status::matched);
      image.at(x, y) = static_cast<std::uint8_t>(test::random_number(random, 0, 255));
    });
  }

  template <class Each>
  static void for_each(Size from, Size to, const Each& each) {
    for (int y = from.height; y < to.height; ++y)
      for (int x = from.width; x < to.width; ++x) each(x, y);
  }

  // The upper half is a sky of one gray level, give or take `noise`; a quarter of its pixels have a value,
  // any one from 0 to 99 for a whole row of blocks.
  void draw_sky(int noise) {
    for_each({0, 0}, {image.width(), image.height() / 2}, [&](int x, int y) {
      image.at(x, y) = static_cast<std::uint8_t>(200 + test::random_number(random, -noise, noise));
      const bool is_matched = x % 2 == 0 && y % 2 == 0;
      disparity.at(x, y) = is_matched ? static_cast<float>(y / 4 * 37 % 100) : nothing;
      status.at(x, y) = code(is_matched ? Status::matched : Status::inconsistent);
    });
  }

  // The sky's values are all `value`.
  void match_sky(float value) {
    for_each({0, 0}, {image.width(), image.height() / 2}, [&](int x, int y) {
      if (has_value(disparity.at(x, y))) disparity.at(x, y) = value;
    });
  }

  DisparityMap map() { return {disparity.view(), status.view()}; }
  void reject(int threads = 1) { reject_unseen(map(), image.view(), threads); }

  int matched_in(int first_row, int end_row) {
    int count = 0;
    for_each({0, first_row}, {image.width(), end_row},
             [&](int x, int y) { count += has_value(disparity.at(x, y)) ? 1 : 0; });
    return count;
  }
};

constexpr Size size{80, 64};
constexpr int horizon = size.height / 2;

TEST(RejectUnseenTest, ASkyBecomesTexturelessAndNothingElse) {
  for (const int noise : {0, 1, 3}) {
    Scene scene(size);
    scene.draw_sky(noise);
    scene.reject();
    // Noise sets a block of a few values apart.
    EXPECT_LE(scene.matched_in(0, horizon), noise < 3 ? 0 : 8) << noise;
    EXPECT_EQ(scene.matched_in(horizon, size.height), size.width * horizon) << noise;
    EXPECT_EQ(scene.status.at(3, 3), code(Status::textureless));
    EXPECT_EQ(scene.status.at(3, horizon), code(Status::matched));
  }
}

TEST(RejectUnseenTest, AWallWhoseValuesAgreeStays) {
  Scene scene(size);
  scene.draw_sky(0);
  scene.match_sky(9);
  const int before = scene.matched_in(0, horizon);
  scene.reject();
  EXPECT_EQ(scene.matched_in(0, horizon), before);
}

TEST(RejectUnseenTest, ABlankRegionThatIsMatchedStays) {
  Scene scene(size);
  scene.draw_sky(0);
  Scene::for_each({0, 0}, {size.width, horizon}, [&](int x, int y) {
    if (x % 2 == 0) scene.disparity.at(x, y) = static_cast<float>(y / 4 * 37 % 100);
  });
  scene.reject();
  EXPECT_EQ(scene.matched_in(0, horizon), size.width * horizon / 2);
}

TEST(RejectUnseenTest, TextureAndSmallRegionsStay) {
  Scene textured(size);
  textured.draw_sky(100);
  const int before = textured.matched_in(0, horizon);
  textured.reject();
  EXPECT_EQ(textured.matched_in(0, horizon), before);

  // Three blocks of 320 are less than a hundredth.
  Scene small(size);
  for (int i = 0; i < 3; ++i)
    Scene::for_each({4 * i, 0}, {4 * i + 4, 4}, [&](int x, int y) {
      small.image.at(x, y) = 90;
      small.disparity.at(x, y) = x == 4 * i && y == 0 ? static_cast<float>(40 * i) : nothing;
    });
  small.reject();
  EXPECT_EQ(small.matched_in(0, 4), size.width * 4 - 3 * 15);
}

TEST(RejectUnseenTest, MaskedPixelsKeepTheirStatus) {
  Scene scene(size);
  scene.draw_sky(0);
  scene.status.at(1, 1) = code(Status::input_masked);
  scene.reject();
  EXPECT_EQ(scene.status.at(1, 1), code(Status::input_masked));
  EXPECT_EQ(scene.status.at(2, 1), code(Status::textureless));
}

TEST(RejectUnseenTest, TheImageHasTheSizeOfTheMap) {
  Scene scene(size);
  const Plane<std::uint8_t> other({8, 8});
  EXPECT_THROW(reject_unseen(scene.map(), other.view()), Error);
}

// Regions of all shapes, whose means change along the way, and negative values.
Scene stripes(Size extent, int levels) {
  Scene scene(extent);
  Scene::for_each({0, 0}, extent, [&](int x, int y) {
    scene.image.at(x, y) = static_cast<std::uint8_t>(x / 9 * levels + y / 7 % 2);
    const int value = test::random_number(scene.random, -60, 60);
    scene.disparity.at(x, y) =
        value % 3 == 0 ? static_cast<float>(value) / 4 * static_cast<float>(y / 4 * 5 % 7) : nothing;
  });
  return scene;
}

TEST(RejectUnseenTest, EqualsTheReferenceForAnyNumberOfThreads) {
  int rejected = 0;
  for (const Size extent : {Size{1, 1}, Size{3, 50}, Size{61, 5}, Size{90, 71}}) {
    for (const int levels : {1, 4, 12}) {
      Scene expected = stripes(extent, levels);
      Arena arena;
      refine::UnseenBlocks(extent, arena);
      arena.allocate();
      refine::reject_unseen_reference(expected.map(), expected.image.view(),
                                      refine::UnseenBlocks(extent, arena));
      Plane<float> farthest(extent), expected_farthest(extent);
      refine::find_farthest_reference(expected.map(), expected_farthest.view());
      for (const int threads : {1, 3}) {
        Scene found = stripes(extent, levels);
        found.reject(threads);
        refine::find_farthest(found.map(), farthest.view(), Workers(threads));
        Scene::for_each({0, 0}, extent, [&](int x, int y) {
          ASSERT_EQ(found.disparity.at(x, y), expected.disparity.at(x, y)) << x << ", " << y;
          ASSERT_EQ(found.status.at(x, y), expected.status.at(x, y)) << x << ", " << y;
          ASSERT_EQ(farthest.at(x, y), expected_farthest.at(x, y)) << x << ", " << y;
          rejected += found.status.at(x, y) == code(Status::textureless) ? 1 : 0;
        });
      }
    }
  }
  EXPECT_GT(rejected, 1000);
}

// Farthest values: 5 below, 3 at the right; the lower of the two wins.
TEST(RejectUnseenTest, TexturelessPixelsTakeTheLowestValueAroundThem) {
  Scene scene(size);
  scene.draw_sky(0);
  scene.reject();
  for (int y = 0; y < horizon; ++y) scene.disparity.at(size.width - 1, y) = 3;
  Plane<float> farthest(size);
  refine::find_farthest(scene.map(), farthest.view(), Workers(1));
  EXPECT_EQ(farthest.at(0, 0), 3);
  EXPECT_EQ(farthest.at(0, horizon), -nothing);
  refine::take_farthest(scene.map(), farthest.view(), Workers(1));
  EXPECT_EQ(scene.disparity.at(0, 0), 3);
  EXPECT_EQ(scene.status.at(0, 0), code(Status::filled));
  EXPECT_EQ(scene.disparity.at(0, horizon), 5);
}

}  // namespace
}  // namespace parallax
