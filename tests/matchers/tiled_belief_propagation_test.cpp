// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation: its results, and the meaning of its parameters.
// tests/tools/design_contest_test.cpp uses the pair of the design contest.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

using Parameters = TiledBeliefPropagationParameters;

std::vector<Device> devices() {
  return processors("tiled-bp");
}

Parameters of_volume(int labels) {
  Parameters parameters = plain_tiled_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.disparities = labels;
  return parameters;
}

// The published algorithm of the design contest, in tiles: it compares every pair of labels, and neither
// normalises nor limits messages.
class PlainTiles {
 public:
  PlainTiles(const Volume& data, const Parameters& parameters)
      : data_(data), parameters_(parameters), size_(data.size()) {
    for (auto& messages : sent_) messages.assign(size_.pixels(), Values(index(data.labels())));
  }

  // The label of each pixel.
  Plane<int> run() {
    Plane<int> labels(size_);
    const int side = parameters_.tile > 0 ? parameters_.tile : std::max(size_.width, size_.height);
    std::vector<std::array<int, 2>> corners;
    for (int top = 0; top < size_.height; top += side)
      for (int left = 0; left < size_.width; left += side) corners.push_back({left, top});
    for (int outer = 0; outer < parameters_.outer; ++outer) {
      for (const auto& [left, top] : corners) visit(left, top, side);
      for (auto corner = corners.rbegin(); corner != corners.rend(); ++corner) {
        const auto [left, top] = *corner;
        visit(left, top, side);
        for (int y = top; y < std::min(top + side, size_.height); ++y)
          for (int x = left; x < std::min(left + side, size_.width); ++x) labels.at(x, y) = best_label(x, y);
      }
    }
    return labels;
  }

 private:
  using Values = std::vector<std::int64_t>;

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  // right, left, up, down
  static constexpr int step_x[] = {1, -1, 0, 0}, step_y[] = {0, 0, -1, 1}, back[] = {1, 0, 3, 2};

  Values& sent(int direction, int x, int y) {
    return sent_[index(direction)][index(y) * index(size_.width) + index(x)];
  }
  bool in_image(int x, int y) const { return x >= 0 && y >= 0 && x < size_.width && y < size_.height; }

  void visit(int left, int top, int side) {
    const int right = std::min(left + side, size_.width), bottom = std::min(top + side, size_.height);
    const auto in_tile = [&](int x, int y) { return x >= left && x < right && y >= top && y < bottom; };
    if (parameters_.tile > 0)
      for (int direction = 0; direction < 4; ++direction)
        for (int y = top; y < bottom; ++y)
          for (int x = left; x < right; ++x)
            if (in_tile(x + step_x[direction], y + step_y[direction]))
              sent(direction, x, y).assign(index(data_.labels()), 0);
    for (int inner = 0; inner < parameters_.inner; ++inner) {
      for (int x = left; x < right; ++x)
        for (int y = top; y < bottom; ++y) send(x, y, 0);
      for (int x = right - 1; x >= left; --x)
        for (int y = top; y < bottom; ++y) send(x, y, 1);
      for (int y = bottom - 1; y >= top; --y)
        for (int x = left; x < right; ++x) send(x, y, 2);
      for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) send(x, y, 3);
    }
  }

  // The cost and the messages to the pixel, except the one from the neighbour `without`.
  std::int64_t sum(int x, int y, int label, int without) {
    auto total = static_cast<std::int64_t>(data_.at(x, y, label));
    for (int direction = 0; direction < 4; ++direction) {
      const int u = x + step_x[direction], v = y + step_y[direction];
      if (direction != without && in_image(u, v)) total += sent(back[direction], u, v)[index(label)];
    }
    EXPECT_LT(std::abs(total), std::int64_t{1} << 61) << "choose a smaller case";
    return total;
  }

  void send(int x, int y, int direction) {
    if (!in_image(x + step_x[direction], y + step_y[direction])) return;
    Values h, message;
    for (int label = 0; label < data_.labels(); ++label) h.push_back(sum(x, y, label, direction));
    for (int label = 0; label < data_.labels(); ++label) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (int other = 0; other < data_.labels(); ++other) {
        const int jump = std::min(std::abs(label - other), parameters_.discontinuity_truncation);
        least = std::min(least, h[index(other)] + parameters_.discontinuity_cost * jump);
      }
      message.push_back(least);
    }
    sent(direction, x, y) = message;
  }

  int best_label(int x, int y) {
    int best = 0;
    for (int label = 1; label < data_.labels(); ++label)
      if (sum(x, y, label, -1) < sum(x, y, best, -1)) best = label;
    return best;
  }

  const Volume& data_;
  Parameters parameters_;
  Size size_;
  std::array<std::vector<Values>, 4> sent_;
};

