// SPDX-License-Identifier: Apache-2.0
// Properties that several methods share; parameters_test.cpp tests those of all methods.

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"

namespace parallax::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

MatcherParameters with(MatcherParameters parameters,
                       const std::vector<std::pair<const char*, const char*>>& values) {
  for (const auto& [name, value] : values) set_parameter(parameters, name, value);
  return parameters;
}

MatcherParameters searching(const std::string& method, const char* labels) {
  return with(preset(method, "default"), {{"disparities", labels}});
}

ErrorMetrics error(const SynthPair& pair, const MatcherParameters& parameters) {
  return error_against_truth(match(parameters, cpu(2), views(pair)), pair);
}

TEST(MethodsTest, FindTheDisparitiesOfSyntheticScenes) {
  struct Bound {
    const char* method;
    Scene scene;
    double bad1;
  };
  for (const auto& [method, scene, bad1] : {Bound{"block", Scene::dots, 0.06},
                                            {"bp", Scene::dots, 0.02},
                                            {"bp", Scene::planes, 0.01},
                                            {"bp", Scene::layers, 0.02},
                                            {"tiled-bp", Scene::dots, 0.03},
                                            {"tiled-bp", Scene::planes, 0.03},
                                            {"tiled-bp", Scene::layers, 0.03},
                                            {"census", Scene::layers, 0.1}}) {
    const ErrorMetrics found = error(synth(scene), searching(method, "20"));
    EXPECT_LT(found.bad1, bad1) << method << ", scene " << static_cast<int>(scene);
    EXPECT_EQ(found.coverage, 1.0) << method << ", scene " << static_cast<int>(scene);
  }
}

// With the views exchanged, disparity d becomes −d.
TEST(MethodsTest, FindNegativeDisparities) {
  const SynthPair pair = synth(Scene::layers);
  Plane<float> truth(pair.size());
  for (int y = 0; y < truth.height(); ++y)
    for (int x = 0; x < truth.width(); ++x) truth.at(x, y) = -pair.right_truth.at(x, y);
  for (const char* method : {"bp", "tiled-bp"}) {
    const Result result = match(with(searching(method, "20"), {{"min_disparity", "-19"}}), cpu(2),
                                {pair.right_view(), pair.left_view()});
    EXPECT_LT(evaluate(result.disparity.view(), truth.view(), pair.right_mask.view()).bad1, 0.05) << method;
  }
}

TEST(MethodsTest, CensusAndCorrelationAreBlindToGainAndOffset) {
  const SynthPair pair = synth(Scene::layers);
  const Plane<std::uint8_t> dim = dimmed(pair.right);
  const ImageView right(dim.row(0), {pair.size(), BitDepth::bits8}, 3, dim.view().stride_bytes);
  const auto bad1 = [&](const MatcherParameters& parameters) {
    return error_against_truth(match(parameters, cpu(2), {pair.left_view(), right}), pair).bad1;
  };
  const MatcherParameters bp = searching("bp", "20"),
                          block = with(searching("block", "20"), {{"prefilter", "none"}, {"fill", "row"}});
  const double census = bad1(with(bp, {{"cost", "census"}})), zncc = bad1(with(block, {{"cost", "zncc"}}));
  EXPECT_LT(census, 0.03);
  EXPECT_GT(bad1(with(bp, {{"cost", "absolute-difference"}})), 5 * census);
  EXPECT_LT(zncc, 0.1);
  EXPECT_GT(bad1(with(block, {{"cost", "sad"}})), 2 * zncc);
  EXPECT_LT(bad1(searching("census", "20")), 0.12);
}

TEST(MethodsTest, ParabolasFindFractionsOfSlantedPlanes) {
  const SynthPair pair = synth(Scene::planes);
  const auto found = [&](const char* method, const char* sub_pixel) {
    return error(pair, with(searching(method, "20"), {{"sub_pixel", sub_pixel}}));
  };
  EXPECT_LT(found("bp", "parabola").bad05, 0.5 * found("bp", "none").bad05);
  EXPECT_LT(found("block", "parabola").a50, 0.6 * found("block", "none").a50);
}

