// SPDX-License-Identifier: Apache-2.0
// Cases particular to one method in which the cpu device must also give the bytes of the reference, on every
// vector target and thread count.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/census_stages.h"
#include "conformance/random_case.h"
#include "matchers/tiled_belief_propagation/batches.h"
#include "support.h"

namespace parallax::test {
namespace {

class OnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }
};

class BlockConformance : public OnTarget {};
class BeliefPropagationConformance : public OnTarget {};
class CensusConformance : public OnTarget {};
class TiledBeliefPropagationConformance : public OnTarget {};

const auto targets = testing::ValuesIn(cpu_targets());
std::string name_of_target(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}
INSTANTIATE_TEST_SUITE_P(Target, BlockConformance, targets, name_of_target);
INSTANTIATE_TEST_SUITE_P(Target, BeliefPropagationConformance, targets, name_of_target);
INSTANTIATE_TEST_SUITE_P(Target, CensusConformance, targets, name_of_target);
INSTANTIATE_TEST_SUITE_P(Target, TiledBeliefPropagationConformance, targets, name_of_target);

// Ranges far wider than the image: small blocks of pixels, and more labels than a 16-bit lane can count.
TEST_P(BlockConformance, EqualsTheReferenceOnWideRanges) {
  const SynthPair pair = synthesize({.size = {41, 3}, .disparities = 9});
  for (const auto& [lowest, labels] :
       {std::pair{-300, 700}, {-2000, 9000}, {-65000, 66000}, {-1'000'000, 1'000'000}}) {
    // The widest range is slow.
    if (labels == 1'000'000 && GetParam() != cpu_targets().front()) continue;
    BlockParameters parameters;
    parameters.window = 3;
    parameters.min_disparity = lowest;
    parameters.disparities = labels;
    for (const BlockCost cost : {BlockCost::sad, BlockCost::zncc}) {
      parameters.cost = cost;
      ASSERT_TRUE(
          same_bytes(match(parameters, reference, views(pair)), match(parameters, cpu(2), views(pair))))
          << labels << " labels";
    }
  }
}

// The cache cannot hold a row of so many labels.
TEST_P(BeliefPropagationConformance, EqualsTheReferenceInStripsOfColumns) {
  const SynthPair pair = synthesize({.size = {1501, 6}, .disparities = 200});
  BeliefPropagationParameters parameters;
  parameters.disparities = 256;
  parameters.levels = 2;
  parameters.iterations = 4;
  parameters.data_weight = 0.01f;
  parameters.cost = DataCost::absolute_difference;
  parameters.refine = RefineParameters::none();
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::float32, Arithmetic::bfloat16}) {
    if (sanitized && arithmetic == Arithmetic::bfloat16) continue;
    parameters.arithmetic = arithmetic;
    EXPECT_TRUE(same_bytes(match(parameters, reference, views(pair), 0x11, true),
                           match(parameters, cpu(2), views(pair), 0xEE, true)))
        << "arithmetic " << static_cast<int>(arithmetic);
  }
}

// Intermediate results agree too.
TEST_P(CensusConformance, EveryStageEqualsTheReference) {
  for (unsigned seed = 0; seed < (sanitized ? 10 : 70); ++seed) {
    const RandomCase random_case("census", seed);
    const StereoPair pair = random_case.pair();
    const auto run = [&](const Device& device) {
      auto plan =
          make_census_plan(*random_case.parameters().get_if<CensusParameters>(), device, pair.left.format);
      Result result(pair.left.format.size);
      plan->run(pair, result.map());
      return plan;
    };
    const auto expected = run(reference);
    for (const int threads : {1, 2, 7})
      expect_same_stages(*expected, *run(cpu(threads)),
                         std::to_string(threads) + " threads: " + random_case.description());
  }
}

