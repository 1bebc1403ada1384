// SPDX-License-Identifier: Apache-2.0
// Matches across rows: row_tolerance of all methods that have it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/parallax.h"

#include "core/plan.h"
#include "matchers/planning.h"
#include "rows/row_votes.h"
#include "support.h"

namespace parallax::test {
namespace {

struct Label {
  int disparity, row_offset;
};

// The labels of the row offsets −N … N, row by row.
std::vector<Label> labels_of(int disparities, int tolerance) {
  std::vector<Label> labels;
  for (int v = -tolerance; v <= tolerance; ++v)
    for (int d = 0; d < disparities; ++d) labels.push_back({d, v});
  return labels;
}

// The cost of changing from one label to another, by definition.
using Change = std::function<float(Label, Label)>;

// The minimum over l of costs(l) + change(l, l'), less the lowest cost: over all pairs of labels.
std::vector<float> brute_force(const std::vector<float>& costs, const std::vector<Label>& labels,
                               const Change& change) {
  const float least = *std::min_element(costs.begin(), costs.end());
  std::vector<float> message;
  for (const Label to : labels) {
    float lowest = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < labels.size(); ++i)
      lowest = std::min(lowest, costs[i] + change(labels[i], to));
    message.push_back(lowest - least);
  }
  return message;
}

// A match of the reference, which provides the costs and totals of all labels.
class Matched {
 public:
  Matched(const MatcherParameters& parameters, const StereoPair& pair)
      : plan_(detail::make_plan(parameters, reference, pair.left.format, {})) {
    plan_->allocate();
    Result result(pair.left.format.size);
    plan_->run(pair, result.map());
  }
  CostCurve curve(int x, int y) const { return plan_->cost_curve(x, y); }

 private:
  std::unique_ptr<detail::Plan> plan_;
};

SynthPair small_pair() {
  return synthesize({.size = {9, 7}, .disparities = 5});
}

// After one half-sweep, a pixel of the other colour has its data costs and the first messages of its
// neighbours.
TEST(RowToleranceTest, MessagesOfBeliefPropagationAreTheLeastOverAllPairsOfLabels) {
  const SynthPair pair = small_pair();
  BeliefPropagationParameters parameters;
  parameters.disparities = 6;
  parameters.levels = 1;
  parameters.iterations = 1;
  parameters.finest_iterations = 0;
  parameters.edge_contrast = 0;
  parameters.refine = RefineParameters::none();
  constexpr int tolerance = 2, x = 4, y = 2;
  parameters.row_tolerance = tolerance;
  const std::vector<Label> labels = labels_of(parameters.disparities, tolerance);
  for (const Arithmetic arithmetic : {Arithmetic::fixed8, Arithmetic::fixed16}) {
    for (const float weight : {0.001f, 0.4f, 1.5f, 1000.0f}) {
      for (const float truncation : {1.0f, 3.0f, 20.0f}) {
        parameters.arithmetic = arithmetic;
        parameters.row_weight = weight;
        parameters.discontinuity_truncation = truncation;
        const float bound = arithmetic == Arithmetic::fixed8 ? 31 : 4095, scale = bound / truncation;
        const auto units = [&](float cost) {
          return std::clamp(std::floor(cost * scale + 0.5f), 1.0f, bound);
        };
        const Change change = [&](Label from, Label to) {
          const float disparity = static_cast<float>(std::abs(from.disparity - to.disparity)) * units(1),
                      rows = static_cast<float>(std::abs(from.row_offset - to.row_offset)) * units(weight);
          return std::min(std::min(disparity, bound) + rows, bound);
        };
        const Matched matched(parameters, views(pair));
        const CostCurve here = matched.curve(x, y);
        ASSERT_EQ(here.totals.size(), labels.size());
        std::vector<float> expected = here.data_costs;
        for (const auto& [i, j] : {std::pair{x, y - 1}, {x, y + 1}, {x - 1, y}, {x + 1, y}}) {
          const std::vector<float> message = brute_force(matched.curve(i, j).data_costs, labels, change);
          for (std::size_t k = 0; k < labels.size(); ++k) expected[k] += message[k];
        }
        EXPECT_EQ(here.totals, expected) << "weight " << weight << ", truncation " << truncation;
      }
    }
  }
}

// Sums of the path costs of a small image, by definition.
TEST(RowToleranceTest, PathsOfSemiGlobalMatchingAreTheLeastOverAllPairsOfLabels) {
  constexpr Size size{6, 5};
  const SynthPair pair = synthesize({.size = size, .disparities = 4});
  SemiGlobalParameters parameters;
  parameters.disparities = 3;
  parameters.paths = 4;
  parameters.min_disparity = -1;
  parameters.edge_contrast = 0;
  parameters.refine = RefineParameters::none();
  constexpr int tolerance = 2;
  parameters.row_tolerance = tolerance;
  const std::vector<Label> labels = labels_of(parameters.disparities, tolerance);
  for (const auto& [small, large, row] :
       {std::tuple{2, 5, 1}, {2, 5, 9}, {2, 70, 30}, {30, 31, 60}, {5, 120, 8000}}) {
    parameters.small_jump = small;
    parameters.large_jump = large;
    parameters.row_jump = row;
    const Change change = [&, p1 = small, p2 = large, p3 = row](Label from, Label to) {
      const int step = std::abs(from.disparity - to.disparity);
      if (from.row_offset != to.row_offset) return static_cast<float>(p3);
      return static_cast<float>(std::min(p3, step == 0 ? 0 : step == 1 ? p1 : p2));
    };
    const Matched matched(parameters, views(pair));
    // L of the path that reaches a pixel in steps of (step_x, step_y).
    const std::function<std::vector<float>(int, int, int, int)> path = [&](int x, int y, int step_x,
                                                                           int step_y) {
      std::vector<float> costs = matched.curve(x, y).data_costs;
      const int before_x = x - step_x, before_y = y - step_y;
      if (before_x < 0 || before_y < 0 || before_x >= size.width || before_y >= size.height) return costs;
      const std::vector<float> brought =
          brute_force(path(before_x, before_y, step_x, step_y), labels, change);
      for (std::size_t k = 0; k < labels.size(); ++k) costs[k] += brought[k];
      return costs;
    };
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        std::vector<float> sums(labels.size());
        for (const auto& [i, j] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
          const std::vector<float> costs = path(x, y, i, j);
          for (std::size_t k = 0; k < labels.size(); ++k) sums[k] += costs[k];
        }
        ASSERT_EQ(matched.curve(x, y).totals, sums)
            << small << ", " << large << ", " << row << " at " << x << ", " << y;
      }
    }
  }
}