// Belief propagation, untiled and tiled.
class BeliefsTest : public testing::TestWithParam<const char*> {
 protected:
  static MatcherParameters plain(int labels) {
    MatcherParameters parameters = plain_belief_propagation();
    if (GetParam() == std::string("tiled-bp")) parameters = plain_tiled_belief_propagation();
    parameters.disparities() = labels;
    return parameters;
  }
  static MatcherParameters of_volume(int labels) { return with(plain(labels), {{"cost", "volume"}}); }
  static std::vector<float> costs_of(const MatcherParameters& parameters, const StereoPair& pair) {
    if (const auto* bp = parameters.get_if<BeliefPropagationParameters>())
      return belief_propagation_costs(*bp, pair);
    return tiled_belief_propagation_costs(*parameters.get_if<TiledBeliefPropagationParameters>(), pair);
  }

  const std::vector<Device> devices_ = processors(GetParam());
};

INSTANTIATE_TEST_SUITE_P(, BeliefsTest, testing::Values("bp", "tiled-bp"),
                         [](const auto& method) { return name_in_tests(method.param); });

TEST_P(BeliefsTest, UnsurePixelsAreAmbiguous) {
  const SynthPair pair = synth(Scene::layers);
  MatcherParameters parameters = with(searching(GetParam(), "20"), {{"min_confidence", "0.9"}});
  parameters.refine() = RefineParameters::none();
  StereoPair masked = views(pair);
  Plane<std::uint8_t> mask(pair.size(), 1);
  for (int x = 0; x < 30; ++x) mask.at(x, 40) = 0;
  masked.left_mask = mask.view();
  for (const Device& device : devices_) {
    const Result result = match(parameters, device, masked, 0xA5, true);
    int ambiguous = 0, matched = 0;
    for (int y = 0; y < pair.size().height; ++y)
      for (int x = 0; x < pair.size().width; ++x) {
        const float confidence = result.confidence.at(x, y);
        ASSERT_TRUE(confidence >= 0 && confidence <= 1) << confidence;
        const Status status = status_at(result, x, y);
        matched += status == Status::matched;
        ambiguous += status == Status::ambiguous;
        EXPECT_EQ(status == Status::matched, confidence >= 0.9f) << x << ", " << y;
        EXPECT_EQ(status == Status::matched, result.disparity.at(x, y) != infinity) << x << ", " << y;
        if (status != Status::matched && status != Status::ambiguous) {
          EXPECT_EQ(confidence, 0);
        }
      }
    EXPECT_GT(ambiguous, 100) << device.text();
    EXPECT_GT(matched, 5'000) << device.text();
    EXPECT_EQ(status_at(result, 20, 40), Status::input_masked) << device.text();
  }
}

TEST_P(BeliefsTest, MasksAndPixelsWithoutRightPixels) {
  const SynthPair pair = synth(Scene::layers, {50, 20}, 8);
  Plane<std::uint8_t> left_mask(pair.size(), 1);
  for (int x = 20; x < 30; ++x) left_mask.at(x, 10) = 0;
  StereoPair masked = views(pair);
  masked.left_mask = left_mask.view();
  const MatcherParameters parameters = with(plain(8), {{"min_disparity", "4"}});
  for (const Device& device : devices_) {
    const Result result = match(parameters, device, masked, 0xA5, true);
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 50; ++x) {
        const Status expected = left_mask.at(x, y) == 0 ? Status::input_masked
                                : x < 4                 ? Status::out_of_range
                                                        : Status::matched;
        EXPECT_EQ(status_at(result, x, y), expected) << x << ", " << y << " on " << device.text();
        EXPECT_EQ(result.disparity.at(x, y) == infinity, expected != Status::matched) << x << ", " << y;
        if (expected != Status::matched) {
          EXPECT_EQ(result.confidence.at(x, y), 0) << x << ", " << y;
        }
      }
    const Plane<std::uint8_t> nothing(pair.size(), 0);
    masked.right_mask = nothing.view();
    EXPECT_EQ(status_at(match(parameters, device, masked), 40, 5), Status::out_of_range) << device.text();
    masked.right_mask = {};
  }
}

TEST_P(BeliefsTest, VolumesThatAreMissingOrOfAnotherSizeAreRefused) {
  const Volume volume({9, 5}, 4);
  for (const Device& device : devices_) {
    const auto refused = [&](const MatcherParameters& parameters, const CostVolume& costs,
                             std::string_view reason) {
      StereoPair pair = volume.pair();
      pair.costs = costs;
      expect_refused([&] { match(parameters, device, pair); }, reason);
    };
    const CostVolume right = volume.pair().costs;
    CostVolume turned = right;
    turned.size = {5, 9};
    EXPECT_NO_THROW(match(of_volume(4), device, volume.pair()));
    refused(of_volume(5), right, "with 4 labels");
    refused(of_volume(4), turned, "data costs are 5×9 with 4 labels: give 9×5");
    refused(of_volume(4), {}, "no data costs");
    refused(plain(4), right, "leave them out");
    refused(plain_block(), right, "leave them out");
  }
}

