// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "conformance/random_case.h"
#include "devices/devices.h"
#include "refine/maps.h"
#include "support.h"

namespace parallax {
namespace {

using namespace test;

TEST(RefitTest, NewDisparityIsTheMeanOfTheOldOneAndTheTipOfAV) {
  EXPECT_EQ(refine::refitted(5.5f, 5, {10, 4, 7}), (5.25f + 5.5f) / 2);
  EXPECT_EQ(refine::refitted(5.5f, 5, {7, 4, 10}), (4.75f + 5.5f) / 2);
  EXPECT_EQ(refine::refitted(-3, -3, {8, 4, 8}), -3);
  EXPECT_EQ(refine::refitted(-3, -3, {4, 4, 8}), -3.25f);
  EXPECT_EQ(refine::refitted(-3, -3, {8, 4, 4}), -2.75f);
}

TEST(RefitTest, OldDisparityStaysWhereTheLabelIsNotBest) {
  EXPECT_EQ(refine::refitted(5.25f, 5, {3, 4, 7}), 5.25f);
  EXPECT_EQ(refine::refitted(5.25f, 5, {7, 4, 3}), 5.25f);
  EXPECT_EQ(refine::refitted(5.25f, 5, {4, 4, 4}), 5.25f);
  EXPECT_EQ(refine::refitted(5.25f, 5, {0, 0, 0}), 5.25f);
}

// A smooth texture; the right view shows it shifted by any number of pixels.
class Texture {
 public:
  Texture(Size size, float shift) : left_(size), right_(size) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        left_.at(x, y) = level(static_cast<float>(x), y);
        right_.at(x, y) = level(static_cast<float>(x) + shift, y);
      }
  }
  StereoPair views() const { return {left_.view(), right_.view()}; }

 private:
  static std::uint16_t level(float x, int y) {
    const auto row = static_cast<float>(y);
    float sum = 0;
    for (int wave = 1; wave <= 6; ++wave) {
      const auto i = static_cast<float>(wave);
      sum += std::sin(x * (0.25f + 0.13f * i) + row * (1.7f - 0.45f * i) + 2 * i * i);
    }
    return static_cast<std::uint16_t>(32768 + 5000 * sum);
  }

  Plane<std::uint16_t> left_, right_;
};

// The mean of the new fractions in the middle of a map of the label `label`.
float mean_fraction(float shift, float label, int window) {
  const Size size{120, 40};
  const Texture texture(size, shift);
  Plane<float> map(size, label);
  refit(map.view(), texture.views(), window);
  float sum = 0;
  int count = 0;
  for (int y = 10; y < size.height - 10; ++y)
    for (int x = 30; x < size.width - 30; ++x, ++count) sum += map.at(x, y) - label;
  return sum / static_cast<float>(count);
}

TEST(RefitTest, FindsHalfTheFractionOfAShiftedTexture) {
  for (const int window : {7, 15})
    for (const int label : {5, -4, 0})
      for (const float fraction : {-0.4f, -0.25f, 0.0f, 0.2f, 0.35f}) {
        const auto middle = static_cast<float>(label);
        EXPECT_NEAR(mean_fraction(middle + fraction, middle, window), fraction / 2, 0.03f)
            << window << ", " << label << ", " << fraction;
      }
}

TEST(RefitTest, LabelIsTheNearestAndTheLowerOfTwo) {
  // The label of 5.5 is 5: a texture at 6.2 is nearer to the label after it.
  const Size size{60, 20};
  for (const auto& [shift, value, changes] :
       {std::tuple{5.2f, 5.5f, true}, {6.2f, 5.5f, false}, {6.2f, 5.51f, true}}) {
    const Texture texture(size, shift);
    Plane<float> map(size, value);
    refit(map.view(), texture.views(), 7);
    EXPECT_EQ(map.at(30, 10) != value, changes) << shift << ", " << value;
  }
}

// Random images and masks, and a map of surfaces, noise and pixels without a value.
struct Problem {
  RandomPair images;
  Plane<float> map;

