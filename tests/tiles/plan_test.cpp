// SPDX-License-Identifier: Apache-2.0
// The division of pairs into tiles, the memory of tiles, and refused plans.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"
#include "tiles/tiles.h"

namespace parallax::test {
namespace {

constexpr ImageFormat format{{643, 331}, BitDepth::bits8};

BlockParameters block_of(int lowest, int labels) {
  BlockParameters parameters;
  parameters.min_disparity = lowest;
  parameters.disparities = labels;
  parameters.refine.fill = Fill::row;
  return parameters;
}

// Parameters of every method, with few labels. A fill with planes takes more memory than these small tiles.
std::vector<MatcherParameters> every_method() {
  BeliefPropagationParameters floats;
  floats.disparities = 12;
  floats.arithmetic = Arithmetic::float32;
  CensusParameters census;
  census.min_disparity = -9;
  census.disparities = 30;
  BeliefPropagationParameters belief;
  belief.disparities = 12;
  TiledBeliefPropagationParameters tiled;
  tiled.disparities = 12;
  for (RefineParameters* steps : {&floats.refine, &census.refine, &belief.refine, &tiled.refine})
    steps->fill = Fill::row;
  return {block_of(-3, 20), block_of(200, 8), census, belief, floats, tiled};
}

int right_of(const Rectangle& r) {
  return r.x + r.size.width;
}

int bottom_of(const Rectangle& r) {
  return r.y + r.size.height;
}

void expect_margins(const TilePlan& plan, const Tile& tile) {
  const Margins& m = plan.margins;
  const Size image = plan.format.size;
  EXPECT_LE(tile.around.x, std::max(0, tile.inside.x - m.left));
  EXPECT_LE(tile.around.y, std::max(0, tile.inside.y - m.top));
  EXPECT_GE(right_of(tile.around), std::min(image.width, right_of(tile.inside) + m.right));
  EXPECT_GE(bottom_of(tile.around), std::min(image.height, bottom_of(tile.inside) + m.bottom));
}

void expect_well_cut(const TilePlan& plan) {
  const Size image = plan.format.size;
  Plane<std::uint8_t> seen(image);
  for (const Tile& tile : plan.tiles) {
    EXPECT_EQ(&tile - plan.tiles.data(), tile.number);
    EXPECT_EQ(tile.around.size, plan.tiles.front().around.size);
    EXPECT_EQ(tile.around.x % plan.margins.alignment, 0);
    EXPECT_EQ(tile.around.y % plan.margins.alignment, 0);
    EXPECT_GE(tile.around.x, 0);
    EXPECT_GE(tile.around.y, 0);
    EXPECT_LE(right_of(tile.around), image.width);
    EXPECT_LE(bottom_of(tile.around), image.height);
    expect_margins(plan, tile);
    for (int y = tile.inside.y; y < bottom_of(tile.inside); ++y)
      for (int x = tile.inside.x; x < right_of(tile.inside); ++x) ++seen.at(x, y);
  }
  int wrong = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) wrong += seen.at(x, y) != 1;
  EXPECT_EQ(wrong, 0) << "pixels in no tile, or in more than one";
}

// Takes the least limit, in bytes, from the error message.
std::size_t min_limit(const MatcherParameters& parameters, const TileOptions& options = {}) {
  try {
    plan_tiles(parameters, cpu(2), format, {1000}, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::memory);
    const std::string message = error.what(), before = "raise the limit to ";
    const std::size_t at = message.find(before);
    EXPECT_NE(at, std::string::npos) << message;
    if (at != std::string::npos) return std::stoul(message.substr(at + before.size()));
  }
  ADD_FAILURE() << "1000 bytes were enough";
  return 0;
}

TEST(TilePlanTest, InsidesCoverTheImageAndHaveTheirMargins) {
  std::mt19937 random(1);
  for (const MatcherParameters& parameters : every_method()) {
    for (int i = 0; i < 20; ++i) {
      const ImageFormat image{{random_number(random, 1, 900), random_number(random, 1, 500)},
                              BitDepth::bits8};
      if (parameters.get_if<BlockParameters>() && image.size.width <= 200) continue;
      const Margins m = margins(parameters, image, 10);
      const int most = m.alignment * 2 + 60;
      const Size largest{m.left + m.right + random_number(random, m.alignment * 2 + 14, most),
                         m.top + m.bottom + random_number(random, m.alignment * 2 + 14, most)};
      const TilePlan plan = plan_tiles(parameters, cpu(2), image, {}, {10, largest});
      EXPECT_LE(plan.tiles.front().around.size.width, largest.width);
      EXPECT_LE(plan.tiles.front().around.size.height, largest.height);
      expect_well_cut(plan);
    }
  }
}

TEST(TilePlanTest, WhatFitsWholeIsOneTile) {
  for (const MatcherParameters& parameters : every_method()) {
    const TilePlan plan = plan_tiles(parameters, cpu(2), format, {});
    ASSERT_EQ(plan.tiles.size(), 1u);
    EXPECT_EQ(plan.tiles.front().inside, (Rectangle{0, 0, format.size}));
    EXPECT_EQ(plan.tiles.front().around, (Rectangle{0, 0, format.size}));
    const TilePlan same = plan_tiles(parameters, cpu(2), format, {plan.tile_memory_bytes});
    EXPECT_EQ(same.tiles.size(), 1u);
    const TilePlan more = plan_tiles(parameters, cpu(2), format, {plan.tile_memory_bytes - 1});
    EXPECT_GT(more.tiles.size(), 1u);
    EXPECT_LT(more.tile_memory_bytes, plan.tile_memory_bytes);
  }
}

TEST(TilePlanTest, SaysTheLeastLimitThatWouldDo) {
  for (const MatcherParameters& parameters : every_method()) {
    const std::size_t least = min_limit(parameters);
    const TilePlan plan = plan_tiles(parameters, cpu(2), format, {least});
    EXPECT_EQ(std::max(plan.tile_memory_bytes, stitch_memory_bytes(plan, 1)), least);
    expect_well_cut(plan);
    EXPECT_THROW(plan_tiles(parameters, cpu(2), format, {least - 1}), Error);
  }
}

TEST(TilePlanTest, KeepsWithinEveryLimitAndWastesNone) {
  for (const MatcherParameters& parameters : every_method()) {
    const std::size_t least = min_limit(parameters);
    double work = 1e30;
    for (const double factor : {1.0, 1.1, 1.3, 1.7, 2.5, 4.0}) {
      const auto limit = static_cast<std::size_t>(static_cast<double>(least) * factor);
      const TilePlan plan = plan_tiles(parameters, cpu(2), format, {limit});
      EXPECT_LE(plan.tile_memory_bytes, limit);
      expect_well_cut(plan);
      const double now = static_cast<double>(plan.tiles.size()) *
                         static_cast<double>(plan.tiles.front().around.size.pixels());
      EXPECT_LE(now, work);
      work = now;
    }
  }
}

TEST(TilePlanTest, CountsTheMatcherThePairAndTheMap) {
  const BlockParameters parameters = block_of(0, 32);
  const TilePlan plan =
      plan_tiles(parameters, cpu(2), {format.size, BitDepth::bits16}, {}, {.largest = {200, 90}});
  const Size around = plan.tiles.front().around.size;
  BlockParameters in_tiles = parameters;
  in_tiles.refine = RefineParameters::none();
  in_tiles.refine.left_right_check = true;
  const std::size_t matcher = estimate_memory_bytes(in_tiles, cpu(2), {around, BitDepth::bits16});
  const std::size_t pair = around.pixels() * (2 * 3 * 2 + 2), map = around.pixels() * 5;
  EXPECT_GE(plan.tile_memory_bytes, matcher + pair + 2 * map);
  EXPECT_LE(plan.tile_memory_bytes, (matcher + pair + 2 * map) * 11 / 10);
}

TEST(TilePlanTest, PrefersTilesThatWasteLittleOnMargins) {
  // Disparities need margins on the left and right.
  BlockParameters parameters = block_of(0, 200);
  const TilePlan plan = plan_tiles(parameters, cpu(1), {{4000, 4000}, BitDepth::bits8}, {16 << 20});
  const Size around = plan.tiles.front().around.size;
  EXPECT_GT(around.width, 3 * around.height);
}

TEST(TilePlanTest, RefusesWhatHasNoTiles) {
  BlockParameters full_row;
  full_row.full_row = true;
  expect_refused([&] { plan_tiles(full_row, cpu(1), format, {}); }, "full_row");
  BeliefPropagationParameters volume;
  volume.cost = DataCost::volume;
  expect_refused([&] { plan_tiles(volume, cpu(1), format, {}); }, "data costs");
  TiledBeliefPropagationParameters tiled_volume;
  tiled_volume.cost = DataCost::volume;
  expect_refused([&] { plan_tiles(tiled_volume, cpu(1), format, {}); }, "data costs");
}

TEST(TilePlanTest, RefusesWhatAMatcherDoes) {
  expect_refused([] { plan_tiles(block_of(700, 20), cpu(1), format, {}); }, "lie outside an image");
  CensusParameters census;
  census.min_disparity = -800;
  expect_refused([&] { plan_tiles(census, cpu(1), format, {}); }, "lie outside an image");
  BeliefPropagationParameters belief;
  belief.min_disparity = 643;
  expect_refused([&] { plan_tiles(belief, cpu(1), format, {}); }, "lie outside an image");
  expect_refused([] { plan_tiles(block_of(0, 0), cpu(1), format, {}); }, "disparities is 0");
  expect_refused([] { plan_tiles(block_of(0, 9), cpu(1), {{0, 5}, BitDepth::bits8}, {}); }, "image is 0×5");
  expect_refused([] { plan_tiles(block_of(0, 9), cpu(-1), format, {}); }, "threads is -1");
}

TEST(TilePlanTest, RefusesPaddingAndTilesOutOfRange) {
  const BeliefPropagationParameters belief;
  expect_refused([&] { plan_tiles(belief, cpu(1), format, {}, {.padding = -1}); }, "padding is -1");
  expect_refused([&] { plan_tiles(belief, cpu(1), format, {}, {.largest = {-1, 0}}); }, "largest tile width");
  expect_refused(
      [&] {
        plan_tiles(belief, cpu(1), format, {}, {.largest = {50, 40}});
      },
      "tiles of at most 50×40");
}

TEST(MarginsTest, OfBlockMatchingAreWindowAndRange) {
  BlockParameters parameters = block_of(-2, 10);
  parameters.window = 7;
  parameters.prefilter = Prefilter::none;
  parameters.refine.left_right_check = false;
  const Margins bare = margins(parameters, format);
  EXPECT_EQ(bare.left, 3 + 7);
  EXPECT_EQ(bare.right, 3 + 2);
  EXPECT_EQ(bare.top, 3);
  EXPECT_EQ(bare.bottom, 3);
  EXPECT_EQ(bare.alignment, 1);
  EXPECT_TRUE(bare.exact);
  parameters.prefilter = Prefilter::x_sobel;
  parameters.refine.left_right_check = true;
  const Margins checked = margins(parameters, format);
  EXPECT_EQ(checked.left, 4 + 9);
  EXPECT_EQ(checked.right, 4 + 9);
  EXPECT_EQ(checked.top, 4);
}

TEST(MarginsTest, OfBeliefPropagationGrowWithThePadding) {
  for (const MatcherParameters& parameters : every_method()) {
    const Margins none = margins(parameters, format, 0), some = margins(parameters, format, 25);
    const int more = none.exact ? 0 : 25;
    EXPECT_EQ(some.left, none.left + more);
    EXPECT_EQ(some.right, none.right + more);
    EXPECT_EQ(some.top, none.top + more);
    EXPECT_EQ(some.bottom, none.bottom + more);
  }
}

// A level of a tile equals a part of the level of the image only if it starts at one of its pixels.
TEST(MarginsTest, AlignWithPyramidsAndTiles) {
  CensusParameters census;
  census.pyramid_levels = 4;
  EXPECT_EQ(margins(census, format).alignment, 8);
  BeliefPropagationParameters belief;
  belief.levels = 3;
  EXPECT_EQ(margins(belief, format).alignment, 16) << "a tile of candidates on the second level";
  belief.candidate_levels = 1;
  EXPECT_EQ(margins(belief, format).alignment, 8);
  belief.levels = 2;
  belief.candidate_levels = 0;
  EXPECT_EQ(margins(belief, format).alignment, 4);
  TiledBeliefPropagationParameters tiled;
  tiled.tile = 13;
  EXPECT_EQ(margins(tiled, format).alignment, 13);
  tiled.tile = 0;
  EXPECT_EQ(margins(tiled, format).alignment, 1);
}

// The frame, whose pixels have no data costs, must lie outside the tile.
TEST(MarginsTest, LeaveTheFrameOutside) {
  TiledBeliefPropagationParameters tiled;
  const Margins bare = margins(tiled, format);
  tiled.frame = 18;
  EXPECT_EQ(margins(tiled, format).top, bare.top + 18);
}

class TileMatcherTest : public testing::Test {
 protected:
  TileMatcherTest()
      : plan_(plan_tiles(block_of(0, 8), cpu(1), pair_.left_view().format, {}, {.largest = {70, 50}})) {}