TEST_P(BeliefsTest, RowsOfAVolumeMayHaveGaps) {
  std::mt19937 random(1);
  Volume volume({9, 5}, 4);
  std::vector<float> with_gaps(5 * 50, -100);
  for (int y = 0; y < 5; ++y)
    for (int i = 0; i < 36; ++i)
      volume.at(i / 4, y, i % 4) = with_gaps[static_cast<std::size_t>(50 * y + i)] =
          static_cast<float>(random() % 5);
  StereoPair other = volume.pair();
  other.costs.data = with_gaps.data();
  other.costs.stride_bytes = 50 * sizeof(float);
  for (const Device& device : devices_)
    EXPECT_TRUE(same_bytes(match(of_volume(4), device, volume.pair()), match(of_volume(4), device, other)));
}

TEST_P(BeliefsTest, CostsThatAreNotNumbersCountAsTheHighest) {
  const auto with_odd = [](float odd) {
    std::mt19937 random(1);
    Volume volume({21, 18}, 6);
    for (int y = 0; y < 18; ++y)
      for (int i = 0; i < 21 * 6; ++i) {
        const float cost = static_cast<float>(random() % 320) / 8;
        volume.at(i / 6, y, i % 6) = random() % 8 == 0 ? odd : cost;
      }
    return volume;
  };
  std::vector<MatcherParameters> all{of_volume(6)};
  if (GetParam() == std::string("bp"))
    for (const char* arithmetic : {"fixed16", "float32", "float16", "bfloat16"})
      all.push_back(with(of_volume(6), {{"arithmetic", arithmetic}}));
  for (const MatcherParameters& parameters : all)
    for (const auto& [odd, counts_as] : {std::pair(nan, 1e30f), {infinity, 1e30f}, {-infinity, -1e30f}}) {
      const Result expected = match(parameters, reference, with_odd(counts_as).pair(), 0xA5, true);
      for (const Device& device : devices_)
        EXPECT_TRUE(same_bytes(match(parameters, device, with_odd(odd).pair(), 0x5A, true), expected))
            << odd << ", " << device.text() << ", " << to_json(parameters);
    }
}

// The costs that a method computes itself, passed to it as a volume.
TEST_P(BeliefsTest, OwnCostsGivenAsAVolumeLeadToTheSameLabels) {
  const SynthPair pair = synth(Scene::layers, {61, 23}, 12);
  Plane<std::uint8_t> mask(pair.size(), 1);
  for (int y = 0; y < 23; ++y) mask.at(7 * y % 61, y) = 0;
  StereoPair built_in = views(pair);
  built_in.left_mask = mask.view();
  const auto expect_same_labels = [&](const MatcherParameters& parameters) {
    const std::vector<float> costs = costs_of(parameters, built_in);
    StereoPair given = built_in;
    given.costs = CostVolume(costs.data(), pair.size(), 12);
    const MatcherParameters from_volume = with(parameters, {{"cost", "volume"}});
    for (const Device& device : devices_)
      EXPECT_TRUE(same_bytes(match(parameters, device, built_in, 0xA5, true),
                             match(from_volume, device, given, 0xA5, true)))
          << device.text() << ", " << to_json(parameters);
  };
  const bool is_tiled = GetParam() == std::string("tiled-bp");
  for (const std::string& cost : describe_parameter(GetParam(), "cost").choices)
    for (const bool has_outside_cost : {false, true}) {
      if (cost == "volume") continue;
      MatcherParameters parameters = with(searching(GetParam(), "12"), {{"cost", cost.c_str()}});
      if (!has_outside_cost) set_parameter(parameters, "outside_cost", "none");
      parameters.refine().left_right_check = has_outside_cost;
      if (is_tiled) {
        expect_same_labels(with(parameters, {{"tile", "9"}, {"frame", has_outside_cost ? "0" : "3"}}));
        continue;
      }
      // A volume has no candidates.
      set_parameter(parameters, "candidate_levels", "0");
      if (cost != "census") set_parameter(parameters, "data_truncation", "20.5");
      if (has_outside_cost) set_parameter(parameters, "census_tolerance", "3");
      for (const char* arithmetic : {"fixed8", "fixed16", "float32"})
        expect_same_labels(with(parameters, {{"arithmetic", arithmetic}}));
    }
}