  Problem(Size size, BitDepth depth, int channels, int shift, unsigned seed) : map(size) {
    std::mt19937 random(seed);
    images = RandomPair(random, {size, depth}, channels, shift);
    const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const float near = static_cast<float>(shift) + static_cast<float>(x / 17 + y / 5 % 3) / 2;
        map.at(x, y) = near + static_cast<float>(below(256)) / 1024;
        if (below(9) == 0) map.at(x, y) = static_cast<float>(below(800)) / 4 - 100;
        if (below(9) == 0) map.at(x, y) = none;
        if (below(90) == 0) map.at(x, y) = std::numeric_limits<float>::quiet_NaN();
        if (below(90) == 0) map.at(x, y) = below(2) == 0 ? -3e38f : -none;
      }
  }

  Plane<float> refitted_by_reference(int window) const {
    Plane<float> result(map.size());
    for (int y = 0; y < map.height(); ++y) std::copy_n(map.row(y), map.width(), result.row(y));
    Arena arena;
    refine::RefitMemory(map.size(), arena);
    arena.allocate();
    refine::refit_reference(result.view(), images.pair(), window, refine::RefitMemory(map.size(), arena));
    return result;
  }

  Plane<float> refitted(int window, int threads) const {
    Plane<float> result(map.size());
    for (int y = 0; y < map.height(); ++y) std::copy_n(map.row(y), map.width(), result.row(y));
    refit(result.view(), images.pair(), window, threads);
    return result;
  }
};

TEST(RefitTest, EqualsTheReferenceOnEveryTarget) {
  unsigned seed = 0;
  for (const Size size : {Size{1, 1}, Size{1, 17}, Size{31, 3}, Size{67, 41}, Size{300, 5}, Size{2, 5}})
    for (const int window : {3, 5, 7, 9, 15})
      for (const int shift : {-9, 0, 4}) {
        ++seed;
        const BitDepth depth = seed % 2 == 0 ? BitDepth::bits16 : BitDepth::bits8;
        const Problem problem(size, depth, seed % 3 == 0 ? 3 : 1, shift, seed);
        const Plane<float> expected = problem.refitted_by_reference(window);
        EXPECT_TRUE(size.width < 60 || !same_bytes(expected, problem.map));
        for (const std::string& target : cpu_targets()) {
          force_cpu_target(target);
          EXPECT_TRUE(same_bytes(problem.refitted(window, 1), expected))
              << target << ", " << size.width << "×" << size.height << ", window " << window << ", shift "
              << shift;
        }
        force_cpu_target("");
      }
}

TEST(RefitTest, ThreadsNeverChangeAByte) {
  const Problem problem({67, 71}, BitDepth::bits8, 1, 3, 1);
  const Plane<float> expected = problem.refitted(7, 1);
  for (const int threads : {0, 2, 3, 4})
    EXPECT_TRUE(same_bytes(problem.refitted(7, threads), expected)) << threads;
}

// The pixel (30, 10) of a texture, refitted from label 5.
float refitted_at_the_middle(const Texture& texture, View<const std::uint8_t> left_mask,
                             View<const std::uint8_t> right_mask, int window) {
  StereoPair pair = texture.views();
  pair.left_mask = left_mask;
  pair.right_mask = right_mask;
  Plane<float> map(pair.left.format.size, 5);
  refit(map.view(), pair, window);
  return map.at(30, 10);
}

TEST(RefitTest, MaskedPixelsDoNotCount) {
  const Size size{60, 20};
  const Texture texture(size, 5.2f);
  Plane<std::uint8_t> none_masked(size, 1), middle_only(size), right(size, 1), beside(size, 1);
  middle_only.at(30, 10) = 1;
  const float usual = refitted_at_the_middle(texture, none_masked.view(), {}, 7);
  EXPECT_NE(usual, 5);
  EXPECT_EQ(refitted_at_the_middle(texture, {}, none_masked.view(), 7), usual);
  // Refits a single pixel, whatever the window.
  const float alone = refitted_at_the_middle(texture, middle_only.view(), {}, 7);
  EXPECT_NE(alone, usual);
  EXPECT_EQ(refitted_at_the_middle(texture, middle_only.view(), {}, 15), alone);
  // Any of its three right pixels may exclude it.
  for (const int column : {24, 25, 26}) {
    right.at(column, 10) = 0;
    EXPECT_EQ(refitted_at_the_middle(texture, middle_only.view(), right.view(), 7), 5) << column;
    right.at(column, 10) = 1;
  }
  right.at(23, 10) = right.at(27, 10) = 0;
  EXPECT_EQ(refitted_at_the_middle(texture, middle_only.view(), right.view(), 7), alone);
  // A window reaches three pixels, and its neighbouring labels one more.
  right.at(23, 10) = right.at(27, 10) = 1;
  for (const int column : {20, 30, 21, 29}) {
    beside.at(column, 10) = 0;
    const bool reaches = column >= 21 && column <= 29;
    EXPECT_EQ(refitted_at_the_middle(texture, {}, beside.view(), 7) == usual, !reaches) << column;
    beside.at(column, 10) = 1;
  }
}

