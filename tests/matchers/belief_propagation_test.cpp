// SPDX-License-Identifier: Apache-2.0
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

constexpr float no_value = std::numeric_limits<float>::infinity();
const Device devices[] = {reference, cpu(2)};

ErrorMetrics error(const SynthPair& pair, const BeliefPropagationParameters& parameters) {
  return error_against_truth(match(parameters, cpu(2), views(pair)), pair);
}

BeliefPropagationParameters of_volume(Arithmetic arithmetic, int labels) {
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.arithmetic = arithmetic;
  parameters.disparities = labels;
  parameters.finest_iterations = parameters.right_finest_iterations = 0;
  return parameters;
}

BeliefPropagationParameters searching(int disparities) {
  BeliefPropagationParameters parameters;
  parameters.disparities = disparities;
  return parameters;
}

// The model of fixed8 on one level, computed in wide integers, with or without a bound on data costs.
class WideGrid {
 public:
  static constexpr int bound = 31;

  struct Edge {
    int slope, truncation;
  };

  // data[label][pixel]: the lowest cost of each pixel is 0. Edges lead from each pixel to the right and down.
  WideGrid(Size size, std::vector<std::vector<int>> data, std::vector<std::array<Edge, 2>> edges)
      : size_(size), data_(std::move(data)), edges_(std::move(edges)) {
    for (auto& direction : messages_)
      direction.assign(data_.size(), std::vector<std::int64_t>(size.pixels(), 0));
  }

  void iterate(int iteration) {
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x)
        if ((x + y) % 2 == (iteration + 1) % 2)
          for (int direction = 0; direction < 4; ++direction) send(x, y, direction);
  }

  std::int64_t belief(int x, int y, int label) const {
    std::int64_t sum = data_[index(label)][pixel(x, y)];
    for (int from = 0; from < 4; ++from) sum += incoming(x, y, from, label);
    return sum;
  }

  int decision(int x, int y) const {
    int best = 0;
    for (int label = 1; label < labels(); ++label)
      if (belief(x, y, label) < belief(x, y, best)) best = label;
    return best;
  }

  int labels() const { return static_cast<int>(data_.size()); }
  using Messages = std::array<std::vector<std::vector<std::int64_t>>, 4>;
  const Messages& messages() const { return messages_; }

 private:
  static constexpr int step_x[] = {1, 0, -1, 0}, step_y[] = {0, 1, 0, -1};

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::size_t pixel(int x, int y) const { return index(y * size_.width + x); }
  bool contains(int x, int y) const { return x >= 0 && y >= 0 && x < size_.width && y < size_.height; }

  std::int64_t incoming(int x, int y, int from, int label) const {
    const int u = x + step_x[from], v = y + step_y[from];
    return contains(u, v) ? messages_[index((from + 2) % 4)][index(label)][pixel(u, v)] : 0;
  }

  void send(int x, int y, int direction) {
    const int u = x + step_x[direction], v = y + step_y[direction];
    if (!contains(u, v)) return;
    const Edge edge = edges_[direction < 2 ? pixel(x, y) : pixel(u, v)][index(direction % 2)];
    std::vector<std::int64_t> h;
    for (int label = 0; label < labels(); ++label)
      h.push_back(belief(x, y, label) - incoming(x, y, direction, label));
    const std::int64_t least = *std::min_element(h.begin(), h.end());
    for (int label = 0; label < labels(); ++label) {
      std::int64_t message = least + edge.truncation;
      for (int other = 0; other < labels(); ++other)
        message = std::min(message, h[index(other)] + edge.slope * std::abs(label - other));
      messages_[index(direction)][index(label)][pixel(x, y)] = message - least;
    }
  }

  Size size_;
  std::vector<std::vector<int>> data_;
  std::vector<std::array<Edge, 2>> edges_;
  Messages messages_;
};