// A pair whose right picture is down(x, y) rows lower.
SynthPair lowered(const SynthPair& pair, const std::function<int(int, int)>& down) {
  SynthPair result = synthesize({.size = pair.size(), .disparities = 12});
  const int height = pair.size().height;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < pair.size().width; ++x)
      std::copy_n(&pair.right.at(3 * x, std::clamp(y - down(x, y), 0, height - 1)), 3,
                  &result.right.at(3 * x, y));
  return result;
}

SynthPair lowered(const SynthPair& pair, int down) {
  return lowered(pair, [=](int, int) { return down; });
}

// The row offset goes from 2 rows higher at the left border to 2 rows lower at the right one.
SynthPair sheared(const SynthPair& pair) {
  return lowered(pair, [width = pair.size().width](int x, int) { return 5 * x / width - 2; });
}

MatcherParameters across_rows(const std::string& method, int tolerance) {
  MatcherParameters parameters = preset(method, "default");
  parameters.disparities() = 16;
  set_parameter(parameters, "row_tolerance", std::to_string(tolerance));
  return parameters;
}

class RowTolerance : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Method, RowTolerance, testing::Values("block", "bp", "census", "sgm"));

TEST_P(RowTolerance, RowsThatDoNotLineUpGiveTheDisparitiesOfTheAlignedPair) {
  const SynthPair pair = synthesize({.size = {160, 96}, .disparities = 12});
  const Result aligned = match(across_rows(GetParam(), 0), cpu(2), views(pair));
  for (const int down : {2, -2, 1}) {
    const SynthPair moved = lowered(pair, down);
    const Result with = match(across_rows(GetParam(), 2), cpu(2), views(moved), 0xA5, true);
    const Result without = match(across_rows(GetParam(), 0), cpu(2), views(moved));
    int same = 0, offsets = 0, same_without = 0, count = 0;
    for (int y = 8; y < 88; ++y) {
      for (int x = 24; x < 152; ++x, ++count) {
        const auto differs = [&](const Result& result) {
          return std::abs(result.disparity.at(x, y) - aligned.disparity.at(x, y)) > 0.5f;
        };
        same += !differs(with);
        same_without += !differs(without);
        offsets += std::abs(with.row_offset.at(x, y) - static_cast<float>(down)) < 0.5f;
      }
    }
    EXPECT_GT(same, 0.98 * count) << down << " rows: " << same << " of " << count;
    EXPECT_GT(offsets, 0.98 * count) << down << " rows: " << offsets << " of " << count;
    if (std::abs(down) == 2) {
      EXPECT_LT(same_without, 0.9 * count) << down << " rows: the pair is too easy";
    }
  }
}