// Any number of threads, going from diagonal to diagonal, gives the reference's result in raster order.
TEST_P(TiledBeliefPropagationConformance, EqualsTheReferenceForEveryTile) {
  const SynthPair pair = synthesize({.size = {139, 75}, .disparities = 5});
  TiledBeliefPropagationParameters parameters = plain_tiled_contest();
  parameters.disparities = 5;
  for (const MessageWidth width : {MessageWidth::bits8, MessageWidth::bits16}) {
    for (const int tile :
         {0, 1, 3, 7, 8, 9, 13, 15, 16, 17, 25, 31, 32, 33, 48, 63, 64, 65, 75, 76, 100, 139, 140}) {
      if (sanitized && tile % 8 != 0 && tile != 13) continue;
      parameters.message_width = width;
      parameters.tile = tile;
      parameters.outer = tile % 2 + 1;
      parameters.inner = tile % 3 + 1;
      // The message width has no effect, so the result is computed once for both widths, and for all vector
      // targets.
      static std::map<int, Result> expected;
      if (expected.count(tile) == 0) expected.emplace(tile, match(parameters, reference, views(pair)));
      for (const int threads : {1, 2, 7})
        ASSERT_TRUE(same_bytes(expected.at(tile), match(parameters, cpu(threads), views(pair))))
            << "tile " << tile << ", message width " << static_cast<int>(width) << ", " << threads
            << " threads";
    }
  }
}

// Each neighbour whose messages a tile reads is in a batch for which the tile's batch waits.
TEST(TiledBeliefPropagationConformanceTest, BatchesWaitForAllNeighbours) {
  using namespace tiled_belief_propagation;
  for (const Size size : {Size{90, 40}, Size{40, 90}, Size{64, 64}, Size{100, 8}, Size{8, 100}, Size{8, 8}}) {
    const TileGrid grid(size, 8);
    for (const int most : {1, 2, 3, 4}) {
      const Batches batches(grid, most);
      const auto expect_waits = [&](int column, int row, int neighbour_column, int neighbour_row,
                                    bool reverse) {
        if (neighbour_column < 0 || neighbour_row < 0 || neighbour_column >= grid.columns ||
            neighbour_row >= grid.rows)
          return;
        const int neighbour = batches.place(neighbour_column, neighbour_row).batch;
        const Batches::Needed needed = batches.needed(batches.place(column, row).batch, reverse);
        EXPECT_TRUE(neighbour >= needed.first && neighbour < needed.last)
            << "tile " << column << ", " << row << " of " << grid.columns << "x" << grid.rows << " by "
            << most;
      };
      for (int row = 0; row < grid.rows; ++row) {
        for (int column = 0; column < grid.columns; ++column) {
          const Batches::Place place = batches.place(column, row);
          EXPECT_EQ(batches[place.batch].column - place.tile, column);
          EXPECT_EQ(batches[place.batch].row + place.tile, row);
          for (const bool reverse : {false, true}) {
            const int step = reverse ? 1 : -1;
            expect_waits(column, row, column + step, row, reverse);
            expect_waits(column, row, column, row + step, reverse);
          }
        }
      }
    }
  }
}

// Costs that push every message to its bound, so that saturated sums must not decide.
TEST(TiledBeliefPropagationConformanceTest, EqualsTheReferenceAtTheBoundsOfBytes) {
  const Size size{40, 33};
  constexpr int labels = 9;
  std::mt19937 random(5);
  std::vector<float> volume(size.pixels() * labels);
  for (float& cost : volume) cost = random_number(random, 0, 2) == 0 ? 0 : 1000;
  const Plane<std::uint8_t> nothing(size);
  const StereoPair pair{nothing.view(), nothing.view(), {}, {}, CostVolume(volume.data(), size, labels)};
  TiledBeliefPropagationParameters parameters = plain_tiled_contest();
  parameters.disparities = labels;
  parameters.cost = DataCost::volume;
  parameters.sub_pixel = SubPixel::parabola;
  for (const int truncation : {40, 41, 42, 43, 44, 254, 255, 256, 8190, 8191}) {
    parameters.discontinuity_cost = truncation;
    parameters.discontinuity_truncation = 1;
    for (const int tile : {0, 8}) {
      parameters.tile = tile;
      parameters.inner = 4;
      EXPECT_TRUE(same_bytes(match(parameters, reference, pair, 0x11, true),
                             match(parameters, cpu(2), pair, 0xEE, true)))
          << "truncation " << truncation << ", tile " << tile;
    }
  }
}

}  // namespace
}  // namespace parallax::test