// Costs around all limits at which something could overflow or be limited wrongly.
class Adversary {
 public:
  explicit Adversary(unsigned seed) : random_(seed) {
    labels = any(2, 12);
    slope = any(1, 31);
    iterations = any(1, 12);
    const int kind = any(0, 3);
    const auto cost = [&] {
      static constexpr int spikes[] = {0, 124, 125, 126, 200, 100'000};
      return kind == 0 ? any(0, 140) : kind == 1 ? any(0, 1) * 125 : spikes[any(0, kind == 2 ? 5 : 3)];
    };
    data.assign(static_cast<std::size_t>(labels), std::vector<int>(size.pixels()));
    for (std::size_t i = 0; i < size.pixels(); ++i) {
      for (auto& costs : data) costs[i] = cost();
      int least = data[0][i];
      for (const auto& costs : data) least = std::min(least, costs[i]);
      for (auto& costs : data) costs[i] -= least;
    }
  }

  std::vector<std::array<WideGrid::Edge, 2>> random_edges() {
    std::vector<std::array<WideGrid::Edge, 2>> edges(size.pixels());
    for (auto& pixel : edges)
      for (auto& edge : pixel) edge = {any(1, WideGrid::bound), any(0, WideGrid::bound)};
    return edges;
  }

  std::vector<std::array<WideGrid::Edge, 2>> flat_edges() const {
    const WideGrid::Edge edge{slope, WideGrid::bound};
    return {size.pixels(), {edge, edge}};
  }

  std::vector<std::vector<int>> cut(int bound) const {
    auto cut = data;
    for (auto& costs : cut)
      for (int& cost : costs) cost = std::min(cost, bound);
    return cut;
  }

  const Size size{6, 5};
  int labels, slope, iterations;
  std::vector<std::vector<int>> data;

 private:
  int any(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::mt19937 random_;
};

template <class Check>
void for_each_belief(const WideGrid& grid, Size size, const Check& check) {
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int label = 0; label < grid.labels(); ++label) check(x, y, grid.belief(x, y, label));
}

constexpr int data_bound = 4 * WideGrid::bound + 1;

TEST(EightBitsTest, HoldEveryMessageAndBelief) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Adversary adversary(seed);
    const auto edges = seed % 2 == 0 ? adversary.random_edges() : adversary.flat_edges();
    WideGrid whole(adversary.size, adversary.data, edges),
        cut(adversary.size, adversary.cut(data_bound), edges);
    for (int iteration = 0; iteration < adversary.iterations; ++iteration) {
      whole.iterate(iteration);
      cut.iterate(iteration);
      ASSERT_EQ(whole.messages(), cut.messages()) << "seed " << seed << ", iteration " << iteration;
      for (const auto& direction : cut.messages())
        for (const auto& costs : direction)
          for (const std::int64_t message : costs) ASSERT_TRUE(message >= 0 && message <= 31) << message;
      for_each_belief(cut, adversary.size, [&](int x, int y, std::int64_t belief) {
        EXPECT_LE(belief, 249) << "seed " << seed;
        EXPECT_EQ(whole.decision(x, y), cut.decision(x, y)) << "seed " << seed;
      });
    }
  }
}

// Flat edges of slope 31: T is one label, and a unit 1/31 of it. Four neighbours that insist on label 0 add
// 31 each to label 1 of the centre: 124, which wins if label 0 costs 125.
class FourAgainstOne : public testing::Test {
 protected:
  static constexpr Size size{3, 3};
  static int cost(std::size_t pixel, int label) { return label == (pixel == 4 ? 0 : 1) ? 1000 : 0; }

  int decision_with_bound(int bound) const {
    std::vector<std::vector<int>> data(2, std::vector<int>(size.pixels()));
    for (std::size_t i = 0; i < size.pixels(); ++i)
      for (int label = 0; label < 2; ++label)
        data[static_cast<std::size_t>(label)][i] = std::min(cost(i, label), bound);
    const WideGrid::Edge edge{31, 31};
    WideGrid grid(size, data, {size.pixels(), {edge, edge}});
    grid.iterate(0);
    return grid.decision(1, 1);
  }
};

TEST_F(FourAgainstOne, NeedAllOfTheBound) {
  EXPECT_EQ(decision_with_bound(1000), 1);
  EXPECT_EQ(decision_with_bound(data_bound), 1);
  EXPECT_EQ(decision_with_bound(data_bound - 1), 0);
}

TEST_F(FourAgainstOne, CannotWin) {
  std::vector<float> costs;
  for (std::size_t i = 0; i < size.pixels(); ++i)
    for (int label = 0; label < 2; ++label) costs.push_back(static_cast<float>(cost(i, label)) / 31.0f);
  const Volume volume(size, 2, costs);
  BeliefPropagationParameters parameters = of_volume(Arithmetic::fixed8, 2);
  parameters.levels = 1;
  parameters.iterations = 1;
  parameters.discontinuity_truncation = 1;
  for (const Device& device : devices)
    EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(1, 1), 1.0f) << device.text();
}