TEST_P(RowTolerance, RowOffsetsAreThereWhereDisparitiesAre) {
  for (const Size size : {Size{1, 1}, {1, 9}, {9, 1}, {2, 3}, {37, 21}, {64, 40}}) {
    const SynthPair pair = synthesize({.size = size, .disparities = std::min(9, size.width)});
    Plane<std::uint8_t> mask(size, 255);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) mask.at(x, y) = (3 * x + 5 * y) % 7 < 2 ? 0 : 255;
    for (const Fill fill : {Fill::planes, Fill::none}) {
      for (const bool masked : {false, true}) {
        for (const int tolerance : {1, 16}) {
          MatcherParameters parameters = across_rows(GetParam(), tolerance);
          parameters.disparities() = 5;
          parameters.refine().fill = fill;
          StereoPair images = views(pair);
          if (masked) images.left_mask = images.right_mask = mask.view();
          const Result result = match(parameters, cpu(1), images, 0xA5, true);
          for (int y = 0; y < size.height; ++y) {
            for (int x = 0; x < size.width; ++x) {
              const float offset = result.row_offset.at(x, y);
              ASSERT_EQ(std::isfinite(result.disparity.at(x, y)), std::isfinite(offset)) << x << ", " << y;
              ASSERT_TRUE(offset == std::numeric_limits<float>::infinity() ||
                          std::abs(offset) <= static_cast<float>(tolerance))
                  << offset;
            }
          }
        }
      }
    }
  }
}

TEST_P(RowTolerance, MapOfRowOffsetsMayBeLeftOut) {
  const SynthPair pair = lowered(synthesize({.size = {80, 40}, .disparities = 12}), 1);
  Matcher matcher(across_rows(GetParam(), 1), cpu(2), views(pair).left.format);
  ASSERT_TRUE(matcher.has_row_offsets());
  EXPECT_FALSE(Matcher(across_rows(GetParam(), 0), cpu(2), views(pair).left.format).has_row_offsets());
  Result with(pair.size(), 0x11, false, true), without(pair.size(), 0xEE);
  matcher.run(views(pair), with.map());
  matcher.run(views(pair), without.map());
  EXPECT_TRUE(same_bytes(with.disparity, without.disparity));
  EXPECT_TRUE(same_bytes(with.status, without.status));
}

// Coarser levels of census matching have their own squares, which reach farther.
MatcherParameters on_one_level(MatcherParameters parameters) {
  if (auto* census = parameters.get_if<CensusParameters>()) census->pyramid_levels = 1;
  return parameters;
}

TEST_P(RowTolerance, MarginsOfTilesGrow) {
  const ImageFormat format{{400, 300}};
  const Margins without = margins(on_one_level(across_rows(GetParam(), 0)), format, 10),
                with = margins(on_one_level(across_rows(GetParam(), 3)), format, 10);
  // The right pixel's own labels reach as far again.
  const bool votes = GetParam() == "block" || GetParam() == "census";
  const int around = votes ? rows::RowVotes::reach : 0;
  EXPECT_EQ(with.top, without.top + 6 + around);
  EXPECT_EQ(with.bottom, without.bottom + 6 + around);
  EXPECT_EQ(with.left, without.left + around);
  EXPECT_EQ(with.right, without.right + around);
  EXPECT_EQ(with.alignment, votes ? rows::RowVotes::side : without.alignment);
}