// Gray levels of noise around 100, up to a spread on either side.
Plane<std::uint8_t> noise(Size size, int spread, unsigned seed) {
  std::mt19937 random(seed);
  Plane<std::uint8_t> plane(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      plane.at(x, y) = static_cast<std::uint8_t>(
          100 - spread + static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1)));
  return plane;
}

TEST_P(BeliefsTest, CensusWithAToleranceCountsNeighboursDarkerOrBrighterByMore) {
  const Size size{23, 11};
  const int labels = 6, tolerance = 3;
  MatcherParameters parameters =
      with(plain(labels), {{"cost", "census"}, {"data_weight", "1"}, {"data_truncation", "0"}});
  if (GetParam() == std::string("bp")) set_parameter(parameters, "arithmetic", "float32");
  const auto gray = [&](const Plane<std::uint8_t>& plane) {
    return ImageView(plane.row(0), {size, BitDepth::bits8}, 1, plane.view().stride_bytes);
  };
  const auto costs = [&](const Plane<std::uint8_t>& left, const Plane<std::uint8_t>& right,
                         const char* levels) {
    return costs_of(with(parameters, {{"census_tolerance", levels}}), {gray(left), gray(right)});
  };
  const auto bit = [&](const Plane<std::uint8_t>& image, int x, int y, int i, int j) {
    const int centre = image.at(x, y), neighbour = image.at(std::clamp(x + i, 0, size.width - 1),
                                                            std::clamp(y + j, 0, size.height - 1));
    const int kind = (std::abs(i) + j + 3) % 3;
    return kind == 0   ? neighbour < centre
           : kind == 1 ? neighbour < centre - tolerance
                       : neighbour > centre + tolerance;
  };
  const Plane<std::uint8_t> left = noise(size, 6, 1), right = noise(size, 6, 2);
  const std::vector<float> found = costs(left, right, "3");
  for (int y = 0; y < size.height; ++y)
    for (int x = labels - 1; x < size.width; ++x)
      for (int k = 0; k < labels; ++k) {
        int bits = 0;
        for (int j = -3; j <= 3; ++j)
          for (int i = -4; i <= 4; ++i) bits += bit(left, x, y, i, j) != bit(right, x - k, y, i, j);
        ASSERT_EQ(found[static_cast<std::size_t>((y * size.width + x) * labels + k)], bits)
            << x << ", " << y << ", " << k;
      }
  // In noise within the tolerance, a third of the bits remains.
  const auto bits_inside = [&](const char* levels) {
    const std::vector<float> all = costs(noise(size, 1, 3), noise(size, 1, 4), levels);
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<int>(i) / labels % size.width >= labels) sum += all[i];
    return sum;
  };
  EXPECT_LT(bits_inside("3"), 0.4 * bits_inside("0"));
}

// Three labels of 2×2 pixels, and the costs of discontinuities of one label and of two.
struct EnergyCase {
  const char* name;
  MatcherParameters parameters;
  double one, two;
};

std::ostream& operator<<(std::ostream& out, const EnergyCase& c) {
  return out << c.name;
}

class EnergyTest : public testing::TestWithParam<EnergyCase> {
 protected:
  double energy(std::vector<std::vector<float>> map) const {
    return parallax::energy(parameters, volume.pair(), plane<float>(std::move(map)).view());
  }

  const double one = GetParam().one, two = GetParam().two;
  MatcherParameters parameters = with(GetParam().parameters, {{"cost", "volume"}, {"disparities", "3"}});
  Volume volume{{2, 2}, 3, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -2048}};
};

INSTANTIATE_TEST_SUITE_P(
    , EnergyTest,
    testing::Values(EnergyCase{"bp",
                               with(plain_belief_propagation(),
                                    {{"arithmetic", "float32"}, {"discontinuity_truncation", "1.5"}}),
                               1, 1.5},
                    EnergyCase{"tiled_bp_of_one_label",
                               with(plain_tiled_belief_propagation(),
                                    {{"discontinuity_cost", "4"}, {"discontinuity_truncation", "1"}}),
                               4, 4},
                    EnergyCase{"tiled_bp_of_two_labels",
                               with(plain_tiled_belief_propagation(),
                                    {{"discontinuity_cost", "4"}, {"discontinuity_truncation", "2"}}),
                               4, 8}),
    [](const auto& info) { return info.param.name; });

