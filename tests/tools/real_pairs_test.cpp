// SPDX-License-Identifier: Apache-2.0
// Real pairs with ground truth. Skipped without the data.

#include <gtest/gtest.h>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures.h"

namespace parallax::test {
namespace {

struct RealPair {
  const char* name;
  int disparities;
  double scale;
  // Bounds on bad1, in per cent of the pixels that both cameras see; docs/ has the figures.
  double block_bound, belief_propagation_bound, census_bound, tiled_belief_propagation_bound;
};

std::ostream& operator<<(std::ostream& out, const RealPair& pair) {
  return out << pair.name;
}

class RealPairs : public testing::TestWithParam<RealPair> {};

struct Pictures {
  explicit Pictures(const fs::path& folder)
      : left(tool::read_picture((folder / "left.png").string())),
        right(tool::read_picture((folder / "right.png").string())) {}
  StereoPair pair() const { return {left.view(), right.view()}; }

  tool::Picture left, right;
};

// Bad1 of the default preset of a method.
double bad1(const char* method, const RealPair& pair, const fs::path& folder) {
  const Pictures pictures(folder);
  MatcherParameters parameters = preset(method, "default");
  parameters.disparities() = pair.disparities;
  const Plane<float> truth = tool::read_disparity((folder / "groundtruth.png").string(), pair.scale);
  const Plane<std::uint8_t> mask = tool::read_mask((folder / "nonocc.png").string());
  const Result result = match(parameters, cpu(2), pictures.pair());
  return 100 * evaluate(result.disparity.view(), truth.view(), mask.view()).bad1;
}

void expect_near_bound(double bad1, double bound) {
  EXPECT_LT(bad1, bound);
  EXPECT_GT(bad1, 0.5 * bound) << "far better than documented: is the evaluation right?";
}

TEST_P(RealPairs, ErrorStaysWhereItIs) {
  const RealPair pair = GetParam();
  const fs::path folder = data_folder() / "middlebury2003" / pair.name;
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
  expect_near_bound(bad1("block", pair, folder), pair.block_bound);
  expect_near_bound(bad1("bp", pair, folder), pair.belief_propagation_bound);
  expect_near_bound(bad1("census", pair, folder), pair.census_bound);
  expect_near_bound(bad1("tiled-bp", pair, folder), pair.tiled_belief_propagation_bound);
}

INSTANTIATE_TEST_SUITE_P(Middlebury2003, RealPairs,
                         testing::Values(RealPair{"tsukuba", 16, 16, 8, 5, 8, 6.5},
                                         RealPair{"venus", 20, 8, 3, 0.9, 2, 1.6},
                                         RealPair{"teddy", 60, 4, 12, 7, 12, 6},
                                         RealPair{"cones", 60, 4, 7, 4, 7, 5.5}),
                         [](const auto& pair) { return std::string(pair.param.name); });

// Shares of pixels off by more than a quarter and by more than half a pixel, where both cameras see.
struct SubPixelErrors {
  double quarter, half;
};

Plane<float> twice(View<const float> map) {
  Plane<float> result(map.size);
  for (int y = 0; y < map.size.height; ++y)
    for (int x = 0; x < map.size.width; ++x) result.at(x, y) = 2 * map.at(x, y);
  return result;
}

TEST(RealPairRefitTest, BringsDisparitiesNearerToTheTruth) {
  const fs::path folder = data_folder() / "middlebury2014" / "Piano";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
  const Pictures pictures(folder);
  const Plane<float> truth = tool::read_disparity((folder / "disp0GT.pfm").string(), 0);
  const Plane<std::uint8_t> mask = tool::read_mask((folder / "mask0nocc.png").string());
  for (const char* method : {"bp", "tiled-bp"}) {
    const auto errors = [&](int window) {
      MatcherParameters parameters = preset(method, "default");
      parameters.disparities() = 64;
      parameters.refine().refit = window;
      const Result result = match(parameters, cpu(2), pictures.pair());
      const Plane<float> map = twice(result.disparity.view()), twice_truth = twice(truth.view());
      return SubPixelErrors{evaluate(map.view(), twice_truth.view(), mask.view()).bad05,
                            evaluate(result.disparity.view(), truth.view(), mask.view()).bad05};
    };
    const SubPixelErrors without = errors(0), with = errors(7);
    EXPECT_LT(with.quarter, 0.9 * without.quarter) << method;
    EXPECT_LT(with.half, without.half) << method;
  }
}

struct PublishedPair {
  const char* name;
  int disparities;
  double scale;
  double bad1, bad2;  // percentages for float32 with preset grauer-gray-2019
};

std::ostream& operator<<(std::ostream& out, const PublishedPair& pair) {
  return out << pair.name;
}

class PublishedPairs : public testing::TestWithParam<PublishedPair> {};

TEST_P(PublishedPairs, BytesAreAsGoodAsFloats) {
  const PublishedPair pair = GetParam();
  const fs::path folder = data_folder() / "papers" / pair.name;
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
  const Pictures pictures(folder);
  const Plane<float> truth = tool::read_disparity((folder / "truth.png").string(), pair.scale);
  const auto error = [&](Arithmetic arithmetic) {
    BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>("grauer-gray-2019");
    parameters.disparities = pair.disparities;
    parameters.arithmetic = arithmetic;
    const Result result = match(parameters, cpu(2), pictures.pair());
    return evaluate(result.disparity.view(), truth.view());
  };
  const ErrorMetrics bytes = error(Arithmetic::fixed8), floats = error(Arithmetic::float32);
  constexpr double margin = 0.2;
  EXPECT_LE(100 * bytes.bad1, 100 * floats.bad1 + margin);
  EXPECT_LE(100 * bytes.bad2, 100 * floats.bad2 + margin);
  EXPECT_NEAR(100 * floats.bad1, pair.bad1, 0.1);
  EXPECT_NEAR(100 * floats.bad2, pair.bad2, 0.1);
}

INSTANTIATE_TEST_SUITE_P(GrauerGray2019, PublishedPairs,
                         testing::Values(PublishedPair{"tsukubaSet", 16, 16, 3.93, 3.58},
                                         PublishedPair{"venus", 21, 8, 3.19, 2.52},
                                         PublishedPair{"barn1", 32, 8, 4.70, 3.91},
                                         PublishedPair{"conesQuarterSize", 64, 4, 17.26, 13.42}),
                         [](const auto& pair) { return std::string(pair.param.name); });

TEST(RealPairEnergyTest, FallsWithTheIterations) {
  const fs::path folder = data_folder() / "papers" / "tsukubaSet";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": set PARALLAX_DATA";
  const Pictures pictures(folder);
  const StereoPair pair = pictures.pair();
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float32}) {
    BeliefPropagationParameters parameters = preset<BeliefPropagationParameters>("grauer-gray-2010");
    parameters.arithmetic = arithmetic;
    std::vector<double> energies;
    for (const int iterations : {1, 2, 4, 8}) {
      parameters.iterations = iterations;
      const Result result = match(parameters, cpu(2), pair);
      energies.push_back(energy(parameters, pair, result.disparity.view()));
    }
    EXPECT_LT(energies.back(), energies.front()) << "arithmetic " << static_cast<int>(arithmetic);
  }
}

}  // namespace
}  // namespace parallax::test