TEST_P(RowTolerance, TilesGiveNearlyTheUntiledMap) {
  const SynthPair pair = lowered(synthesize({.size = {300, 300}, .disparities = 12}), 2);
  MatcherParameters parameters = on_one_level(across_rows(GetParam(), 2));
  EXPECT_FALSE(margins(parameters, views(pair).left.format).exact);
  const bool votes = GetParam() == "block" || GetParam() == "census";
  if (votes) set_parameter(parameters, "row_prior", "0");
  const TilePlan plan = plan_tiles(parameters, cpu(2), views(pair).left.format, {}, {40, Size{256, 232}});
  ASSERT_GT(plan.tiles.size(), 2u);
  Result tiled(pair.size());
  match_in_tiles(plan, views(pair), tiled.map());
  const Result untiled = match(parameters, cpu(2), views(pair));
  int differ = 0;
  for (int y = 0; y < 300; ++y)
    for (int x = 0; x < 300; ++x)
      differ += !(std::abs(tiled.disparity.at(x, y) - untiled.disparity.at(x, y)) < 0.5f);
  EXPECT_LT(differ, 0.01 * 300 * 300);
  EXPECT_EQ(plan.margins.exact, votes);
  if (votes) expect_same(untiled, tiled, "tiles");
}

TEST(RowToleranceTest, TilesOfCensusMatchingOnSeveralLevelsGiveTheUntiledMap) {
  const SynthPair pair = sheared(synthesize({.size = {700, 640}, .disparities = 12}));
  CensusParameters parameters = *across_rows("census", 2).get_if<CensusParameters>();
  parameters.pyramid_levels = 2;
  parameters.row_prior = 0;
  const Margins around = margins(parameters, views(pair).left.format);
  const Size largest{around.left + around.right + 2 * around.alignment,
                     around.top + around.bottom + 2 * around.alignment};
  const TilePlan plan = plan_tiles(parameters, cpu(2), views(pair).left.format, {}, {.largest = largest});
  ASSERT_GT(plan.tiles.size(), 8u);
  Result tiled(pair.size());
  match_in_tiles(plan, views(pair), tiled.map());
  expect_same(match(parameters, cpu(2), views(pair)), tiled, "tiles");
}

// Neighbouring squares prefer different row offsets, on every level.
TEST(RowToleranceTest, CensusMatchingOfManySquaresEqualsTheReference) {
  const SynthPair pair = sheared(synthesize({.size = {230, 90}, .disparities = 7}));
  Plane<std::uint8_t> mask(pair.size(), 255);
  for (int y = 20; y < 50; ++y)
    for (int x = 60; x < 100; ++x) mask.at(x, y) = 0;
  CensusParameters parameters = *across_rows("census", 3).get_if<CensusParameters>();
  parameters.disparities = 8;
  parameters.window = 3;
  for (const int levels : {1, 3}) {
    for (const int uniqueness : {0, 20}) {
      parameters.pyramid_levels = levels;
      parameters.uniqueness = uniqueness;
      StereoPair images = views(pair);
      if (uniqueness > 0) images.left_mask = images.right_mask = mask.view();
      const Result expected = match(parameters, reference, images, 0x11, true);
      for (const int threads : {1, 3})
        expect_same(expected, match(parameters, cpu(threads), images, 0xEE, true),
                    std::to_string(levels) + " levels, uniqueness " + std::to_string(uniqueness));
    }
  }
}

void expect_refused(const MatcherParameters& parameters, std::initializer_list<std::string> words) {
  expect_error(error_of([&] { Matcher(parameters, cpu(1), {{64, 48}}); }), ErrorCategory::argument, words);
}

TEST_P(RowTolerance, WhatHasNoMeaningAcrossRowsIsRefused) {
  MatcherParameters volume = across_rows(GetParam(), 1), refit = volume;
  refit.refine().refit = 5;
  expect_refused(refit, {"refit is 5", "row_tolerance"});
  if (!capabilities(GetParam()).volume) return;
  set_parameter(volume, "cost", "volume");
  expect_refused(volume, {"row_tolerance is 1", "choose 0 with cost volume"});
  const SynthPair pair = small_pair();
  const Plane<float> disparity(pair.size());
  expect_error(error_of([&] { energy(across_rows(GetParam(), 1), views(pair), disparity.view()); }),
               ErrorCategory::argument, {"row_tolerance is 1", "choose 0"});
}

