// SPDX-License-Identifier: Apache-2.0
// Planes as labels: planes are found to a fraction of a pixel, moves lower the energy, and offers are what
// planes.h says.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "matchers/planes/expansion.h"
#include "matchers/planning.h"
#include "support.h"

namespace parallax::test {
namespace {

using planes::Cell, planes::CellGrid, planes::Offers, planes::per_pixel, planes::Plane, planes::PlaneMap;

// A smooth random texture; x may lie between pixels.
double texture(double x, int y) {
  double value = 128;
  for (int wave = 1; wave <= 6; ++wave)
    value += 18 * std::sin(x * (0.23 * wave + 0.05) + 1.7 * wave * wave + y * (0.31 * wave - 0.9));
  return std::clamp(value, 0.0, 255.0);
}

struct SlantedPair {
  static constexpr Size size{120, 80};
  static constexpr double slope_x = 0.11, slope_y = -0.07, first = 9;

  static double truth(int x, int y) { return first + slope_x * x + slope_y * y; }
  SlantedPair() : left(size), right(size) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        left.at(x, y) = static_cast<std::uint8_t>(std::lround(texture(x, y)));
        // Left column u is seen at u − d(u), so right column x shows u = (x + first + slope_y·y)/(1 − slope_x).
        right.at(x, y) =
            static_cast<std::uint8_t>(std::lround(texture((x + first + slope_y * y) / (1 - slope_x), y)));
      }
  }
  StereoPair views() const { return {gray_view(left), gray_view(right)}; }
  static ImageView gray_view(const parallax::Plane<std::uint8_t>& image) {
    return {image.row(0), {image.size(), BitDepth::bits8}, 1, image.view().stride_bytes};
  }

  parallax::Plane<std::uint8_t> left, right;
};

PlanesParameters bare(int disparities) {
  PlanesParameters parameters;
  parameters.disparities = disparities;
  parameters.refine = RefineParameters::none();
  return parameters;
}

// Errors of pixels whose right pixel is well inside the image.
std::vector<double> errors(const MatcherParameters& parameters, const SlantedPair& pair) {
  const Result found = match(parameters, cpu(2), pair.views());
  std::vector<double> errors;
  for (int y = 6; y < SlantedPair::size.height - 6; ++y)
    for (int x = 30; x < SlantedPair::size.width - 6; ++x)
      errors.push_back(std::abs(static_cast<double>(found.disparity.at(x, y)) - SlantedPair::truth(x, y)));
  return errors;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(PlanesTest, ASlantedPlaneIsFoundToAFractionOfAPixel) {
  const SlantedPair pair;
  BeliefPropagationParameters whole;
  whole.disparities = 32;
  whole.refine = RefineParameters::none();
  const std::vector<double> found = errors(bare(32), pair), start = errors(whole, pair);
  EXPECT_LT(mean(found), 0.02);
  EXPECT_LT(*std::max_element(found.begin(), found.end()), 0.25);
  EXPECT_LT(mean(found), mean(start) / 4);
}

std::unique_ptr<detail::Plan> plan_of(const PlanesParameters& parameters, const Device& device,
                                      const StereoPair& pair) {
  auto plan = detail::make_plan(parameters, device, pair.left.format, {});
  plan->allocate();
  return plan;
}

std::int64_t energy_after(const PlanesParameters& parameters, const Device& device, const StereoPair& pair) {
  const auto plan = plan_of(parameters, device, pair);
  Result result(pair.left.format.size);
  plan->run(pair, result.map());
  return dynamic_cast<const planes::Expansion&>(*plan).energy();
}

TEST(PlanesTest, MovesNeverRaiseTheEnergy) {
  for (const Scene scene : {Scene::layers, Scene::planes}) {
    const SynthPair pair = synth(scene, {90, 70}, 16);
    PlanesParameters parameters = bare(16);
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (int rounds = 1; rounds <= 4; ++rounds) {
      parameters.rounds = rounds;
      const std::int64_t energy = energy_after(parameters, cpu(2), views(pair));
      EXPECT_EQ(energy, energy_after(parameters, reference, views(pair)));
      EXPECT_LE(energy, before) << rounds;
      before = energy;
    }
  }
}

TEST(PlanesTest, CellsOfAColourShareNoPixelAndNoEdge) {
  for (const Size size : {Size{61, 45}, Size{3, 70}, Size{130, 2}}) {
    std::set<std::pair<int, int>> visited;
    planes::for_each_grid(PlanesParameters{}, size, [&](const CellGrid& grid) {
      parallax::Plane<std::uint8_t> taken(size);
      for (int y = 0; y < size.height; ++y) std::fill_n(taken.row(y), size.width, std::uint8_t{0});
      for (int index = 0; index < grid.count(); ++index) {
        const Cell cell = grid.cell(index);
        if (grid.side == planes::cell_sides[0]) {
          EXPECT_TRUE(visited.emplace(cell.x, cell.y).second);
        }
        const planes::Box& r = cell.region;
        for (int y = std::max(r.top - 1, 0); y < std::min(r.bottom + 1, size.height); ++y)
          for (int x = std::max(r.left - 1, 0); x < std::min(r.right + 1, size.width); ++x) {
            EXPECT_EQ(taken.at(x, y), 0) << x << ", " << y;
            if (x >= r.left && x < r.right && y >= r.top && y < r.bottom) taken.at(x, y) = 1;
          }
      }
    });
    EXPECT_EQ(visited.size(),
              to_size(divide_round_up(size.width, 4)) * to_size(divide_round_up(size.height, 4)));
  }
}

// Planes of all pixels of an image, in memory of their own.
struct OwnPlanes {
  explicit OwnPlanes(Size size) : disparity(size), slope_x(size), slope_y(size), data(size) {}
  PlaneMap map() { return {disparity.view(), slope_x.view(), slope_y.view(), data.view()}; }

  parallax::Plane<std::int32_t> disparity;
  parallax::Plane<std::int16_t> slope_x, slope_y, data;
};

TEST(PlanesTest, APlaneIsFittedToDisparitiesWithoutSlopes) {
  const Size size{60, 60};
  for (const auto& [slope_x, slope_y] : {std::pair{20, -13}, {0, 40}, {-30, 30}}) {
    OwnPlanes own(size);
    const PlaneMap map = own.map();
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) map.set(x, y, {5000 + slope_x * x + slope_y * y, 0, 0}, 0);
    for (const int side : planes::cell_sides) {
      const Cell cell = planes::make_cell(1, 1, side, size);
      Offers offers(cell, 0);
      for (int index = 0; index < 2; ++index) {
        const Plane picked = offers.next(index, map);
        EXPECT_EQ(picked.slope_x, 0);
        EXPECT_GE(picked.disparity, 5000 - 40 * 2 * side);
      }
      const Plane plane = offers.next(2, map);
      EXPECT_NEAR(plane.slope_x, slope_x, 2) << side;
      EXPECT_NEAR(plane.slope_y, slope_y, 2) << side;
      EXPECT_NEAR(plane.disparity, 5000 + slope_x * cell.region.left + slope_y * cell.region.top, 32) << side;
    }
  }
}