void expect_plain_labels(const Volume& volume, const Parameters& parameters, const std::string& what) {
  const Plane<int> expected = PlainTiles(volume, parameters).run();
  for (const Device& device : devices()) {
    const Result result = match(parameters, device, volume.pair());
    for (int y = 0; y < expected.height(); ++y)
      for (int x = 0; x < expected.width(); ++x)
        ASSERT_EQ(result.disparity.at(x, y), static_cast<float>(expected.at(x, y)))
            << what << " on " << device.text() << " at " << x << ", " << y;
  }
}

// Costs of few levels make ties; large costs exceed the bound on data costs.
Volume random_volume(std::mt19937& random, Size size, int labels, int discontinuity_cost) {
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  Volume volume(size, labels);
  const int kind = any(0, 3);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int label = 0; label < labels; ++label)
        volume.at(x, y, label) = static_cast<float>(kind == 0   ? any(0, 2)
                                                    : kind == 1 ? discontinuity_cost * any(-1, 3)
                                                    : kind == 2 ? any(0, 255)
                                                                : any(-5, 5) * any(0, 2'000));
  return volume;
}

Parameters random_parameters(std::mt19937& random, int labels) {
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  Parameters parameters = of_volume(labels);
  parameters.tile = any(0, 12);
  parameters.outer = any(1, 2);
  parameters.inner = any(1, 3 - parameters.outer);
  parameters.discontinuity_cost = any(0, 1) == 0 ? any(1, 5) : any(6, 60);
  parameters.discontinuity_truncation = any(1, 12);
  return parameters;
}

TEST(TiledBeliefPropagationTest, GivesTheLabelsOfThePlainAlgorithm) {
  std::mt19937 random(1);
  const auto any = [&](int low, int high) { return random_number(random, low, high); };
  for (int i = 0; i < (sanitized ? 60 : 400); ++i) {
    // In larger images, messages without normalisation overflow 64 bits.
    const Size size{any(1, 10), any(1, 8)};
    const int labels = any(2, 20);
    const Parameters parameters = random_parameters(random, labels);
    const Volume volume = random_volume(random, size, labels, parameters.discontinuity_cost);
    ASSERT_NO_FATAL_FAILURE(expect_plain_labels(volume, parameters, "case " + std::to_string(i)));
  }
}

TEST(TiledBeliefPropagationTest, AnyNumberOfLabels) {
  std::mt19937 random(2);
  for (const int labels :
       {2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300}) {
    Parameters parameters = random_parameters(random, labels);
    parameters.tile = 3;
    parameters.outer = 1;
    const Volume volume = random_volume(random, {5, 4}, labels, parameters.discontinuity_cost);
    ASSERT_NO_FATAL_FAILURE(expect_plain_labels(volume, parameters, std::to_string(labels) + " labels"));
  }
}

TEST(TiledBeliefPropagationTest, OneRowAndOneColumn) {
  std::mt19937 random(3);
  for (const Size size : {Size{40, 1}, Size{1, 40}, Size{1, 1}, Size{2, 1}, Size{1, 2}})
    for (const int tile : {0, 1, 7, 40, 41}) {
      Parameters parameters = random_parameters(random, 6);
      parameters.tile = tile;
      const Volume volume = random_volume(random, size, 6, parameters.discontinuity_cost);
      ASSERT_NO_FATAL_FAILURE(expect_plain_labels(volume, parameters,
                                                  std::to_string(size.width) + "×" +
                                                      std::to_string(size.height) + " in tiles of " +
                                                      std::to_string(tile)));
    }
}

// λ = 3, K = 2. The left pixel, of costs (0, 9, 9, 9), sends (0, 3, 6, 6).
class OneMessage : public testing::TestWithParam<int> {
 protected:
  float decision(const std::vector<float>& right_costs) const {
    std::vector<float> costs{0, 9, 9, 9};
    costs.insert(costs.end(), right_costs.begin(), right_costs.end());
    Parameters parameters = of_volume(4);
    parameters.tile = GetParam();
    parameters.inner = 1;
    parameters.discontinuity_cost = 3;
    parameters.discontinuity_truncation = 2;
    const Volume volume({2, 1}, 4, costs);
    const float found = match(parameters, reference, volume.pair()).disparity.at(1, 0);
    for (const Device& device : devices())
      EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(1, 0), found) << device.text();
    return found;
  }
};