// Squares of 32×32 pixels, one of which has three columns.
TEST(RowVotesTest, NeighbourhoodsPreferTheLeastSum) {
  Arena arena;
  rows::RowVotes votes({35, 20}, 1, 0);
  votes.reserve(arena);
  arena.allocate();
  votes.reserve(arena);
  ASSERT_EQ(votes.squares(), (Size{2, 1}));
  const auto vote = [&](int square, std::array<int, 3> sums) {
    std::copy(sums.begin(), sums.end(), votes.own(square, 0));
  };
  const auto order = [&](int square) {
    const std::int8_t* first = votes.preferred(square, 0);
    return std::vector<int>(first, first + 3);
  };
  vote(0, {10, 20, 30});
  vote(1, {9, 0, 0});
  votes.settle();
  EXPECT_EQ(order(0), (std::vector<int>{-1, 0, 1}));
  EXPECT_EQ(order(1), order(0));  // each is the other's neighbour
  // Ties go to the lowest |v|, then to the lowest v.
  vote(0, {5, 5, 5});
  vote(1, {0, 0, 0});
  votes.settle();
  EXPECT_EQ(order(0), (std::vector<int>{0, -1, 1}));
  EXPECT_EQ(votes.fraction(0, 0, 0, SubPixel::parabola), 0);
  vote(0, {9, 5, 7});
  votes.settle();
  EXPECT_EQ(votes.fraction(0, 0, 0, SubPixel::v_shape), 0.25f);
  EXPECT_EQ(votes.fraction(0, 0, 0, SubPixel::none), 0);
  EXPECT_EQ(votes.fraction(0, 0, 1, SubPixel::v_shape), 0);  // the last has one neighbour only
}

// A surface of the whole pair ranks the other row offsets lower, the more so the farther they are from it.
TEST(RowVotesTest, ThePairAsAWholeDecidesWhereVotesHardlyDiffer) {
  constexpr Size image{320, 32};
  const auto first_of = [&](int square, double row_prior) {
    Arena arena;
    rows::RowVotes votes(image, 2, row_prior);
    votes.reserve(arena);
    arena.allocate();
    votes.reserve(arena);
    for (int x = 0; x < 10; ++x) {
      const bool wrong = x > 3 && x < 7;
      const std::array<int, 5> sums =
          wrong ? std::array{98, 100, 100, 100, 100} : std::array{300, 300, 200, 100, 200};
      std::copy(sums.begin(), sums.end(), votes.own(x, 0));
    }
    votes.settle();
    return static_cast<int>(votes.preferred(square, 0)[0]);
  };
  EXPECT_EQ(first_of(1, 0), 1);
  EXPECT_EQ(first_of(5, 0), -2);
  // A row more costs 0.01 times the mean of a square, which is 183.
  EXPECT_EQ(first_of(5, 0.01), -2);
  EXPECT_EQ(first_of(5, 0.1), 1);
  EXPECT_EQ(first_of(1, 0.1), 1);
}

// Costs as high as those of 16-bit images with squared differences and the widest window can be.
TEST(RowVotesTest, HighCostsWithAHighPriorKeepTheOrder) {
  constexpr Size image{96, 96};
  Arena arena;
  rows::RowVotes votes(image, 16, 1000);
  votes.reserve(arena);
  arena.allocate();
  votes.reserve(arena);
  constexpr std::int64_t highest = std::int64_t{65535} * 65535 * 31 * 31 * 1024;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      for (int v = -16; v <= 16; ++v) votes.own(x, y)[v + 16] = highest / 24 * (1 + std::abs(v + 7));
  votes.settle();
  for (int i = 0; i < 15; ++i) EXPECT_EQ(std::abs(votes.preferred(1, 1)[i] + 7), (i + 1) / 2) << i;
}

// Costs of squares whose row offsets lie on a surface; rows that are farther off do not fit at all, as in pictures.
std::vector<std::int64_t> costs_of(const rows::RowSurface& surface) {
  constexpr int side = rows::RowOffsetCosts::side;
  const Size image = surface.image;
  const int most = static_cast<int>(surface.highest);
  std::vector<std::int64_t> costs;
  for (int y = 0; y < image.height; y += side) {
    for (int x = 0; x < image.width; x += side) {
      const double expected = surface.over(x, y, side);
      for (int v = -most; v <= most; ++v)
        costs.push_back(std::lround(1000 * std::min(1.0, std::abs(v - expected))));
    }
  }
  return costs;
}