  StereoPair views() const { return {pair_.left_view(), pair_.right_view()}; }
  DisparityMap inside(const Tile& tile) {
    return {{map_.disparity.row(0), tile.inside.size}, {map_.status.row(0), tile.inside.size}};
  }
  StereoPair around(const Tile& tile) const {
    const ImageFormat format{tile.around.size, BitDepth::bits8};
    return {{pair_.left.row(0), format, 3, pair_.left.view().stride_bytes},
            {pair_.right.row(0), format, 3, pair_.right.view().stride_bytes},
            {},
            {}};
  }

  SynthPair pair_ = synth(Scene::layers, {160, 96}, 8);
  Result map_{{160, 96}};
  TilePlan plan_;
};

TEST_F(TileMatcherTest, RefusesTilesOfAnotherPlan) {
  TileMatcher matcher(plan_);
  Tile tile = plan_.tiles[1];
  tile.around.size.width += 1;
  expect_refused([&] { matcher.run(tile, around(tile), inside(tile)); }, "tile 1 is not in the plan");
  tile = plan_.tiles[1];
  tile.inside.x = tile.around.x - 1;
  expect_refused([&] { matcher.run(tile, around(tile), inside(tile)); }, "tile 1 is not in the plan");
}

TEST_F(TileMatcherTest, RefusesImagesAndMapsOfAnotherSize) {
  TileMatcher matcher(plan_);
  const Tile& tile = plan_.tiles[1];
  expect_refused([&] { matcher.run(tile, views(), inside(tile)); }, "left image is 160×96");
  expect_refused([&] { matcher.run(tile, around(tile), map_.map()); }, "disparity map is 160×96");
  expect_refused([&] { match_in_tiles(plan_, around(tile), map_.map()); }, "left image");
  expect_refused([&] { match_in_tiles(plan_, views(), inside(tile)); }, "disparity map");
}

TEST_F(TileMatcherTest, TellsNoConfidenceAndNoRowOffsets) {
  Result map({160, 96}, 0, true);
  expect_refused([&] { match_in_tiles(plan_, views(), map.map()); }, "confidence");
  Result across_rows({160, 96}, 0, false, true);
  expect_refused([&] { match_in_tiles(plan_, views(), across_rows.map()); }, "row offsets");
  TilePlan with_rows = plan_;
  with_rows.row_offsets = true;
  expect_refused([&] { match_in_tiles(with_rows, views(), map_.map()); }, "map of row offsets");
  expect_refused([&] { plan_tiles(plan_.parameters, reference, plan_.format, {}, {.row_offsets = true}); },
                 "row_tolerance");
}

TEST_F(TileMatcherTest, RefusesDataCostsOfTheCaller) {
  const std::vector<float> costs(pair_.size().pixels() * 8);
  StereoPair pair = views();
  pair.costs = CostVolume(costs.data(), pair_.size(), 8);
  expect_refused([&] { match_in_tiles(plan_, pair, map_.map()); }, "data costs");
}

TEST_F(TileMatcherTest, RefusesAPlanWithoutTiles) {
  TilePlan empty = plan_;
  empty.tiles.clear();
  expect_refused([&] { TileMatcher matcher(empty); }, "no tiles");
}

// A damaged file may contain such a plan.
TEST_F(TileMatcherTest, RefusesTilesThatDoNotMakeUpTheImage) {
  const auto expect_bad = [](const TilePlan& plan, std::string_view reason) {
    expect_refused([&] { TileMatcher matcher(plan); }, reason);
    expect_refused([&] { stitch(plan, 5, {}); }, reason);
  };
  const auto changed = [&](auto change) {
    TilePlan plan = plan_;
    change(plan.tiles);
    return plan;
  };
  using Tiles = std::vector<Tile>;
  expect_bad(changed([](Tiles& t) { t.pop_back(); }), "do not cover the image");
  expect_bad(changed([](Tiles& t) { std::swap(t[0], t[1]); }), "tile 0 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].number = 5; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].inside.x += 1; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].inside.size.height -= 1; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].around.y -= 1; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].around.x += 1; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].around.x = 2147483647; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t[1].around.size.width += 1; }), "tile 1 of the plan");
  expect_bad(changed([](Tiles& t) { t.back().inside.size.width += 1; }), "of the plan");
  TilePlan unaligned = plan_;
  unaligned.margins.alignment = 0;
  expect_bad(unaligned, "tile 0 of the plan");
}

// A plan of one tile gives the untiled map, for every method.
TEST_F(TileMatcherTest, OneTileIsTheUntiledMap) {
  for (const MatcherParameters& parameters : every_method()) {
    if (const auto* block = parameters.get_if<BlockParameters>(); block && block->min_disparity > 100)
      continue;
    const TilePlan plan = plan_tiles(parameters, cpu(2), pair_.left_view().format, {});
    Result tiled({160, 96}, 0x33);
    match_in_tiles(plan, views(), tiled.map());
    EXPECT_TRUE(same_bytes(match(parameters, cpu(2), views()), tiled));
  }
}

TEST_F(TileMatcherTest, SeveralDevicesGiveTheBytesOfOne) {
  Result alone({160, 96}, 0x33), shared({160, 96}, 0xCC);
  match_in_tiles(plan_, views(), alone.map());
  std::vector<std::size_t> progress;
  match_in_tiles(plan_, {reference, cpu(1), cpu(2)}, views(), shared.map(),
                 [&](std::size_t done, std::size_t total) {
                   progress.push_back(done);
                   EXPECT_EQ(total, plan_.tiles.size());
                 });
  EXPECT_TRUE(same_bytes(alone, shared));
  ASSERT_EQ(progress.size(), plan_.tiles.size());
  for (std::size_t i = 0; i < progress.size(); ++i) EXPECT_EQ(progress[i], i + 1);
}

TEST_F(TileMatcherTest, ATileThatFailsOnSeveralDevicesIsNamed) {
  TilePlan plan = plan_;
  plan.tile_memory_bytes = 1;
  plan.tile_memory_bytes += tiles::bytes_beside_matcher({plan.tiles[0].around.size, BitDepth::bits8}, false);
  expect_error(error_of([&] {
                 match_in_tiles(plan, {cpu(1), cpu(2)}, views(), map_.map());
               }),
               ErrorCategory::memory, {"tile ", "1 byte"});
}

// Belief propagation changes few pixels at seams.
TEST_F(TileMatcherTest, BeliefPropagationIsNearTheUntiledMap) {
  const SynthPair pair = synth(Scene::layers, {260, 200}, 8);
  const StereoPair views{pair.left_view(), pair.right_view()};
  BeliefPropagationParameters belief, floats;
  belief.disparities = floats.disparities = 8;
  floats.arithmetic = Arithmetic::float32;
  TiledBeliefPropagationParameters tiled;
  PlanesParameters planes;
  tiled.disparities = planes.disparities = 8;
  for (const MatcherParameters& parameters : {MatcherParameters(belief), MatcherParameters(floats),
                                              MatcherParameters(tiled), MatcherParameters(planes)}) {
    const Margins m = margins(parameters, pair.left_view().format, 10);
    EXPECT_FALSE(m.exact);
    const TilePlan plan = plan_tiles(parameters, cpu(2), pair.left_view().format, {},
                                     {10, {m.left + m.right + 100, m.top + m.bottom + 90}});
    EXPECT_GE(plan.tiles.size(), parameters.get_if<PlanesParameters>() ? 2u : 4u);
    Result parts(pair.size(), 0x33);
    match_in_tiles(plan, views, parts.map());
    const Result whole = match(parameters, cpu(2), views);
    int changed = 0;
    for (int y = 0; y < 200; ++y)
      for (int x = 0; x < 260; ++x)
        changed += !(whole.disparity.at(x, y) == parts.disparity.at(x, y) ||
                     std::abs(whole.disparity.at(x, y) - parts.disparity.at(x, y)) < 0.5f);
    EXPECT_LT(changed, 260 * 200 / 100);
  }
}

}  // namespace
}  // namespace parallax::test