TEST_P(OneMessage, ByHand) {
  EXPECT_EQ(decision({7, 3, 9, 1}), 1.0f);  // 7, 6, 15, 7
  EXPECT_EQ(decision({7, 5, 9, 0}), 3.0f);  // 7, 8, 15, 6
  EXPECT_EQ(decision({7, 5, 0, 1}), 2.0f);  // 7, 8, 6, 7
}

TEST_P(OneMessage, TiesGoToTheLowestLabel) {
  EXPECT_EQ(decision({6, 3, 9, 0}), 0.0f);  // 6, 6, 15, 6
  EXPECT_EQ(decision({7, 3, 0, 0}), 1.0f);  // 7, 6, 6, 6
}

// Across the border of a tile of one pixel, the message comes from the previous pass.
INSTANTIATE_TEST_SUITE_P(TilesOf, OneMessage, testing::Values(0, 1, 2));

// T = 4. Costs below the bound of 4·T + 1 can be outvoted by one unit: three neighbours that insist on label
// 0 add 12 to label 1 of the centre, four add 16.
TEST(TiledBeliefPropagationTest, FourNeighboursAgainstAPixel) {
  for (const float cost : {15.0f, 16.0f, 17.0f, 1000.0f}) {
    Volume volume({3, 3}, 2);
    for (const auto& [x, y] : {std::array{1, 0}, {0, 1}, {2, 1}, {1, 2}}) volume.at(x, y, 1) = 1000;
    volume.at(1, 1, 0) = cost;
    Parameters parameters = of_volume(2);
    parameters.tile = 0;
    parameters.inner = 1;
    parameters.discontinuity_cost = 4;
    parameters.discontinuity_truncation = 1;
    for (const Device& device : devices())
      EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(1, 1), cost > 16 ? 1 : 0)
          << cost << " on " << device.text();
  }
}

class OnePair : public testing::Test {
 protected:
  Result result(const Parameters& parameters, const Device& device) const {
    return match(parameters, device, views(pair_));
  }

  // Expects the same bytes from both on every device.
  void expect_same(const Parameters& a, const Parameters& b) const {
    for (const Device& device : devices())
      EXPECT_TRUE(same_bytes(result(a, device), result(b, device))) << device.text();
  }

  SynthPair pair_ = synth(Scene::layers, {61, 37}, 12);
  Parameters parameters_ = [] {
    Parameters parameters;
    parameters.disparities = 12;
    parameters.tile = 8;
    return parameters;
  }();
};

TEST_F(OnePair, OrderOfVerticalSweepsHasNoEffect) {
  for (const int tile : {0, 8}) {
    Parameters down = parameters_, up = parameters_;
    down.tile = up.tile = tile;
    up.sweep_order = SweepOrder::right_left_up_down;
    expect_same(down, up);
  }
}

TEST_F(OnePair, EarlyOutHasNoEffect) {
  for (const int tile : {0, 1, 8}) {
    Parameters with = parameters_, without = parameters_;
    with.tile = without.tile = tile;
    with.inner = without.inner = 12;  // most tiles converge earlier
    without.early_out = false;
    expect_same(with, without);
  }
}