// Also for images with more squares than the fit has cells.
TEST(RowSurfaceTest, IsTheOneOfTheCosts) {
  for (const Size image : {Size{640, 352}, Size{1930, 700}}) {
    for (const rows::RowSurface& surface : {rows::RowSurface{image, -2, 2, {}},
                                            {image, -2, 2, {-1}},
                                            {image, -2, 2, {0, 2}},
                                            {image, -2, 2, {0.5, -0.5, 1}},
                                            {image, -2, 2, {-0.6, 0, 0, 3}},
                                            {image, -2, 2, {0, 0.5, 0, 0, 0, -2}},
                                            {image, -2, 2, {0, 0, 0.2, 0, 2}},
                                            {image, -7, 7, {-3, 2.5, -3}},
                                            {image, -1, 1, {1}}}) {
      std::vector<std::int64_t> costs = costs_of(surface);
      const rows::RowSurface found =
          rows::fit_row_surface({image, static_cast<int>(surface.highest), costs.data()});
      for (const double x : {-0.9, -0.2, 0.9})
        for (const double y : {-0.9, 0.2, 0.9})
          EXPECT_NEAR(found.at(x, y), surface.at(x, y), 0.25)
              << image.width << "x" << image.height << ", " << testing::PrintToString(surface.c) << " at "
              << x << ", " << y;
    }
  }
}

// Squares without texture contribute nothing, and wrong ones are outvoted.
TEST(RowSurfaceTest, FewSquaresDecide) {
  constexpr Size image{320, 320};
  std::vector<std::int64_t> costs = costs_of({image, -2, 2, {0, 2}});
  for (std::size_t square = 0; square < costs.size() / 5; ++square) {
    std::int64_t* const of_square = &costs[5 * square];
    if (square % 5 < 2) std::fill_n(of_square, 5, 500);
    if (square % 10 == 7) std::reverse(of_square, of_square + 5);
  }
  const rows::RowSurface found = rows::fit_row_surface({image, 2, costs.data()});
  EXPECT_NEAR(found.at(-0.8, 0), -1.6, 0.3);
  EXPECT_NEAR(found.at(0, 0), 0, 0.3);
  EXPECT_NEAR(found.at(0.8, -0.8), 1.6, 0.3);
  std::fill(costs.begin(), costs.end(), 7);
  EXPECT_EQ(rows::fit_row_surface({image, 2, costs.data()}).at(-0.6, 0.4), 0);
}

// Columns [first, last) of both pictures become stripes from top to bottom with faint noise, in the same row.
void blur_rows(SynthPair& pair, int first, int last) {
  std::uint32_t state = 1;
  for (int y = 0; y < pair.size().height; ++y) {
    for (int x = first; x < last; ++x) {
      state = state * 1664525u + 1013904223u;
      const auto value = static_cast<std::uint8_t>(100 + x / 3 * 37 % 41 + (state >> 30));
      std::fill_n(&pair.left.at(3 * x, y), 3, value);
      std::fill_n(&pair.right.at(3 * (x - 4), y), 3, value);
    }
  }
}

// The share of pixels in columns [first, last) whose row offset lies within [lowest, highest].
double share_between(const SynthPair& pair, const std::string& method, bool has_prior, int first, int last,
                     float lowest, float highest) {
  MatcherParameters parameters = on_one_level(across_rows(method, 2));
  const char* const strong = method == "sgm" ? "15" : "10";
  set_parameter(parameters, "row_prior", has_prior ? strong : "0");
  const Result result = match(parameters, cpu(2), views(pair), 0xA5, true);
  int count = 0, found = 0;
  for (int y = 8; y < pair.size().height - 8; ++y)
    for (int x = first; x < last; ++x, ++count)
      found += result.row_offset.at(x, y) >= lowest && result.row_offset.at(x, y) <= highest;
  return static_cast<double>(found) / count;
}

TEST_P(RowTolerance, ThePairAsAWholeTellsRowOffsetsOfPlacesThatHardlyDo) {
  SynthPair pair = lowered(synthesize({.size = {512, 128}, .disparities = 12}), 1);
  blur_rows(pair, 188, 324);
  EXPECT_GT(share_between(pair, GetParam(), false, 240, 272, -0.5f, 0.5f), 0.9);
  EXPECT_GT(share_between(pair, GetParam(), true, 240, 272, 0.5f, 1.5f), 0.9);
}