TEST(PlanesTest, RowsAreInterpolatedAsInDoublePrecision) {
  std::mt19937 random(3);
  constexpr int width = 41;
  std::uint16_t row[width], shifted[width];
  for (std::uint16_t& sample : row) sample = static_cast<std::uint16_t>(random() % 65281);
  for (int quarter = 0; quarter < 4; ++quarter) {
    planes::shift_row(row, width, quarter, shifted);
    for (int x = 0; x < width; ++x) {
      const auto at = [&](int i) { return static_cast<double>(row[std::clamp(x + i, 0, width - 1)]); };
      const double f = quarter / 4.0;
      const double expected =
          at(0) +
          0.5 * f *
              (at(1) - at(-1) +
               f * (2 * at(-1) - 5 * at(0) + 4 * at(1) - at(2) + f * (3 * (at(0) - at(1)) + at(2) - at(-1))));
      EXPECT_NEAR(shifted[x], std::clamp(expected, 0.0, 65535.0), 0.51) << quarter << " " << x;
    }
  }
}

TEST(PlanesTest, DisparitiesLeadToTheNearestQuarterOfAPixel) {
  for (int x = 0; x < 20; ++x)
    for (int disparity = -3 * per_pixel; disparity < 3 * per_pixel; disparity += 7) {
      const double exact = 4 * (x - static_cast<double>(disparity) / per_pixel);
      EXPECT_NEAR(planes::right_quarter(x, disparity), exact, 0.5);
    }
}

TEST(PlanesTest, ReachableColumnsAreThoseOfAnyLabel) {
  PlanesParameters parameters;
  const std::uint8_t mask[12] = {0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0};
  for (const std::uint8_t* given : {static_cast<const std::uint8_t*>(nullptr), mask})
    for (const int first : {-20, -4, 0, 2, 9, 40})
      for (const int disparities : {2, 3, 11}) {
        parameters.min_disparity = first;
        parameters.disparities = disparities;
        std::uint8_t reachable[12];
        planes::write_reachable(parameters, given, 12, reachable);
        for (int x = 0; x < 12; ++x) {
          bool expected = false;
          for (int d = first; d < first + disparities; ++d)
            expected |= x - d >= 0 && x - d < 12 && (given == nullptr || given[x - d] != 0);
          EXPECT_EQ(reachable[x] != 0, expected) << x << " from " << first << ", " << disparities;
        }
      }
}

TEST(PlanesTest, FindsTheTruthOfSlantedScenesMoreCloselyThanBeliefPropagation) {
  const SynthPair pair = synth(Scene::planes, {240, 160}, 32);
  PlanesParameters parameters;
  BeliefPropagationParameters start;
  parameters.disparities = start.disparities = 32;
  const ErrorMetrics found = error_against_truth(match(parameters, cpu(2), views(pair)), pair),
                     before = error_against_truth(match(start, cpu(2), views(pair)), pair);
  EXPECT_LT(found.average, 0.8 * before.average);
}

TEST(PlanesTest, RefusesWhatItDoesNotTake) {
  PlanesParameters parameters;
  parameters.data_weight = 0.3f;
  expect_refused([&] { parameters.validate(); }, "data_weight is 0.3: choose a number from 0.001 to 0.25");
  parameters = {};
  parameters.discontinuity_truncation = 2.5f;
  expect_refused([&] { parameters.validate(); },
                 "discontinuity_truncation is 2.5: choose a number from 0.01 to 2");
}

}  // namespace
}  // namespace parallax::test