// T = 31 / slope labels: a label of discontinuity costs `slope` units, and one unit 1 / slope.
TEST(EightBitsTest, GiveTheLabelsOfWideIntegers) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Adversary adversary(seed);
    const Size size = adversary.size;
    WideGrid grid(size, adversary.data, adversary.flat_edges());
    for (int iteration = 0; iteration < adversary.iterations; ++iteration) grid.iterate(iteration);
    std::vector<float> values;
    for (std::size_t i = 0; i < size.pixels(); ++i)
      for (const auto& costs : adversary.data)
        values.push_back(static_cast<float>(costs[i]) / static_cast<float>(adversary.slope));
    const Volume volume(size, adversary.labels, values);
    BeliefPropagationParameters parameters = of_volume(Arithmetic::fixed8, adversary.labels);
    parameters.levels = 1;
    parameters.iterations = adversary.iterations;
    parameters.discontinuity_truncation = 31.0f / static_cast<float>(adversary.slope);
    for (const Device& device : devices) {
      const Result result = match(parameters, device, volume.pair());
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          ASSERT_EQ(result.disparity.at(x, y), static_cast<float>(grid.decision(x, y)))
              << "seed " << seed << " on " << device.text() << " at " << x << ", " << y;
    }
  }
}

// Two pixels, three labels, one update by hand. T = 1: a label costs 31 units, and so does any jump.
// The right pixel (x + y odd) sends min(its costs, least + 31) − least = (31, 0, 31) units to the left one,
// whose costs are (0, 20, 9) units: beliefs 31, 20, 40.
TEST(BeliefPropagationTest, OneMessageByHand) {
  const Volume volume({2, 1}, 3, {0, 20 / 31.0f, 9 / 31.0f, 3, 0, 3});
  BeliefPropagationParameters parameters = of_volume(Arithmetic::fixed8, 3);
  parameters.levels = 1;
  parameters.iterations = 1;
  parameters.discontinuity_truncation = 1;
  for (const Device& device : devices)
    EXPECT_EQ(match(parameters, device, volume.pair()).disparity.at(0, 0), 1.0f) << device.text();
}

TEST(BeliefPropagationTest, EveryArithmeticAndCostFindsThem) {
  const SynthPair pair = synth(Scene::layers);
  BeliefPropagationParameters parameters = searching(20);
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32,
                                      Arithmetic::float16, Arithmetic::bfloat16}) {
    parameters.arithmetic = arithmetic;
    EXPECT_LT(error(pair, parameters).bad1, 0.05) << "arithmetic " << static_cast<int>(arithmetic);
  }
  parameters = searching(20);
  for (const DataCost cost :
       {DataCost::absolute_difference, DataCost::absolute_difference_colour, DataCost::birchfield_tomasi}) {
    parameters.cost = cost;
    parameters.data_truncation = 15;
    parameters.data_weight = 0.1f;
    EXPECT_LT(error(pair, parameters).bad1, 0.05) << "cost " << static_cast<int>(cost);
  }
}

TEST(BeliefPropagationTest, EdgesOfTheImageLowerTheError) {
  const SynthPair pair = synth(Scene::layers);
  BeliefPropagationParameters with = searching(20);
  with.cost = DataCost::absolute_difference;
  with.refine = RefineParameters::none();
  BeliefPropagationParameters without = with;
  without.edge_contrast = 0;
  EXPECT_LT(error(pair, with).bad1, 0.8 * error(pair, without).bad1);
}

TEST(BeliefPropagationTest, FloatsLeaveTheOutermostPixelsOut) {
  const SynthPair pair = synth(Scene::layers, {31, 18}, 6);
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.disparities = 6;
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float16, Arithmetic::bfloat16}) {
    parameters.arithmetic = arithmetic;
    for (const Device& device : devices) {
      const Result result = match(parameters, device, views(pair));
      for (int y = 0; y < 18; ++y) {
        for (int x = 0; x < 31; ++x) {
          const bool outermost = x == 0 || y == 0 || x == 30 || y == 17;
          EXPECT_EQ(status_at(result, x, y), outermost ? Status::out_of_range : Status::matched);
          EXPECT_EQ(result.disparity.at(x, y) == no_value, outermost);
        }
      }
    }
  }
}

// 37×20 comes down to one pixel in seven levels: 37, 19, 10, 5, 3, 2, 1.
TEST(BeliefPropagationTest, LevelsEndAtOnePixel) {
  const SynthPair pair = synth(Scene::layers, {37, 20}, 8);
  BeliefPropagationParameters parameters = searching(8);
  for (const Device& device : devices) {
    const auto bytes = [&](int levels) {
      parameters.levels = levels;
      return estimate_memory_bytes(parameters, device, pair.left_view().format);
    };
    EXPECT_EQ(bytes(30), bytes(7));
    EXPECT_LT(bytes(6), bytes(7));
    parameters.levels = 7;
    const Result seven = match(parameters, device, views(pair));
    parameters.levels = 30;
    EXPECT_TRUE(same_bytes(seven, match(parameters, device, views(pair))));
  }
}

