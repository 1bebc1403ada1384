// SPDX-License-Identifier: Apache-2.0
#include "parallax/evaluate.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
View<const T> row(const std::vector<T>& values) {
  return {values.data(), {static_cast<int>(values.size()), 1}};
}

ErrorMetrics metrics(const std::vector<float>& disparity, const std::vector<float>& truth) {
  return evaluate(row(disparity), row(truth));
}

using test::expect_refused;

TEST(EvaluateTest, PerfectMapHasNoError) {
  const ErrorMetrics m = metrics({0, 1.5f, -3}, {0, 1.5f, -3});
  EXPECT_EQ(m.count, 3u);
  for (const double error :
       {m.bad05, m.bad1, m.bad2, m.bad3, m.bad4, m.bad5, m.average, m.rms, m.a50, m.a90, m.a95, m.a99, m.d1})
    EXPECT_EQ(error, 0);
  EXPECT_EQ(m.coverage, 1);
  EXPECT_EQ(m.mismatches, 0u);
}

TEST(EvaluateTest, EveryMetricOfTenKnownErrors) {
  // Errors of 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4 and 5, in both directions.
  const ErrorMetrics m =
      metrics({10, 10.25f, 9.5f, 10.75f, 9, 11.5f, 8, 13, 6, 15}, std::vector<float>(10, 10));
  EXPECT_EQ(m.count, 10u);
  EXPECT_DOUBLE_EQ(m.bad05, 0.7);
  EXPECT_DOUBLE_EQ(m.bad1, 0.5);
  EXPECT_DOUBLE_EQ(m.bad2, 0.3);
  EXPECT_DOUBLE_EQ(m.bad3, 0.2);
  EXPECT_DOUBLE_EQ(m.bad4, 0.1);
  EXPECT_DOUBLE_EQ(m.bad5, 0);
  EXPECT_DOUBLE_EQ(m.average, 1.8);
  EXPECT_DOUBLE_EQ(m.rms, std::sqrt(5.8125));
  EXPECT_EQ(m.a50, 1.5);
  EXPECT_EQ(m.a90, 5);
  EXPECT_EQ(m.a95, 5);
  EXPECT_EQ(m.a99, 5);
  EXPECT_DOUBLE_EQ(m.d1, 0.2);
  EXPECT_EQ(m.coverage, 1);
  EXPECT_EQ(m.mismatches, 7u);
}

TEST(EvaluateTest, ThresholdsAreNotBadThemselves) {
  const ErrorMetrics m = metrics({0.5f, 1, 2, 3, 4, 5, 6, 6}, std::vector<float>(8, 0));
  EXPECT_EQ(m.bad05, 0.875);
  EXPECT_EQ(m.bad1, 0.75);
  EXPECT_EQ(m.bad2, 0.625);
  EXPECT_EQ(m.bad3, 0.5);
  EXPECT_EQ(m.bad4, 0.375);
  EXPECT_EQ(m.bad5, 0.25);
}

TEST(EvaluateTest, QuantilesAreElementsOfTheSortedErrors) {
  std::vector<float> errors(200);
  for (std::size_t i = 0; i < 200; ++i) errors[i] = static_cast<float>(i * 77 % 200);  // each of 0…199 once
  const ErrorMetrics m = metrics(errors, std::vector<float>(200, 0));
  EXPECT_EQ(m.a50, 100);
  EXPECT_EQ(m.a90, 180);
  EXPECT_EQ(m.a95, 190);
  EXPECT_EQ(m.a99, 198);
}

TEST(EvaluateTest, QuantileIndexIsRoundedDown) {
  const ErrorMetrics m = metrics({2, 0, 1}, {0, 0, 0});
  EXPECT_EQ(m.a50, 1);
  EXPECT_EQ(m.a90, 2);
  EXPECT_EQ(metrics({3}, {0}).a50, 3);
}

TEST(EvaluateTest, PixelWithoutAValueIsBadButInNoAverage) {
  const ErrorMetrics m = metrics({infinity, nan, -infinity, 10.25f}, {10, 10, 10, 10});
  EXPECT_EQ(m.count, 4u);
  for (const double share : {m.bad05, m.bad1, m.bad2, m.bad3, m.bad4, m.bad5, m.d1}) EXPECT_EQ(share, 0.75);
  EXPECT_EQ(m.coverage, 0.25);
  EXPECT_EQ(m.mismatches, 3u);
  for (const double error : {m.average, m.rms, m.a50, m.a90, m.a95, m.a99}) EXPECT_EQ(error, 0.25);
}

TEST(EvaluateTest, AveragesOfNothingAreNan) {
  const ErrorMetrics m = metrics({infinity, nan}, {1, 2});
  EXPECT_EQ(m.count, 2u);
  for (const double average : {m.average, m.rms, m.a50, m.a90, m.a95, m.a99})
    EXPECT_TRUE(std::isnan(average));
  for (const double share : {m.bad05, m.bad1, m.bad2, m.bad3, m.bad4, m.bad5, m.d1}) EXPECT_EQ(share, 1);
  EXPECT_EQ(m.coverage, 0);
  EXPECT_EQ(m.mismatches, 2u);
}

TEST(EvaluateTest, KittiOutlierIsBeyondThreePixelsAndFivePerCent) {
  EXPECT_EQ(metrics({104}, {100}).d1, 0);   // 4 pixels, 4 %
  EXPECT_EQ(metrics({12.5f}, {10}).d1, 0);  // 2.5 pixels, 25 %
  EXPECT_EQ(metrics({13}, {10}).d1, 0);     // exactly 3 pixels
  EXPECT_EQ(metrics({105}, {100}).d1, 0);   // exactly 5 %
  EXPECT_EQ(metrics({13.25f}, {10}).d1, 1);
  EXPECT_EQ(metrics({94.5f}, {100}).d1, 1);
  EXPECT_EQ(metrics({-104}, {-100}).d1, 0);  // relative to the size of the truth
}

