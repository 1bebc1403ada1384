// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation: the cpu device gives the bytes of the reference, on every vector target and
// thread count, for random images and parameters.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/random_pair.h"
#include "matchers/tiled_belief_propagation/batches.h"
#include "support.h"

namespace parallax::test {
namespace {

// Bare labels of the contest's model.
TiledBeliefPropagationParameters contest(int labels) {
  TiledBeliefPropagationParameters parameters = preset<TiledBeliefPropagationParameters>("memocode-2013");
  parameters.frame = 0;
  parameters.outside_cost = 10;
  parameters.disparities = labels;
  return parameters;
}

class TiledBeliefPropagationConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_cpu_target(GetParam()); }
  void TearDown() override { force_cpu_target(""); }

  // What the reference finds is found once, for the tests of all targets.
  template <class Find>
  static const Result& expected(int key, const Find& find) {
    static std::map<std::pair<std::string, int>, Result> found;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string name(test.name());
    const auto place = std::pair(name.substr(0, name.find('/')), key);
    const auto known = found.find(place);
    return known != found.end() ? known->second : found.emplace(place, find()).first->second;
  }
};

// Labels that no byte can count; as many data costs as any vector holds, and one more or less.
TEST_P(TiledBeliefPropagationConformance, EqualsTheReferenceForEveryLabelCount) {
  const SynthPair pair = synthesize({.size = {71, 5}, .disparities = 30});
  const StereoPair views{pair.left_view(), pair.right_view()};
  std::vector<int> counts{127, 128, 129, 255, 256, 257, 300, 1024};
  for (int labels = 2; labels <= 70; labels += sanitized ? 11 : 1) counts.push_back(labels);
  for (const int labels : counts) {
    TiledBeliefPropagationParameters parameters = contest(labels);
    parameters.min_disparity = labels % 2 == 1 ? 0 : labels % 7 - 3;
    parameters.cost = static_cast<DataCost>(labels % 4);
    if (labels % 3 == 0) parameters.cost = DataCost::mean_absolute_difference;
    parameters.message_width = labels % 5 == 0 ? MessageWidth::bits16 : MessageWidth::automatic;
    parameters.tile = labels % 3 == 1 ? 0 : labels % 37 + 1;
    // A matcher that has run before, so that memory holds messages of another row.
    Matcher matcher(parameters, cpu(1), pair.left_view().format);
    Result actual(pair.size());
    for (int i = 0; i < 2; ++i) matcher.run(views, actual.map());
    const Result& wanted = expected(labels, [&] { return match(parameters, reference, views); });
    ASSERT_TRUE(same_bytes(wanted, actual)) << labels << " labels";
  }
}

// Going from diagonal to diagonal, by any number of threads, gives what the reference finds in raster order.
TEST_P(TiledBeliefPropagationConformance, EqualsTheReferenceForEveryTile) {
  const SynthPair pair = synthesize({.size = {139, 75}, .disparities = 5});
  const StereoPair views{pair.left_view(), pair.right_view()};
  TiledBeliefPropagationParameters parameters = contest(5);
  for (const MessageWidth width : {MessageWidth::bits8, MessageWidth::bits16}) {
    for (const int tile :
         {0, 1, 3, 7, 8, 9, 13, 15, 16, 17, 25, 31, 32, 33, 48, 63, 64, 65, 75, 76, 100, 139, 140}) {
      if (sanitized && tile % 8 != 0 && tile != 13) continue;
      parameters.message_width = width;
      parameters.tile = tile;
      parameters.outer = tile % 2 + 1;
      parameters.inner = tile % 3 + 1;
      // Whatever the messages are kept in.
      const Result& wanted = expected(tile, [&] { return match(parameters, reference, views); });
      for (const int threads : {1, 2, 7})
        ASSERT_TRUE(same_bytes(wanted, match(parameters, cpu(threads), views)))
            << "tile " << tile << ", message width " << static_cast<int>(width) << ", " << threads
            << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Target, TiledBeliefPropagationConformance, testing::ValuesIn(cpu_targets()),
                         [](const auto& target) { return target.param; });

// Every neighbour that a tile reads messages of is in a batch that its own batch waits for.
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

// Costs that pull every message to its bound: what stops at the highest byte must not decide.
TEST(TiledBeliefPropagationConformanceTest, EqualsTheReferenceAtTheBoundsOfBytes) {
  const Size size{40, 33};
  constexpr int labels = 9;
  std::mt19937 random(5);
  std::vector<float> volume(size.pixels() * labels);
  for (float& cost : volume) cost = random_number(random, 0, 2) == 0 ? 0 : 1000;
  const Plane<std::uint8_t> nothing(size);
  const StereoPair views{nothing.view(), nothing.view(), {}, {}, CostVolume(volume.data(), size, labels)};
  TiledBeliefPropagationParameters parameters = contest(labels);
  parameters.cost = DataCost::volume;
  parameters.sub_pixel = SubPixel::parabola;
  for (const int truncation : {40, 41, 42, 43, 44, 254, 255, 256, 8190, 8191}) {
    parameters.discontinuity_cost = truncation;
    parameters.discontinuity_truncation = 1;
    for (const int tile : {0, 8}) {
      parameters.tile = tile;
      parameters.inner = 4;
      EXPECT_TRUE(same_bytes(match(parameters, reference, views, 0x11, true),
                             match(parameters, cpu(2), views, 0xEE, true)))
          << "truncation " << truncation << ", tile " << tile;
    }
  }
}

}  // namespace
}  // namespace parallax::test
