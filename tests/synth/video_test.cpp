// SPDX-License-Identifier: Apache-2.0
// Synthetic stereo videos: truth that agrees with the images, between the views and from frame to frame.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "parallax/synth.h"

#include "support.h"

namespace parallax::test {
namespace {

constexpr Size size{120, 90};

VideoSynthParameters video(std::uint64_t seed = 1) {
  VideoSynthParameters parameters{size, 24, seed};
  parameters.noise = 0;
  parameters.drift = 0;
  return parameters;
}

bool same(const VideoSynthFrame& a, const VideoSynthFrame& b) {
  return same_bytes(a.pair.left, b.pair.left) && same_bytes(a.pair.right, b.pair.right) &&
         same_bytes(a.pair.left_truth, b.pair.left_truth) && same_bytes(a.to_previous.u, b.to_previous.u) &&
         same_bytes(a.moving, b.moving);
}

TEST(SynthVideoTest, AFrameDependsOnItsNumberOnly) {
  const VideoSynthParameters parameters = video();
  const VideoSynthFrame fifth = synthesize_frame(parameters, 5);
  synthesize_frame(parameters, 0);
  EXPECT_TRUE(same(fifth, synthesize_frame(parameters, 5)));
  EXPECT_FALSE(same(fifth, synthesize_frame(parameters, 6)));
  EXPECT_FALSE(same(fifth, synthesize_frame(video(2), 5)));
}

TEST(SynthVideoTest, DisparitiesStayInTheirRange) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u})
    for (const int frame : {0, 13, 29, 47, 71, 1000}) {
      VideoSynthParameters parameters = video(seed);
      parameters.motion = frame % 2 == 0 ? 100 : 4;
      if (seed > 2) parameters.disparities = seed == 3 ? 2 : size.width;
      const VideoSynthFrame found = synthesize_frame(parameters, frame);
      for (const Plane<float>* truth : {&found.pair.left_truth, &found.pair.right_truth})
        for (int y = 0; y < size.height; ++y)
          for (int x = 0; x < size.width; ++x) {
            ASSERT_GE(truth->at(x, y), 0) << seed << ", " << frame;
            ASSERT_LE(truth->at(x, y), parameters.disparities - 1) << seed << ", " << frame;
          }
    }
}

// The mean difference in gray levels between pixels of an image and the points of another that truth names.
struct Difference {
  double sum = 0;
  int count = 0;
  void add(const Plane<std::uint8_t>& from, int x, int y, const Plane<std::uint8_t>& to, double u, double v) {
    if (u < 0 || v < 0 || u >= size.width - 1 || v >= size.height - 1) return;
    const int left = static_cast<int>(u), top = static_cast<int>(v);
    const auto at = [&](int column, int row) { return static_cast<double>(to.at(3 * column + 1, row)); };
    const double f = u - left, g = v - top;
    const double above = (1 - f) * at(left, top) + f * at(left + 1, top),
                 below = (1 - f) * at(left, top + 1) + f * at(left + 1, top + 1);
    sum += std::abs(from.at(3 * x + 1, y) - ((1 - g) * above + g * below));
    ++count;
  }
  double mean() const { return sum / count; }
};

TEST(SynthVideoTest, TruthLeadsToTheSamePointsInTheOtherViewAndInTheFrameBefore) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    VideoSynthParameters parameters = video(seed);
    parameters.motion = 6;
    const VideoSynthFrame before = synthesize_frame(parameters, 19), now = synthesize_frame(parameters, 20);
    Difference view, time, without_motion;
    int moving = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (now.pair.left_mask.at(x, y) != 255) continue;
        view.add(now.pair.left, x, y, now.pair.right, x - now.pair.left_truth.at(x, y), y);
        time.add(now.pair.left, x, y, before.pair.left, x + now.to_previous.u.at(x, y),
                 y + now.to_previous.v.at(x, y));
        without_motion.add(now.pair.left, x, y, before.pair.left, x, y);
        moving += now.moving.at(x, y) == 255;
      }
    EXPECT_LT(view.mean(), 5) << seed;
    EXPECT_LT(time.mean(), 5) << seed;
    EXPECT_GT(without_motion.mean(), 2 * time.mean()) << seed;
    EXPECT_GT(moving, 50) << seed;
  }
}

TEST(SynthVideoTest, ACutShowsAnotherSceneWithoutMotion) {
  VideoSynthParameters parameters = video();
  const VideoSynthFrame without = synthesize_frame(parameters, 7);
  parameters.cut = 7;
  const VideoSynthFrame first = synthesize_frame(parameters, 7);
  EXPECT_TRUE(same(synthesize_frame(video(), 6), synthesize_frame(parameters, 6)));
  EXPECT_FALSE(same(without, first));
  for (int y = 0; y < size.height; ++y) {
    EXPECT_TRUE(std::all_of(first.to_previous.u.row(y), first.to_previous.u.row(y) + size.width,
                            [](float u) { return u == 0; }));
  }
}

TEST(SynthVideoTest, NoiseAndDriftChangeImagesButNotTruth) {
  VideoSynthParameters parameters = video();
  const VideoSynthFrame clean = synthesize_frame(parameters, 12);
  parameters.noise = 3;
  const VideoSynthFrame noisy = synthesize_frame(parameters, 12);
  parameters.noise = 0;
  parameters.drift = 0.3f;
  const VideoSynthFrame bright = synthesize_frame(parameters, 12);
  double square = 0, gain = 0;
  for (int y = 0; y < size.height; ++y)
    for (int i = 0; i < 3 * size.width; ++i) {
      square += std::pow(noisy.pair.left.at(i, y) - clean.pair.left.at(i, y), 2);
      gain += bright.pair.left.at(i, y) - clean.pair.left.at(i, y);
    }
  EXPECT_NEAR(std::sqrt(square / (3.0 * size.width * size.height)), 3, 0.3);
  EXPECT_GT(gain, 0);
  EXPECT_TRUE(same_bytes(clean.pair.left_truth, noisy.pair.left_truth));
  EXPECT_TRUE(same_bytes(clean.pair.left_truth, bright.pair.left_truth));
}

TEST(SynthVideoTest, FieldsOutOfRangeAreNamed) {
  const auto refused = [](auto change, const std::string& message, int frame = 0) {
    VideoSynthParameters parameters = video();
    change(parameters);
    expect_refused([&] { synthesize_frame(parameters, frame); }, message);
  };
  refused([](auto& p) { p.disparities = 1; }, "disparities is 1: choose a number from 2 to 1000000");
  refused([](auto& p) { p.motion = 101; }, "motion is 101: choose");
  refused([](auto& p) { p.drift = 0.6f; }, "drift is 0.6: choose");
  refused([](auto& p) { p.cut = -1; }, "cut is -1: choose");
  refused([](auto&) {}, "frame is -1: choose a number from 0 to 1000000", -1);
}

}  // namespace
}  // namespace parallax::test