// Rows are off by −2 at the left border, by 2 at the right one.
TEST_P(RowTolerance, ThePairAsAWholeTellsRowOffsetsThatChangeOverTheImage) {
  const SynthPair level = synthesize({.size = {1024, 128}, .disparities = 12});
  SynthPair pair = lowered(level, [](int x, int) { return (x + 128) / 256 - 2; });
  blur_rows(pair, 760, 920);
  EXPECT_GT(share_between(pair, GetParam(), false, 830, 850, -0.5f, 0.5f), 0.9);
  EXPECT_GT(share_between(pair, GetParam(), true, 830, 850, 0.5f, 2), 0.9);
}

// What row offsets −2 … 2 cost because of row_prior, which is 50.
class RowCosts {
 public:
  explicit RowCosts(const SynthPair& pair) : without_(of(0), views(pair)), with_(of(50), views(pair)) {}
  std::vector<float> at(int x, int y) const {
    const std::vector<float> without = without_.curve(x, y).data_costs, with = with_.curve(x, y).data_costs;
    std::vector<float> costs;
    for (std::size_t label = 1; label < with.size(); label += disparities)
      costs.push_back(with[label] - without[label]);
    return costs;
  }

 private:
  static constexpr int disparities = 12;
  static SemiGlobalParameters of(float prior) {
    SemiGlobalParameters parameters;
    parameters.disparities = disparities;
    parameters.paths = 4;
    parameters.window = 3;
    parameters.row_tolerance = 2;
    parameters.row_prior = prior;
    return parameters;
  }
  Matched without_, with_;
};

TEST(RowToleranceTest, DataCostsOfSemiGlobalMatchingGrowWithTheDistanceFromTheSurface) {
  constexpr int side = 160;
  const SynthPair level = synthesize({.size = {side, side}, .disparities = 12});
  EXPECT_EQ(RowCosts(lowered(level, 1)).at(50, 70), (std::vector<float>{250, 150, 50, 0, 50}));
  EXPECT_EQ(RowCosts(lowered(level, -2)).at(50, 70), (std::vector<float>{0, 50, 150, 250, 350}));
  // The surface goes from about −2 to 2.
  const auto expect_tilted = [](const std::function<std::vector<float>(int)>& costs_at) {
    const std::vector<float> first = costs_at(8), middle = costs_at(side / 2), last = costs_at(side - 9);
    EXPECT_NEAR(first[0], 0, 20);
    EXPECT_NEAR(first[4], 330, 30);
    EXPECT_EQ(middle[2], 0);
    EXPECT_NEAR(middle[0], 150, 30);
    EXPECT_NEAR(middle[4], 150, 30);
    EXPECT_NEAR(last[0], 330, 30);
    EXPECT_NEAR(last[4], 0, 20);
  };
  const RowCosts by_column(sheared(level)),
      by_row(lowered(level, [](int, int y) { return 5 * y / side - 2; }));
  expect_tilted([&](int x) { return by_column.at(x, 40); });
  expect_tilted([&](int y) { return by_row.at(40, y); });
}

// Wider than the part that is computed at once.
TEST(RowToleranceTest, SemiGlobalMatchingOfManySquaresEqualsTheReference) {
  const SynthPair pair = sheared(synthesize({.size = {275, 26}, .disparities = 7}));
  Plane<std::uint8_t> mask(pair.size(), 255);
  for (int y = 12; y < 22; ++y)
    for (int x = 60; x < 100; ++x) mask.at(x, y) = 0;
  StereoPair images = views(pair);
  images.left_mask = images.right_mask = mask.view();
  const auto expect_bytes = [&](SemiGlobalParameters parameters, const std::string& what) {
    parameters.row_tolerance = 2;
    parameters.disparities = 9;
    const Result expected = match(parameters, reference, images, 0x11, true);
    for (const int threads : {1, 3})
      expect_same(expected, match(parameters, cpu(threads), images, 0xEE, true), what);
  };
  for (const char* name : {"default", "mgm", "opencv-sgbm", "opencv-sgbm-hh"}) {
    for (const RightMap right_map : {RightMap::sums, RightMap::winners, RightMap::match}) {
      SemiGlobalParameters parameters = *preset("sgm", name).get_if<SemiGlobalParameters>();
      parameters.right_map = right_map;
      expect_bytes(parameters, name);
    }
  }
}

