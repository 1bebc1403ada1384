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

StereoPair views(const SynthPair& pair) {
  return {pair.left_view(), pair.right_view()};
}

ErrorMetrics error(const SynthPair& pair, const BeliefPropagationParameters& parameters) {
  const Result result = match(parameters, cpu(2), views(pair));
  return evaluate(result.disparity.view(), pair.left_truth.view(), pair.left_mask.view());
}

BeliefPropagationParameters searching(int disparities) {
  BeliefPropagationParameters parameters;
  parameters.disparities = disparities;
  return parameters;
}

// The model of eight bits on one level, in integers that nothing overflows, with or without a bound on data
// costs.
class WideGrid {
 public:
  static constexpr int bound = 31;

  struct Edge {
    int slope, truncation;
  };

  // data[label][pixel], of which the least of each pixel is 0; edges by pixel, to the right and down.
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

// Costs that lie around everything that could overflow, or be cut wrongly.
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
  for (unsigned seed = 0; seed < 400; ++seed) {
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
  std::vector<float> volume;
  for (std::size_t i = 0; i < size.pixels(); ++i)
    for (int label = 0; label < 2; ++label) volume.push_back(static_cast<float>(cost(i, label)) / 31.0f);
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.disparities = 2;
  parameters.levels = 1;
  parameters.iterations = 1;
  parameters.discontinuity_truncation = 1;
  const Plane<std::uint8_t> gray(size);
  const StereoPair pair{gray.view(), gray.view(), {}, {}, {volume.data(), size, 2}};
  for (const Device& device : devices)
    EXPECT_EQ(match(parameters, device, pair).disparity.at(1, 1), 1.0f) << device.text();
}

// T = 31 / slope labels: a label of discontinuity costs `slope` units, and one unit 1 / slope.
TEST(EightBitsTest, GiveTheLabelsOfWideIntegers) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Adversary adversary(seed);
    const Size size = adversary.size;
    WideGrid grid(size, adversary.data, adversary.flat_edges());
    for (int iteration = 0; iteration < adversary.iterations; ++iteration) grid.iterate(iteration);
    std::vector<float> volume;
    for (std::size_t i = 0; i < size.pixels(); ++i)
      for (const auto& costs : adversary.data)
        volume.push_back(static_cast<float>(costs[i]) / static_cast<float>(adversary.slope));
    BeliefPropagationParameters parameters = plain_belief_propagation();
    parameters.cost = DataCost::volume;
    parameters.disparities = adversary.labels;
    parameters.levels = 1;
    parameters.iterations = adversary.iterations;
    parameters.discontinuity_truncation = 31.0f / static_cast<float>(adversary.slope);
    const Plane<std::uint8_t> gray(size);
    const StereoPair pair{gray.view(), gray.view(), {}, {}, {volume.data(), size, adversary.labels}};
    for (const Device& device : devices) {
      const Result result = match(parameters, device, pair);
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
  const std::vector<float> volume{0, 20 / 31.0f, 9 / 31.0f, 3, 0, 3};
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.disparities = 3;
  parameters.levels = 1;
  parameters.iterations = 1;
  parameters.discontinuity_truncation = 1;
  const Plane<std::uint8_t> gray({2, 1});
  const StereoPair pair{gray.view(), gray.view(), {}, {}, {volume.data(), {2, 1}, 3}};
  for (const Device& device : devices)
    EXPECT_EQ(match(parameters, device, pair).disparity.at(0, 0), 1.0f) << device.text();
}

TEST(BeliefPropagationTest, FindsTheDisparitiesOfSyntheticScenes) {
  struct Bound {
    Scene scene;
    double bad1;
  };
  for (const auto& [scene, bad1] : {Bound{Scene::dots, 0.02}, {Scene::planes, 0.01}, {Scene::layers, 0.02}}) {
    const ErrorMetrics found = error(synth(scene), searching(20));
    EXPECT_LT(found.bad1, bad1) << "scene " << static_cast<int>(scene);
    EXPECT_EQ(found.coverage, 1.0) << "scene " << static_cast<int>(scene);
  }
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

// The right view as the left one: what was at disparity d is at −d.
TEST(BeliefPropagationTest, FindsNegativeDisparities) {
  const SynthPair pair = synth(Scene::layers);
  Plane<float> truth(pair.size());
  for (int y = 0; y < truth.height(); ++y)
    for (int x = 0; x < truth.width(); ++x) truth.at(x, y) = -pair.right_truth.at(x, y);
  BeliefPropagationParameters parameters = searching(20);
  parameters.min_disparity = -19;
  const Result result = match(parameters, cpu(2), {pair.right_view(), pair.left_view()});
  EXPECT_LT(evaluate(result.disparity.view(), truth.view(), pair.right_mask.view()).bad1, 0.05);
}

TEST(BeliefPropagationTest, CensusIsBlindToGainAndOffset) {
  const SynthPair pair = synth(Scene::layers);
  const Plane<std::uint8_t> dim = dimmed(pair.right);
  const ImageView right(dim.row(0), {pair.size(), Depth::bits8}, 3, dim.view().stride_bytes);
  BeliefPropagationParameters parameters = searching(20);
  const auto bad1 = [&](DataCost cost) {
    parameters.cost = cost;
    const Result result = match(parameters, cpu(2), {pair.left_view(), right});
    return evaluate(result.disparity.view(), pair.left_truth.view(), pair.left_mask.view()).bad1;
  };
  const double blind = bad1(DataCost::census);
  EXPECT_LT(blind, 0.03);
  EXPECT_GT(bad1(DataCost::absolute_difference), 5 * blind);
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

TEST(BeliefPropagationTest, ParabolaFindsFractionsOfSlantedPlanes) {
  const SynthPair pair = synth(Scene::planes);
  BeliefPropagationParameters with = searching(20), without = with;
  without.sub_pixel = SubPixel::none;
  EXPECT_LT(error(pair, with).bad05, 0.5 * error(pair, without).bad05);
}

TEST(BeliefPropagationTest, UnsurePixelsAreAmbiguous) {
  const SynthPair pair = synth(Scene::layers);
  BeliefPropagationParameters parameters = searching(20);
  parameters.refine = RefineParameters::none();
  parameters.min_confidence = 0.3f;
  StereoPair masked = views(pair);
  Plane<std::uint8_t> mask(pair.size(), 1);
  for (int x = 0; x < 30; ++x) mask.at(x, 40) = 0;
  masked.left_mask = mask.view();
  for (const Device& device : devices) {
    const Result result = match(parameters, device, masked, 0xA5, true);
    int ambiguous = 0, matched = 0;
    for (int y = 0; y < pair.size().height; ++y) {
      for (int x = 0; x < pair.size().width; ++x) {
        const float confidence = result.confidence.at(x, y);
        ASSERT_TRUE(confidence >= 0 && confidence <= 1) << confidence;
        const Status status = status_at(result, x, y);
        matched += status == Status::matched;
        ambiguous += status == Status::ambiguous;
        EXPECT_EQ(status == Status::matched, confidence >= 0.3f) << x << ", " << y;
        EXPECT_EQ(status == Status::matched, result.disparity.at(x, y) != no_value) << x << ", " << y;
        if (status != Status::matched && status != Status::ambiguous) {
          EXPECT_EQ(confidence, 0);
        }
      }
    }
    EXPECT_GT(ambiguous, 100);
    EXPECT_GT(matched, 10'000);
    EXPECT_EQ(status_at(result, 20, 40), Status::input_masked);
  }
}

// Beliefs of a pixel without neighbours are its costs: 2 for label 1, and at best 3.5 for one that is not
// next to it: a gap of 1.5, with T = 4.
TEST(BeliefPropagationTest, ConfidenceIsTheShareOfTheGapInItselfAndTheTruncation) {
  const std::vector<float> volume{2.5f, 2, 2.25f, 3.5f, 9};
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.arithmetic = Arithmetic::fixed16;
  parameters.disparities = 5;
  parameters.discontinuity_truncation = 4;
  const Plane<std::uint8_t> gray({1, 1});
  const StereoPair pair{gray.view(), gray.view(), {}, {}, {volume.data(), {1, 1}, 5}};
  for (const Device& device : devices)
    EXPECT_NEAR(match(parameters, device, pair, 0xA5, true).confidence.at(0, 0), 1.5f / 5.5f, 0.001f);
}

TEST(BeliefPropagationTest, PixelsWithoutRightPixelsAreOutOfRange) {
  const SynthPair pair = synth(Scene::layers);
  const Plane<std::uint8_t> nothing(pair.size(), 0);
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.disparities = 16;
  parameters.min_disparity = 4;
  for (const Device& device : devices) {
    const Result result = match(parameters, device, views(pair), 0xA5, true);
    for (int x = 0; x < pair.size().width; ++x) {
      EXPECT_EQ(status_at(result, x, 50), x < 4 ? Status::out_of_range : Status::matched) << x;
      EXPECT_EQ(result.disparity.at(x, 50) == no_value, x < 4) << x;
      if (x < 4) {
        EXPECT_EQ(result.confidence.at(x, 50), 0) << x;
      }
    }
    StereoPair masked = views(pair);
    masked.right_mask = nothing.view();
    EXPECT_EQ(status_at(match(parameters, device, masked), 80, 50), Status::out_of_range);
  }
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

// What one level up knows reaches where there is nothing to see.
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

TEST(BeliefPropagationCostsTest, LeadToTheSameLabels) {
  const SynthPair pair = synth(Scene::layers, {61, 23}, 12);
  Plane<std::uint8_t> mask(pair.size(), 1);
  for (int y = 0; y < 23; ++y) mask.at(7 * y % 61, y) = 0;
  StereoPair built_in = views(pair);
  built_in.left_mask = mask.view();
  for (int choice = 0; choice < 4 * 3 * 2; ++choice) {
    BeliefPropagationParameters parameters = searching(12);
    parameters.cost = static_cast<DataCost>(choice % 4);
    parameters.arithmetic = static_cast<Arithmetic>(choice / 4 % 3);
    parameters.data_truncation = parameters.cost == DataCost::census ? 0 : 20.5f;
    if (choice / 12 == 1) parameters.outside_cost.reset();
    parameters.refine.left_right_check = choice / 12 == 0;
    const std::vector<float> costs = belief_propagation_costs(parameters, built_in);
    StereoPair given = built_in;
    given.costs = CostVolume(costs.data(), pair.size(), 12);
    BeliefPropagationParameters from_volume = parameters;
    from_volume.cost = DataCost::volume;
    for (const Device& device : devices)
      EXPECT_TRUE(same_bytes(match(parameters, device, built_in, 0xA5, true),
                             match(from_volume, device, given, 0xA5, true)))
          << device.text() << ", cost " << choice % 4 << ", arithmetic " << choice / 4 % 3 << ", outside "
          << choice / 12;
  }
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

// Three labels of 2×2 pixels, T = 1.5.
class EnergyTest : public testing::Test {
 protected:
  EnergyTest() {
    parameters.cost = DataCost::volume;
    parameters.arithmetic = Arithmetic::float32;
    parameters.disparities = 3;
    parameters.discontinuity_truncation = 1.5f;
  }
  double energy(std::vector<std::vector<float>> map) const {
    const Plane<float> disparity = plane<float>(std::move(map));
    return parallax::energy(parameters, {gray.view(), gray.view(), {}, {}, {volume.data(), {2, 2}, 3}},
                            disparity.view());
  }

  BeliefPropagationParameters parameters = plain_belief_propagation();
  Plane<std::uint8_t> gray = plane<std::uint8_t>({{20, 20}, {20, 30}});
  std::vector<float> volume{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -2048};
};

TEST_F(EnergyTest, IsDataCostsAndDiscontinuityCosts) {
  EXPECT_EQ(energy({{0, 0}, {0, 0}}), 1 + 8 + 64 + 512);
  EXPECT_EQ(energy({{0, 1}, {2, 2}}), 1 + 16 + 256 - 2048 + 1 + 1.5 + 1 + 0);
}

TEST_F(EnergyTest, LeavesOutWhatHasNoValue) {
  EXPECT_EQ(energy({{no_value, 1}, {2, 2}}), 16 + 256 - 2048 + 1);
  EXPECT_EQ(energy({{no_value, no_value}, {no_value, no_value}}), 0);
}

TEST_F(EnergyTest, RoundsToLabels) {
  EXPECT_EQ(energy({{0.5f, 0.75f}, {1.5f, 1.5f}}), energy({{0, 1}, {1, 1}}));
  EXPECT_EQ(energy({{-0.25f, 0.25f}, {2.25f, 2.5f}}), energy({{0, 0}, {2, 2}}));
}

TEST_F(EnergyTest, CountsLabelsFromTheFirst) {
  const double first = energy({{0, 1}, {2, 2}});
  parameters.min_disparity = -7;
  EXPECT_EQ(energy({{-7, -6}, {-5, -5}}), first);
}

TEST_F(EnergyTest, EdgesOfTheImageAreCheaper) {
  parameters.edge_contrast = 10;
  parameters.edge_floor = 0.25f;
  const double weight = 0.25 + 0.75 * std::exp(-1);
  EXPECT_NEAR(energy({{0, 0}, {0, 1}}), 1 + 8 + 64 + 1024 + 2 * weight, 1e-5);
}

TEST_F(EnergyTest, RefusesDisparitiesThatAreNoLabels) {
  for (const float wrong : {-1.0f, -0.5f, 2.75f, 3.0f, -no_value, std::numeric_limits<float>::quiet_NaN()})
    expect_refused([&] { energy({{0, 1}, {2, wrong}}); }, "disparity is");
}

TEST_F(EnergyTest, RefusesWhatDoesNotFit) {
  const Plane<float> other({3, 2});
  const StereoPair pair{gray.view(), gray.view(), {}, {}, {volume.data(), {2, 2}, 3}};
  expect_refused([&] { parallax::energy(parameters, pair, other.view()); }, "disparity map is 3×2");
  StereoPair without = pair;
  without.costs = {};
  expect_refused([&] { belief_propagation_costs(parameters, without); }, "data costs");
  parameters.levels = 0;
  expect_refused([&] { belief_propagation_costs(parameters, pair); }, "levels is 0");
}

TEST(EnergyOfIterationsTest, Falls) {
  for (const Scene scene : {Scene::dots, Scene::planes, Scene::layers}) {
    for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32}) {
      const SynthPair pair = synth(scene);
      BeliefPropagationParameters parameters = plain_belief_propagation();
      parameters.disparities = 20;
      parameters.arithmetic = arithmetic;
      std::vector<double> energies;
      for (const int iterations : {1, 2, 4, 8}) {
        parameters.iterations = iterations;
        const Result result = match(parameters, cpu(2), views(pair));
        energies.push_back(energy(parameters, views(pair), result.disparity.view()));
      }
      EXPECT_LT(energies.back(), energies.front())
          << "scene " << static_cast<int>(scene) << ", arithmetic " << static_cast<int>(arithmetic);
    }
  }
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
  expect_refused([&] { parameters.validate(); }, "levels is 5");
  expect_refused([&] { parameters.validate(); }, "bfloat16 or float32");
  parameters.levels = 4;
  EXPECT_NO_THROW(parameters.validate());
  parameters.levels = 5;
  parameters.arithmetic = Arithmetic::bfloat16;
  EXPECT_NO_THROW(parameters.validate());
}

TEST(BeliefPropagationParametersTest, RangesThatLeadOutOfTheImageAreRefused) {
  BeliefPropagationParameters parameters = searching(8);
  for (const Device& device : devices) {
    for (const int lowest : {40, 1'000'000, -47}) {
      parameters.min_disparity = lowest;
      expect_refused([&] { Matcher(parameters, device, {{40, 24}}); }, "lie outside an image 40 pixels wide");
    }
    for (const int lowest : {39, -46}) {
      parameters.min_disparity = lowest;
      EXPECT_NO_THROW(Matcher(parameters, device, {{40, 24}}));
    }
  }
}

class VolumeTest : public testing::Test {
 protected:
  Plane<std::uint8_t> gray{{9, 5}};
  std::vector<float> costs = std::vector<float>(9 * 5 * 4);
  StereoPair pair{gray.view(), gray.view(), {}, {}, {costs.data(), {9, 5}, 4}};
};

TEST_F(VolumeTest, MissingOrOfAnotherSizeIsRefused) {
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.disparities = 4;
  for (const Device& device : devices) {
    EXPECT_NO_THROW(match(parameters, device, pair));
    StereoPair wrong = pair;
    wrong.costs = {};
    expect_refused([&] { match(parameters, device, wrong); }, "no data costs");
    wrong.costs = {costs.data(), {5, 9}, 4};
    expect_refused([&] { match(parameters, device, wrong); }, "data costs are 5×9 with 4 labels: give 9×5");
    wrong.costs = {costs.data(), {9, 5}, 3};
    expect_refused([&] { match(parameters, device, wrong); }, "with 3 labels");
  }
}

TEST_F(VolumeTest, ForAMatcherOfItsOwnCostsIsRefused) {
  for (const Device& device : devices) {
    expect_refused([&] { match(plain_block(), device, pair); }, "leave them out");
    expect_refused([&] { match(searching(4), device, pair); }, "leave them out");
  }
}

TEST_F(VolumeTest, RowsMayLieApart) {
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.disparities = 4;
  std::vector<float> apart(5 * 50, -100);
  std::mt19937 random(1);
  for (int y = 0; y < 5; ++y)
    for (int i = 0; i < 36; ++i)
      costs[static_cast<std::size_t>(36 * y + i)] = apart[static_cast<std::size_t>(50 * y + i)] =
          static_cast<float>(random() % 5);
  StereoPair other = pair;
  other.costs.data = apart.data();
  other.costs.stride_bytes = 50 * sizeof(float);
  for (const Device& device : devices)
    EXPECT_TRUE(same_bytes(match(parameters, device, pair), match(parameters, device, other)));
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

TEST(BeliefPropagationPresetTest, PublishedOnesAreAsPublished) {
  for (const char* name : {"grauer-gray-2010", "grauer-gray-2019"}) {
    const BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>(name);
    EXPECT_EQ(parameters.cost, DataCost::absolute_difference);
    EXPECT_EQ(parameters.levels, 5);
    EXPECT_EQ(parameters.data_truncation, 15);
    EXPECT_FALSE(parameters.outside_cost.has_value());
    EXPECT_EQ(parameters.edge_contrast, 0);
    EXPECT_EQ(parameters.sub_pixel, SubPixel::none);
    EXPECT_EQ(parameters.min_confidence, 0);
    EXPECT_FALSE(parameters.refine.left_right_check);
    EXPECT_EQ(parameters.refine.speckle_size, 0);
    EXPECT_EQ(parameters.refine.fill, Fill::none);
    EXPECT_EQ(parameters.refine.median, 0);
  }
  const BeliefPropagationParameters first = preset<BeliefPropagationParameters>("grauer-gray-2010");
  EXPECT_EQ(first.disparities, 15);
  EXPECT_EQ(first.iterations, 10);
  EXPECT_EQ(first.smoothing, 1);
  EXPECT_EQ(first.data_weight, 0.07f);
  EXPECT_EQ(first.discontinuity_truncation, 1.7f);
  const BeliefPropagationParameters second = preset<BeliefPropagationParameters>("grauer-gray-2019");
  EXPECT_EQ(second.iterations, 7);
  EXPECT_EQ(second.smoothing, 0);
  EXPECT_EQ(second.data_weight, 0.1f);
  EXPECT_EQ(second.discontinuity_truncation, 0);
}

TEST(BeliefPropagationMemoryTest, IsLessThanSevenBytesALabel) {
  BeliefPropagationParameters parameters = searching(128);
  parameters.refine.left_right_check = false;
  EXPECT_LT(estimate_memory_bytes(parameters, cpu(2), {{900, 750}}), std::size_t{7} * 900 * 750 * 128);
}

TEST(BeliefPropagationMemoryTest, IsAsEstimated) {
  const ImageFormat format{{90, 75}};
  for (const Device& device : devices)
    for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float32, Arithmetic::bfloat16}) {
      BeliefPropagationParameters parameters = searching(33);
      parameters.arithmetic = arithmetic;
      EXPECT_EQ(estimate_memory_bytes(parameters, device, format),
                Matcher(parameters, device, format).memory_bytes());
    }
}

// Costs for the labels of every pixel, with images that nobody looks at.
struct CostsAlone {
  static constexpr Size size{21, 18};
  static constexpr int labels = 6;
  Plane<std::uint8_t> gray{size};
  std::vector<float> values;

  // cost(random) for each.
  template <class Cost>
  explicit CostsAlone(const Cost& cost) : values(size.pixels() * labels) {
    std::mt19937 random(1);
    for (float& value : values) value = cost(random);
  }
  StereoPair pair() const { return {gray.view(), gray.view(), {}, {}, {values.data(), size, labels}}; }
};

BeliefPropagationParameters of_volume(Arithmetic arithmetic) {
  BeliefPropagationParameters parameters = plain_belief_propagation();
  parameters.cost = DataCost::volume;
  parameters.disparities = CostsAlone::labels;
  parameters.arithmetic = arithmetic;
  return parameters;
}

constexpr Arithmetic arithmetics[] = {Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32,
                                      Arithmetic::float16, Arithmetic::bfloat16};

// On the coarsest of five levels 256 pixels are one.
TEST(BeliefPropagationTest, CostsThatAddUpToMoreThanAHalfHoldsAreAlikeOnAllDevices) {
  const CostsAlone volumes[] = {
      CostsAlone([](auto&) { return 260.0f; }),
      CostsAlone([](auto& random) { return static_cast<float>(random() % 1001); }),
      CostsAlone([](auto& random) { return -static_cast<float>(random() % 100'001); })};
  for (const CostsAlone& volume : volumes) {
    const Result expected = match(of_volume(Arithmetic::float16), reference, volume.pair(), 0xA5, true);
    const Result found = match(of_volume(Arithmetic::float16), cpu(2), volume.pair(), 0x5A, true);
    EXPECT_TRUE(same_bytes(found, expected));
  }
}

TEST(BeliefPropagationTest, CostsThatAreNoNumbersCountAsTheHighest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto with = [](float odd) {
    return CostsAlone([odd](auto& random) {
      const float cost = static_cast<float>(random() % 100) / 8;
      return random() % 8 == 0 ? odd : cost;
    });
  };
  for (const Arithmetic arithmetic : arithmetics) {
    const BeliefPropagationParameters parameters = of_volume(arithmetic);
    for (const auto& [odd, counts_as] : {std::pair(std::numeric_limits<float>::quiet_NaN(), 1e30f),
                                         std::pair(infinity, 1e30f), std::pair(-infinity, -1e30f)}) {
      const Result expected = match(parameters, reference, with(counts_as).pair(), 0xA5, true);
      for (const Device& device : devices)
        EXPECT_TRUE(same_bytes(match(parameters, device, with(odd).pair(), 0x5A, true), expected))
            << odd << ", arithmetic " << static_cast<int>(arithmetic) << ", " << device.text();
    }
  }
}

}  // namespace
}  // namespace parallax::test