TEST_P(EnergyTest, IsDataCostsAndDiscontinuityCosts) {
  EXPECT_EQ(energy({{0, 0}, {0, 0}}), 1 + 8 + 64 + 512);
  EXPECT_EQ(energy({{0, 1}, {2, 2}}), 1 + 16 + 256 - 2048 + one + two + one);
}

TEST_P(EnergyTest, LeavesOutPixelsWithoutAValue) {
  EXPECT_EQ(energy({{infinity, 1}, {2, 2}}), 16 + 256 - 2048 + one);
  EXPECT_EQ(energy({{infinity, infinity}, {infinity, infinity}}), 0);
}

TEST_P(EnergyTest, RoundsToLabels) {
  EXPECT_EQ(energy({{0.5f, 0.75f}, {1.5f, 1.5f}}), energy({{0, 1}, {1, 1}}));
  EXPECT_EQ(energy({{-0.25f, 0.25f}, {2.25f, 2.5f}}), energy({{0, 0}, {2, 2}}));
}

TEST_P(EnergyTest, CountsLabelsFromTheFirst) {
  const double first = energy({{0, 1}, {2, 2}});
  parameters.min_disparity() = -7;
  EXPECT_EQ(energy({{-7, -6}, {-5, -5}}), first);
}

TEST_P(EnergyTest, RefusesDisparitiesThatAreNotLabels) {
  for (const float wrong : {-1.0f, -0.5f, 2.75f, 3.0f, -infinity, nan})
    expect_refused([&] { energy({{0, 1}, {2, wrong}}); }, "disparity is");
}

TEST_P(EnergyTest, RefusesMapsOfAnotherSize) {
  const Plane<float> other({3, 2});
  expect_refused([&] { parallax::energy(parameters, volume.pair(), other.view()); }, "disparity map is 3×2");
}

TEST(BeliefsCostsTest, RefuseArgumentsAsMatchersDo) {
  const Volume volume({2, 2}, 3);
  BeliefPropagationParameters untiled = plain_belief_propagation();
  TiledBeliefPropagationParameters tiled = plain_tiled_belief_propagation();
  untiled.disparities = tiled.disparities = 3;
  untiled.cost = tiled.cost = DataCost::volume;
  StereoPair without = volume.pair();
  without.costs = {};
  expect_refused([&] { belief_propagation_costs(untiled, without); }, "data costs");
  expect_refused([&] { tiled_belief_propagation_costs(tiled, without); }, "data costs");
  untiled.levels = 0;
  tiled.inner = 0;
  expect_refused([&] { belief_propagation_costs(untiled, volume.pair()); }, "levels is 0");
  expect_refused([&] { tiled_belief_propagation_costs(tiled, volume.pair()); }, "inner is 0");
}

TEST(EnergyOfIterationsTest, Falls) {
  const auto energy_of = [](const SynthPair& pair, const MatcherParameters& parameters) {
    const Result result = match(parameters, cpu(2), views(pair));
    return energy(parameters, views(pair), result.disparity.view());
  };
  for (const Scene scene : {Scene::dots, Scene::planes, Scene::layers}) {
    const SynthPair pair = synth(scene);
    for (const char* arithmetic : {"fixed8", "fixed16", "float32"}) {
      const MatcherParameters bp =
          with(plain_belief_propagation(), {{"disparities", "20"}, {"arithmetic", arithmetic}});
      EXPECT_LT(energy_of(pair, with(bp, {{"iterations", "8"}})),
                energy_of(pair, with(bp, {{"iterations", "1"}})))
          << "scene " << static_cast<int>(scene) << ", " << arithmetic;
    }
    const MatcherParameters tiled =
        with(plain_tiled_belief_propagation(), {{"disparities", "20"}, {"tile", "8"}});
    EXPECT_LT(energy_of(pair, with(tiled, {{"inner", "8"}})), energy_of(pair, with(tiled, {{"inner", "1"}})))
        << "scene " << static_cast<int>(scene);
  }
}

}  // namespace
}  // namespace parallax::test