// Path costs of black blocks beside white ones reach the highest data cost, plus that of row offsets, plus a
// jump: 255 still fits in a byte.
TEST(RowToleranceTest, PathCostsOfSemiGlobalMatchingAtTheBoundOfBytes) {
  Plane<std::uint8_t> left({70, 50}), right({70, 50});
  std::mt19937 random(3);
  for (Plane<std::uint8_t>* image : {&left, &right})
    for (int y = 0; y < 50; ++y)
      for (int x = 0; x < 70; ++x)
        image->at(x, y) = x % 7 > 0   ? image->at(x - 1, y)
                          : y % 5 > 0 ? image->at(x, y - 1)
                                      : static_cast<std::uint8_t>(255 * random_number(random, 0, 1));
  const StereoPair pair{left.view(), right.view()};
  for (const int window : {1, 3}) {
    for (const int over : {0, 1, 39}) {
      SemiGlobalParameters parameters;
      const int highest = 100 / (window * window);
      parameters.disparities = 5;
      parameters.row_tolerance = 2;
      parameters.cost = DataCost::absolute_difference;
      parameters.data_truncation = static_cast<float>(highest);
      parameters.outside_cost = highest;
      parameters.window = window;
      parameters.edge_contrast = 0;
      parameters.row_prior = 5;
      parameters.large_jump = 100;
      parameters.row_jump = 255 - highest * window * window - 40 + over;
      const Result expected = match(parameters, reference, pair, 0x11, true);
      expect_same(expected, match(parameters, cpu(2), pair, 0xEE, true),
                  "window " + std::to_string(window) + ", " + std::to_string(parameters.row_jump));
    }
  }
}

// The right image's own labels have row offsets of the opposite sign.
TEST(RowToleranceTest, TheMirroredPairHasASurfaceOfItsOwn) {
  const SynthPair pair = lowered(synthesize({.size = {256, 96}, .disparities = 12}), 1);
  SemiGlobalParameters parameters = *across_rows("sgm", 2).get_if<SemiGlobalParameters>();
  parameters.right_map = RightMap::match;
  parameters.refine.fill = Fill::none;
  int rejected[2];
  for (const bool has_prior : {false, true}) {
    parameters.row_prior = has_prior ? 50 : 0;
    const Result result = match(parameters, cpu(2), views(pair));
    int& count = rejected[has_prior] = 0;
    for (int y = 0; y < 96; ++y)
      for (int x = 0; x < 256; ++x) count += !std::isfinite(result.disparity.at(x, y));
  }
  EXPECT_LT(rejected[1], 1.2 * rejected[0]);
}

TEST(RowToleranceTest, RowPriorsOfSemiGlobalMatchingThatDoNotFitAreRefused) {
  MatcherParameters parameters = across_rows("sgm", 16);
  set_parameter(parameters, "paths", "8");
  set_parameter(parameters, "row_prior", "127.5");
  expect_refused(parameters, {"row_prior is 127.5", "less", "16 bits"});
  set_parameter(parameters, "row_prior", "125");
  Matcher(parameters, cpu(1), {{64, 48}});
}

TEST(RowToleranceTest, AlignedRowsAreRefused) {
  MatcherParameters parameters = across_rows("bp", 1);
  set_parameter(parameters, "rows", "auto");
  expect_refused(parameters, {"rows is auto", "row_tolerance"});
}

TEST(RowToleranceTest, CostCurvesHaveTheBestRowOffsetOfEachDisparity) {
  const SynthPair pair = lowered(synthesize({.size = {80, 40}, .disparities = 12}), 1);
  MatcherParameters parameters = across_rows("bp", 1);
  set_parameter(parameters, "candidate_levels", "0");
  const CostCurve found = cost_curve(parameters, views(pair), 40, 20);
  ASSERT_EQ(found.totals.size(), 16u);
  ASSERT_EQ(found.data_costs.size(), 16u);
  parameters.refine() = RefineParameters::none();
  const CostCurve all = Matched(parameters, views(pair)).curve(40, 20);
  ASSERT_EQ(all.totals.size(), 48u);
  for (std::size_t d = 0; d < 16; ++d)
    EXPECT_EQ(found.totals[d], std::min({all.totals[d], all.totals[16 + d], all.totals[32 + d]}));
}

}  // namespace
}  // namespace parallax::test