// Coarser levels pass disparities into areas without texture.
TEST(BeliefPropagationTest, LevelsCarryDisparitiesIntoFlatAreas) {
  SynthPair pair = synth(Scene::dots, {128, 64}, 8);
  Plane<std::uint8_t> left({128, 64}, 90), right({128, 64}, 90);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 128; ++x) {
      const bool flat = x > 40 && x < 90 && y > 12 && y < 50;
      if (!flat) left.at(x, y) = pair.left.at(3 * x, y);
      if (x >= 5) right.at(x - 5, y) = left.at(x, y);
    }
  }
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.disparities = 8;
  const auto middle = [&](int levels) {
    parameters.levels = levels;
    return match(parameters, cpu(1), {left.view(), right.view()}).disparity.at(65, 32);
  };
  EXPECT_EQ(middle(6), 5.0f);
  EXPECT_NE(middle(1), 5.0f);
}

// λ·|difference|, at most λ·τ; τ = 10, λ = 0.5.
TEST(BeliefPropagationCostsTest, AreWeightedTruncatedDifferences) {
  const auto left = plane<std::uint8_t>({{50, 70, 90}});
  const auto right = plane<std::uint8_t>({{52, 66, 190}});
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.arithmetic = Arithmetic::float32;
  parameters.cost = DataCost::absolute_difference;
  parameters.disparities = 2;
  parameters.data_weight = 0.5f;
  parameters.data_truncation = 10;
  parameters.outside_cost = 3.25f;
  const StereoPair pair{left.view(), right.view()};
  EXPECT_EQ(belief_propagation_costs(parameters, pair), (std::vector<float>{1, 3.25f, 2, 5, 5, 5}));
  parameters.outside_cost.reset();
  EXPECT_EQ(belief_propagation_costs(parameters, pair), (std::vector<float>{0, 0, 2, 5, 5, 5}));
  const auto mask = plane<std::uint8_t>({{1, 1, 0}});
  EXPECT_EQ(belief_propagation_costs(parameters, {left.view(), right.view(), mask.view(), {}}),
            (std::vector<float>{0, 0, 2, 5, 0, 0}));
}

// Textured poles in front of a textured background of disparity 8: one every 16 columns, at three depths in
// turn. Their disparity grows by one every ten rows, so a coarse pixel sees more than one. No pole hides
// another.
class Poles {
 public:
  explicit Poles(int width) : left_(size), right_(size), truth_(size) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width + 8; ++x) draw(x, y, 8, random_number(random_, 40, 140));
      for (int first = 70, pole = 0; first + width <= size.width; first += 16, ++pole)
        for (int x = first; x < first + width; ++x)
          truth_.at(x, y) = draw(x, y, 12 + 12 * (pole % 3) + y / 10, random_number(random_, 120, 220));
    }
  }

  // The percentage of the poles' pixels in which a match is wrong by more than one label.
  double lost(const BeliefPropagationParameters& parameters) const {
    const Result result = match(parameters, cpu(2), {left_.view(), right_.view()});
    int pixels = 0, wrong = 0;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (truth_.at(x, y) == 0) continue;
        ++pixels;
        wrong += std::abs(result.disparity.at(x, y) - static_cast<float>(truth_.at(x, y))) > 1;
      }
    return 100.0 * wrong / pixels;
  }

 private:
  static constexpr Size size{480, 160};

  int draw(int x, int y, int disparity, int gray) {
    if (x < size.width) left_.at(x, y) = static_cast<std::uint8_t>(gray);
    if (x >= disparity) right_.at(x - disparity, y) = static_cast<std::uint8_t>(gray);
    return disparity;
  }

  std::mt19937 random_{1};
  Plane<std::uint8_t> left_, right_;
  Plane<int> truth_;  // 0 = background
};

// docs/measurements/belief_propagation.md has the figures.
TEST(BeliefPropagationCandidatesTest, LoseFewOfThePolesThatAllLabelsKeep) {
  BeliefPropagationParameters candidates;
  candidates.refine = RefineParameters::none();
  BeliefPropagationParameters all = candidates;
  all.candidate_levels = 0;
  const double bounds[] = {20, 50, 30};
  for (int width = 1; width <= 3; ++width) {
    const Poles poles(width);
    for (int ranges : {1, 4}) {
      candidates.candidate_ranges = ranges;
      EXPECT_LT(poles.lost(candidates), poles.lost(all) + bounds[width - 1])
          << "width " << width << ", " << ranges << " ranges";
    }
  }
}