TEST_F(OnePair, MessageWidthHasNoEffect) {
  Parameters narrow = parameters_, wide = parameters_;
  narrow.message_width = MessageWidth::bits8;
  wide.message_width = MessageWidth::bits16;
  expect_same(narrow, wide);
}

// With one tile, each visit starts without messages from other tiles.
TEST_F(OnePair, ATileOfTheWholeImageForgetsWithEachVisit) {
  Parameters one_visit = parameters_;
  one_visit.tile = 61;
  one_visit.inner = 4;
  for (const int tile : {61, 62, 4096})
    for (const int outer : {1, 3}) {
      Parameters parameters = one_visit;
      parameters.tile = tile;
      parameters.outer = outer;
      expect_same(one_visit, parameters);
    }
}

TEST_F(OnePair, TheWholeImageAsOneTileGoesOnFromVisitToVisit) {
  Parameters kept = parameters_;
  kept.tile = 0;
  kept.outer = 1;
  kept.inner = 2;
  Parameters forgotten = kept;
  forgotten.tile = 61;
  forgotten.inner = 4;
  expect_same(kept, forgotten);
  kept.outer = 3;
  kept.inner = 1;
  forgotten.inner = 6;
  expect_same(kept, forgotten);
}

TEST_F(OnePair, TilesAndIterationsChangeTheMap) {
  const Result start = result(parameters_, reference);
  for (const auto& change : {+[](Parameters& p) { p.tile = 9; }, +[](Parameters& p) { p.outer = 2; },
                             +[](Parameters& p) { p.inner = 1; }}) {
    Parameters changed = parameters_;
    change(changed);
    EXPECT_FALSE(same_bytes(start, result(changed, reference)));
  }
}

// The mean of 25 absolute differences, rounded down; the images repeat their border pixels.
TEST(TiledBeliefPropagationCostsTest, AreMeansOfFiveByFive) {
  Plane<std::uint8_t> left({7, 5}, 10), right({7, 5}, 10);
  left.at(3, 2) = 35;   // 25 units over 25 pixels: 1 level, in every window that sees it
  right.at(0, 0) = 20;  // once in the window around (2, 2), nine times in that around (0, 0)
  Parameters parameters = plain_tiled_belief_propagation();
  parameters.cost = DataCost::mean_absolute_difference;
  parameters.disparities = 2;
  parameters.data_weight = 1;
  parameters.outside_cost = 7;
  const StereoPair pair{left.view(), right.view()};
  const std::vector<float> costs = tiled_belief_propagation_costs(parameters, pair);
  const auto at = [&](int x, int y, int label) {
    return costs[static_cast<std::size_t>((y * 7 + x) * 2 + label)];
  };
  EXPECT_EQ(at(0, 0, 0), 3);  // 90 / 25 = 3.6
  EXPECT_EQ(at(0, 0, 1), 7);  // outside the image
  EXPECT_EQ(at(2, 2, 0), 1);  // (25 + 10) / 25 = 1.4
  EXPECT_EQ(at(4, 4, 1), 1);
  EXPECT_EQ(at(6, 4, 0), 0);
  parameters.data_weight = 2.5f;
  EXPECT_EQ(tiled_belief_propagation_costs(parameters, pair)[0], 8);  // 7.5, rounded
  parameters.data_truncation = 2;
  EXPECT_EQ(tiled_belief_propagation_costs(parameters, pair)[0], 5);
  parameters.outside_cost.reset();
  EXPECT_EQ(tiled_belief_propagation_costs(parameters, pair)[0], 0);  // label 1 is outside the image
}

