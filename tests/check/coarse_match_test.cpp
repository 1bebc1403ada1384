// SPDX-License-Identifier: Apache-2.0
#include "check/coarse_match.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "support.h"

namespace parallax::check::test {
namespace {

using Values = std::vector<std::int16_t>;

Values random_values(std::size_t count, int most, unsigned seed) {
  std::mt19937 random(seed);
  Values values(count);
  for (std::int16_t& value : values)
    value = static_cast<std::int16_t>(static_cast<int>(random() % 1000) * most / 1000);
  return values;
}

TEST(CoarseMatchTest, InnerLoopsAreTheirEquations) {
  for (const int labels : {32, 96, 160}) {
    const auto count = static_cast<std::size_t>(labels);
    const Values right_x = random_values(count, 60, 1), right_y = random_values(count, -60, 2),
                 before = random_values(count + 2, 150, 3);
    Values costs(count), path(count), sums = random_values(count, 300, 4), expected_sums = sums;
    write_costs(13, -7, right_x.data(), right_y.data(), labels, costs.data());
    const std::int16_t least = least_of(before.data() + 1, labels);
    EXPECT_EQ(least, *std::min_element(before.begin() + 1, before.end() - 1));
    const std::int16_t lowest =
        extend_path(before.data() + 1, least, costs.data(), labels, path.data(), sums.data());
    EXPECT_EQ(lowest, *std::min_element(path.begin(), path.end()));
    for (std::size_t l = 0; l < count; ++l) {
      EXPECT_EQ(costs[l], std::min<int>(largest_cost, std::abs(13 - right_x[l]) + std::abs(-7 - right_y[l])));
      const int from =
          std::min({int{before[l + 1]}, std::min(before[l], before[l + 2]) + small_jump, least + large_jump});
      EXPECT_EQ(path[l], costs[l] + from - least);
      EXPECT_EQ(sums[l], expected_sums[l] + path[l]);
    }
    Values kept = random_values(count, 600, 5), label(count, -1);
    const Values kept_before = kept;
    keep_least(sums.data(), labels, kept.data(), label.data());
    for (std::size_t l = 0; l < count; ++l) {
      EXPECT_EQ(kept[l], std::min(sums[l], kept_before[l]));
      EXPECT_EQ(label[l], sums[l] < kept_before[l] ? static_cast<int>(l) : -1);
    }
  }
}

// A square of disparity 12 before a wall of disparity 3.
struct Scene {
  static constexpr Size size{160, 96};
  Plane<float> left{size}, right{size};

  static bool is_near(int x, int y) { return x >= 60 && x < 120 && y >= 20 && y < 76; }

  Scene() {
    std::mt19937 random(1);
    Plane<float> wall(Size{2 * size.width, size.height}), square(wall.size());
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < wall.width(); ++x) {
        wall.at(x, y) = static_cast<float>(random() % 100);
        square.at(x, y) = static_cast<float>(100 + random() % 100);
      }
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        left.at(x, y) = is_near(x, y) ? square.at(x, y) : wall.at(x, y);
        right.at(x, y) = is_near(x + 12, y) ? square.at(x + 12, y) : wall.at(x + 3, y);
      }
  }
};

SmallMatch match(const Plane<float>& left, const Plane<float>& right, int first, double* order) {
  const Workers workers(1);
  const auto level = [](int, int) { return 0; };
  const SmallPicture small_left = small_picture(left, {}, 1, level, workers),
                     small_right = small_picture(right, {}, 1, level, workers);
  SmallMatch result = match_small_pictures(small_left, small_right, {first, 32}, workers);
  *order = order_of_surfaces(small_left, small_right, result);
  return result;
}

TEST(CoarseMatchTest, DisparitiesAreThoseOfTheScene) {
  const Scene scene;
  double order = 0;
  const SmallMatch found = match(scene.left, scene.right, -4, &order);
  int right = 0, wrong = 0;
  for (int y = 0; y < Scene::size.height; ++y)
    for (int x = 20; x < Scene::size.width; ++x) {
      const float disparity = found.disparity.at(x, y);
      if (!std::isfinite(disparity)) continue;
      ++(std::abs(disparity - (Scene::is_near(x, y) ? 12 : 3)) < 0.6f ? right : wrong);
    }
  EXPECT_GT(right, 11000);
  EXPECT_LT(wrong, 150);
}

TEST(CoarseMatchTest, TheSurfaceThatHidesTheOtherTellsTheOrderOfThePictures) {
  const Scene scene;
  double as_given = 0, exchanged = 0, flat = 0;
  match(scene.left, scene.right, -4, &as_given);
  match(scene.right, scene.left, -24, &exchanged);
  match(scene.left, scene.left, -4, &flat);
  EXPECT_GT(as_given, 0.07);
  EXPECT_LT(exchanged, -0.07);
  EXPECT_EQ(flat, 0);
}

}  // namespace
}  // namespace parallax::check::test