TEST(BeliefPropagationEnergyTest, EdgesOfTheImageAreCheaper) {
  const Plane<std::uint8_t> gray = plane<std::uint8_t>({{20, 20}, {20, 30}});
  const Volume volume({2, 2}, 2);
  const StereoPair pair{gray.view(), gray.view(), {}, {}, volume.pair().costs};
  BeliefPropagationParameters parameters = of_volume(Arithmetic::float32, 2);
  parameters.edge_contrast = 10;
  parameters.edge_floor = 0.25f;
  const double weight = 0.25 + 0.75 * std::exp(-1);
  EXPECT_NEAR(energy(parameters, pair, plane<float>({{0, 0}, {0, 1}}).view()), 2 * weight, 1e-5);
}

TEST(BeliefPropagationParametersTest, WhatTheArithmeticCannotHoldIsRefusedWithOneThatCan) {
  const auto with = [](auto change) {
    BeliefPropagationParameters parameters;
    change(parameters);
    return parameters;
  };
  const BeliefPropagationParameters unfit[] = {
      with([](auto& p) { p.discontinuity_truncation = 100; }),
      with([](auto& p) { p.discontinuity_truncation = 0, p.disparities = 1024; }),
      with([](auto& p) { p.data_weight = 0.001f, p.data_truncation = 10; }),
  };
  for (BeliefPropagationParameters parameters : unfit) {
    expect_refused([&] { parameters.validate(); }, "fixed16 or float32");
    parameters.arithmetic = Arithmetic::fixed16;
    EXPECT_NO_THROW(parameters.validate());
  }
  BeliefPropagationParameters parameters;
  parameters.data_weight = 1e-6f;
  parameters.arithmetic = Arithmetic::fixed16;
  expect_refused([&] { parameters.validate(); }, "data_weight");
  expect_refused([&] { parameters.validate(); }, "arithmetic float32");
  parameters.arithmetic = Arithmetic::float32;
  EXPECT_NO_THROW(parameters.validate());
}

TEST(BeliefPropagationParametersTest, SumsThatHalvesCannotHoldAreRefused) {
  BeliefPropagationParameters parameters;
  parameters.arithmetic = Arithmetic::float16;
  parameters.data_weight = 10;
  parameters.data_truncation = 0;
  expect_refused([&] { parameters.validate(); }, "levels is 5");
  expect_refused([&] { parameters.validate(); }, "bfloat16 or float32");
  parameters.levels = 4;
  EXPECT_NO_THROW(parameters.validate());
  parameters.levels = 5;
  parameters.arithmetic = Arithmetic::bfloat16;
  EXPECT_NO_THROW(parameters.validate());
}

TEST(ConfidenceMapTest, IsRefusedWhereItCannotBe) {
  const SynthPair pair = synth(Scene::layers, {40, 24}, 8);
  for (const Device& device : devices) {
    Result result(pair.size());
    Plane<float> other({41, 24});
    DisparityMap map = result.map();
    map.confidence = other.view();
    expect_refused(
        [&] {
          Matcher(searching(8), device, {{40, 24}}).run(views(pair), map);
        },
        "confidence map is 41×24");
  }
}

TEST(BeliefPropagationMemoryTest, IsLessThanSevenBytesALabel) {
  BeliefPropagationParameters parameters = searching(128);
  parameters.refine.left_right_check = false;
  EXPECT_LT(estimate_memory_bytes(parameters, cpu(2), {{900, 750}}), std::size_t{7} * 900 * 750 * 128);
}

// On the coarsest of five levels, one pixel stands for 256.
TEST(BeliefPropagationTest, CostsThatAddUpToMoreThanAHalfHoldsAreAlikeOnAllDevices) {
  const std::function<float(std::mt19937&)> costs[] = {
      [](auto&) { return 260.0f; }, [](auto& random) { return static_cast<float>(random() % 1001); },
      [](auto& random) { return -static_cast<float>(random() % 100'001); }};
  for (const auto& cost : costs) {
    std::mt19937 random(1);
    std::vector<float> values(21 * 18 * 6);
    for (float& value : values) value = cost(random);
    const Volume volume({21, 18}, 6, values);
    const BeliefPropagationParameters parameters = of_volume(Arithmetic::float16, 6);
    EXPECT_TRUE(same_bytes(match(parameters, reference, volume.pair(), 0xA5, true),
                           match(parameters, cpu(2), volume.pair(), 0x5A, true)));
  }
}

}  // namespace
}  // namespace parallax::test