TEST(TiledBeliefPropagationCostsTest, AFrameHasNone) {
  const SynthPair pair = synth(Scene::dots, {30, 21}, 6);
  Parameters parameters = plain_tiled_belief_propagation();
  parameters.disparities = 6;
  for (const int frame : {0, 4, 11, 1'000'000}) {
    parameters.frame = frame;
    const std::vector<float> costs = tiled_belief_propagation_costs(parameters, views(pair));
    int inside = 0;
    for (int y = 0; y < 21; ++y)
      for (int x = 0; x < 30; ++x) {
        const float* pixel = &costs[static_cast<std::size_t>((y * 30 + x) * 6)];
        const bool has_any = std::any_of(pixel, pixel + 6, [](float cost) { return cost != 0; });
        const bool in_frame = x < frame || y < frame || x >= 30 - frame || y >= 21 - frame;
        EXPECT_EQ(has_any, !in_frame) << x << ", " << y << " in a frame of " << frame;
        inside += has_any;
      }
    EXPECT_EQ(inside, frame == 0 ? 30 * 21 : frame == 4 ? 22 * 13 : 0);
    // Labels spread into the frame. Without any costs the lowest label wins.
    if (inside > 0) continue;
    for (const Device& device : devices()) {
      const Result result = match(parameters, device, views(pair));
      EXPECT_EQ(result.disparity.at(15, 10), 0) << device.text();
      EXPECT_EQ(status_at(result, 15, 10), Status::matched) << device.text();
    }
  }
}

TEST(TiledBeliefPropagationCostsTest, OfACallerAreRoundedToUnits) {
  const Volume volume({1, 1}, 3, {0.5f, 0.49f, -0.51f});
  EXPECT_EQ(tiled_belief_propagation_costs(of_volume(3), volume.pair()), (std::vector<float>{1, 0, -1}));
}

TEST(TiledBeliefPropagationParametersTest, WhatTheMessagesCannotHoldIsRefused) {
  Parameters parameters;
  parameters.discontinuity_cost = 8;
  parameters.discontinuity_truncation = 1024;
  expect_refused([&] { parameters.validate(); }, "discontinuity_truncation is 1024: choose at most 1023");
  parameters.discontinuity_cost = 16;
  parameters.discontinuity_truncation = 16;
  for (const MessageWidth width : {MessageWidth::automatic, MessageWidth::bits16}) {
    parameters.message_width = width;
    EXPECT_NO_THROW(parameters.validate());
  }
  parameters.message_width = MessageWidth::bits8;
  expect_refused([&] { parameters.validate(); }, "= 256: choose 16 bits, or a product of at most 255");
  parameters.discontinuity_cost = 15;
  parameters.discontinuity_truncation = 17;
  EXPECT_NO_THROW(parameters.validate());
}

// Messages of 255, with T = 255, and of 8191 are the highest that each width holds.
TEST(TiledBeliefPropagationTest, MessagesFillTheirWidth) {
  std::mt19937 random(4);
  struct Model {
    int cost, truncation;
  };
  for (const auto& [cost, truncation] : {Model{255, 1}, {51, 5}, {256, 1}, {8191, 1}, {7, 1024}}) {
    Parameters parameters = of_volume(9);
    parameters.discontinuity_cost = cost;
    parameters.discontinuity_truncation = truncation;
    parameters.tile = 4;
    for (int i = 0; i < 4; ++i) {
      const Volume volume = random_volume(random, {9, 7}, 9, cost);
      ASSERT_NO_FATAL_FAILURE(expect_plain_labels(volume, parameters, "λ = " + std::to_string(cost)));
    }
  }
}

TEST(TiledBeliefPropagationParametersTest, AWeightThatRoundsEveryCostToZeroIsRefused) {
  Parameters parameters;
  parameters.cost = DataCost::absolute_difference;
  parameters.data_truncation = 10;
  parameters.data_weight = 0.04f;
  expect_refused([&] { parameters.validate(); }, "data_weight is 0.04");
  parameters.data_weight = 0.05f;
  EXPECT_NO_THROW(parameters.validate());
}

TEST(TiledBeliefPropagationTest, MoreTilesThanAreCountedAreRefused) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.tile = 1;
  for (const DeviceKind device : {DeviceKind::reference, DeviceKind::cpu})
    expect_refused(
        [&] {
          estimate_memory_bytes(parameters, {device}, {{5000, 5000}});
        },
        "25000000 tiles: choose a larger tile");
}

}  // namespace
}  // namespace parallax::test