TEST(RefitTest, ColourCountsAsGray) {
  const Problem colour({67, 21}, BitDepth::bits8, 3, 2, 5);
  const StereoPair pair = colour.images.pair();
  Plane<std::uint8_t> gray[2] = {Plane<std::uint8_t>(colour.map.size()),
                                 Plane<std::uint8_t>(colour.map.size())};
  for (int y = 0; y < colour.map.height(); ++y)
    for (int x = 0; x < colour.map.width(); ++x)
      for (const int side : {0, 1}) {
        const auto* pixel =
            static_cast<const std::uint8_t*>((side == 0 ? pair.left : pair.right).row(y)) + 3 * x;
        gray[side].at(x, y) =
            static_cast<std::uint8_t>((9797 * pixel[0] + 19234 * pixel[1] + 3737 * pixel[2]) >> 15);
      }
  Plane<float> map = colour.refitted(3, 1), expected(map.size());
  for (int y = 0; y < map.height(); ++y) std::copy_n(colour.map.row(y), map.width(), expected.row(y));
  refit(expected.view(), {gray[0].view(), gray[1].view(), pair.left_mask, pair.right_mask}, 3);
  EXPECT_TRUE(same_bytes(map, expected));
}

TEST(RefitTest, BadArgumentsAreRefused) {
  Plane<float> map({4, 4});
  const Plane<std::uint8_t> image({4, 4}), other({5, 4});
  const Plane<std::uint16_t> deep({4, 4});
  const auto refused = [&](const StereoPair& pair, int window, const std::string& message) {
    expect_refused([&] { refit(map.view(), pair, window); }, message);
  };
  for (const int window : {-3, 0, 1, 4, 17})
    refused({image.view(), image.view()}, window,
            "refit is " + std::to_string(window) + ": choose an odd number from 3 to 15");
  refused({other.view(), image.view()}, 3, "left image is 5×4, the map 4×4");
  refused({image.view(), other.view()}, 3, "right image is 5×4, the map 4×4");
  refused({image.view(), {}}, 3, "right image points to no memory");
  refused({image.view(), deep.view()}, 3, "right image depth is 16");
  refused({image.view(), image.view(), other.view()}, 3, "left mask is 5×4");
  refused({image.view(), image.view(), {}, other.view()}, 3, "right mask is 5×4");
}

TEST(RefitTest, MatcherRefitsBeforeItFills) {
  const SynthPair pair = synth(Scene::planes, {97, 61});
  BlockParameters parameters;
  parameters.disparities = 20;
  parameters.refine = RefineParameters::none();
  parameters.refine.left_right_check = true;
  parameters.refine.speckle_size = 9;
  for (const SubPixel sub_pixel : {SubPixel::none, SubPixel::parabola}) {
    parameters.sub_pixel = sub_pixel;
    test::Result expected = match(parameters, cpu(1), views_with_masks(pair));
    refit(expected.disparity.view(), views_with_masks(pair), 5);
    fill_row(expected.map());
    BlockParameters all = parameters;
    all.refine.refit = 5;
    all.refine.fill = Fill::row;
    for (const Device& device : {reference, cpu(2)})
      expect_same(expected, match(all, device, views_with_masks(pair)), name(device.kind));
  }
}

TEST(RefitTest, TilesAreRefused) {
  MatcherParameters parameters = BlockParameters();
  const ImageFormat format{{400, 300}};
  TilePlan plan = plan_tiles(parameters, cpu(1), format, {});
  parameters.refine().refit = plan.parameters.refine().refit = 5;
  const char* const message = "refit is not available in tiles";
  expect_refused([&] { plan_tiles(parameters, cpu(1), format, {}); }, message);
  expect_refused([&] { margins(parameters, format); }, message);
  // A plan may come from a file.
  expect_refused([&] { stitch_memory_bytes(plan, 10); }, message);
  expect_refused([&] { stitch(plan, 10, {}); }, message);
}

}  // namespace
}  // namespace parallax