TEST(EvaluateTest, MismatchesCompareTheNearestWholeNumbers) {
  EXPECT_EQ(metrics({0.5f}, {1}).mismatches, 0u);
  EXPECT_EQ(metrics({-0.5f}, {0}).mismatches, 0u);
  EXPECT_EQ(metrics({1.49f}, {0.5f}).mismatches, 0u);
  EXPECT_EQ(metrics({2.5f}, {2}).mismatches, 1u);
  EXPECT_EQ(metrics({2.5f}, {2.49f}).mismatches, 1u);
  EXPECT_EQ(metrics({-1.5f}, {-2}).mismatches, 1u);
}

TEST(EvaluateTest, UnknownTruthIsNotEvaluated) {
  const ErrorMetrics m = metrics({1, 2, 3, infinity, 5}, {nan, infinity, -infinity, infinity, 5});
  EXPECT_EQ(m.count, 1u);
  EXPECT_EQ(m.average, 0);
  EXPECT_EQ(m.coverage, 1);
}

TEST(EvaluateTest, OnlyMask255IsEvaluated) {
  const std::vector<float> disparity{9, 9, 9, 7}, truth{0, 0, 0, 5};
  const ErrorMetrics m = evaluate(row(disparity), row(truth), row<std::uint8_t>({0, 128, 254, 255}));
  EXPECT_EQ(m.count, 1u);
  EXPECT_EQ(m.average, 2);
}

TEST(EvaluateTest, ViewsMayHaveDifferentStrides) {
  const std::vector<float> disparity{1, 2, 3, 4}, truth{3, 3, 99, 99, 3, 3};
  const std::vector<std::uint8_t> mask{255, 0, 0, 255};
  const ErrorMetrics m =
      evaluate(View<const float>(disparity.data(), {2, 2}),
               View<const float>(truth.data() + 4, {2, 2}, -4 * static_cast<int>(sizeof(float))),
               View<const std::uint8_t>(mask.data(), {2, 2}));
  EXPECT_EQ(m.count, 2u);
  EXPECT_EQ(m.average, 1.5);
}

// In float, 0.49999997 + 0.5 is 1.
TEST(EvaluateTest, JustBelowAHalfRoundsDown) {
  EXPECT_EQ(metrics({0.49999997f}, {0}).mismatches, 0u);
}

TEST(EvaluateTest, SizesMustAgree) {
  const std::vector<float> three(3), four(4);
  const std::vector<std::uint8_t> mask(4, 255);
  expect_refused([&] { evaluate(row(three), row(four)); }, "truth is 4×1");
  expect_refused([&] { evaluate(row(three), row(three), row(mask)); }, "mask is 4×1");
  expect_refused([&] { evaluate(row(four), View<const float>(four.data(), {2, 2})); }, "truth is 2×2");
}

std::vector<float> values(const Plane<float>& map) {
  std::vector<float> all;
  for (int y = 0; y < map.height(); ++y) all.insert(all.end(), map.row(y), map.row(y) + map.width());
  return all;
}

TEST(EnlargeTest, RepeatsPixelsAndMultipliesDisparities) {
  const std::vector<float> map{1, infinity, -0.25f, 3};
  const Plane<float> large = enlarge({map.data(), {2, 2}}, 2);
  EXPECT_EQ(large.size(), (Size{4, 4}));
  EXPECT_EQ(values(large), (std::vector<float>{2, 2, infinity, infinity, 2, 2, infinity, infinity,  //
                                               -0.5f, -0.5f, 6, 6, -0.5f, -0.5f, 6, 6}));
  EXPECT_EQ(values(enlarge({map.data(), {2, 2}}, 1)), map);
  expect_refused([&] { enlarge(row(map), 0); }, "factor");
  expect_refused([&] { enlarge(row(map), 1'000'000'000); }, "factor");
}

TEST(InterpolateBackgroundTest, GapsTakeTheLesserOfTheirEnds) {
  const auto interpolated = [](const std::vector<float>& map) {
    return values(interpolate_background(row(map)));
  };
  EXPECT_EQ(interpolated({7, infinity, nan, 5, infinity, 9}), (std::vector<float>{7, 5, 5, 5, 5, 9}));
  EXPECT_EQ(interpolated({infinity, nan, 3, 4, -infinity}), (std::vector<float>{3, 3, 3, 4, 4}));
  EXPECT_EQ(interpolated({1, 2, 3}), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(interpolated({infinity, infinity}), (std::vector<float>{infinity, infinity}));
}

TEST(InterpolateBackgroundTest, EmptyRowsTakeTheNextRowOnlyAtTopAndBottom) {
  const float o = infinity;
  const std::vector<float> map{o, o, o, o, 1, o, o, o, 2, 3, o, o};  // 2×6
  EXPECT_EQ(values(interpolate_background({map.data(), {2, 6}})),
            (std::vector<float>{1, 1, 1, 1, 1, 1, o, o, 2, 3, 2, 3}));
}

TEST(EvaluateTest, NothingToEvaluateIsRefused) {
  const std::vector<float> disparity{1, 2}, unknown{nan, infinity}, known{1, 2};
  expect_refused([&] { evaluate(row(disparity), row(unknown)); }, "no pixel");
  expect_refused([&] { evaluate(row(disparity), row(known), row<std::uint8_t>({0, 128})); }, "no pixel");
  expect_refused([] { evaluate({}, {}); }, "");
}

}  // namespace
}  // namespace parallax
