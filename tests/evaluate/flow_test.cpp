// SPDX-License-Identifier: Apache-2.0
#include "parallax/flow.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Flow vectors(std::vector<float> u, std::vector<float> v) {
  Flow flow;
  flow.u = plane<float>({std::move(u)});
  flow.v = plane<float>({std::move(v)});
  return flow;
}

FlowMetrics metrics(const Flow& flow, const Flow& truth) {
  return evaluate_flow(flow.view(), truth.view());
}

TEST(EvaluateFlowTest, PerfectVectorsHaveNoError) {
  const Flow flow = vectors({0, 1.5f, -3}, {0, 20, -7});
  const FlowMetrics m = metrics(flow, flow);
  EXPECT_EQ(m.count, 3u);
  for (const double error :
       {m.bad05, m.bad1, m.bad2, m.bad3, m.bad5, m.fl, m.average, m.rms, m.a50, m.a90, m.a95, m.a99})
    EXPECT_EQ(error, 0);
  EXPECT_EQ(m.angular, 0);
  EXPECT_EQ(m.coverage, 1);
}

TEST(EvaluateFlowTest, EveryMetricOfTenKnownErrors) {
  // Distances of 0, 0.3, 0.5, 0.75, 1, 1.5, 2, 2.5, 5 and 10 from (0, 0), in different directions.
  const FlowMetrics m = metrics(
      vectors({0, 0.3f, 0, -0.75f, 0, 0.9f, -1.2f, 1.5f, -3, 6}, {0, 0, -0.5f, 0, 1, 1.2f, 1.6f, -2, -4, 8}),
      vectors(std::vector<float>(10, 0), std::vector<float>(10, 0)));
  EXPECT_EQ(m.count, 10u);
  EXPECT_DOUBLE_EQ(m.bad05, 0.7);
  EXPECT_DOUBLE_EQ(m.bad1, 0.5);
  EXPECT_DOUBLE_EQ(m.bad3, 0.2);
  EXPECT_DOUBLE_EQ(m.bad5, 0.1);
  EXPECT_DOUBLE_EQ(m.fl, 0.2);
  EXPECT_NEAR(m.average, 2.355, 1e-6);
  EXPECT_NEAR(m.rms, std::sqrt(13.94025), 1e-6);
  EXPECT_EQ(m.a50, 1.5f);
  EXPECT_EQ(m.a90, 10);
  EXPECT_EQ(m.a99, 10);
  EXPECT_EQ(m.coverage, 1);
}

TEST(EvaluateFlowTest, OutliersAreOffByThreePixelsAndFivePerCent) {
  // 4 px of 100 are 4 %; 4 px of 70 are more than 5 %; 2 px of 10 are 20 %, but no 3 px.
  const FlowMetrics m = metrics(vectors({64, 46, 8}, {80, 56, 6}), vectors({60, 42, 6}, {80, 56, 6}));
  EXPECT_DOUBLE_EQ(m.bad3, 2 / 3.0);
  EXPECT_DOUBLE_EQ(m.fl, 1 / 3.0);
}

TEST(EvaluateFlowTest, AnglesAreThoseOfDirectionsInSpaceAndTime) {
  // Angles between (1, 0, 1) and (0, 0, 1); (1, 0, 1) and (−1, 0, 1); (0, 1, 1) and (1, 0, 1).
  EXPECT_NEAR(metrics(vectors({1}, {0}), vectors({0}, {0})).angular, 45, 1e-9);
  EXPECT_NEAR(metrics(vectors({1}, {0}), vectors({-1}, {0})).angular, 90, 1e-9);
  EXPECT_NEAR(metrics(vectors({0}, {1}), vectors({1}, {0})).angular, 60, 1e-9);
  EXPECT_NEAR(metrics(vectors({1, 1}, {0, 0}), vectors({0, -1}, {0, 0})).angular, 67.5, 1e-9);
  const double tiny = static_cast<double>(1e-8f) * 180 / std::numbers::pi;
  EXPECT_NEAR(metrics(vectors({1e-8f}, {0}), vectors({0}, {0})).angular, tiny, 1e-9 * tiny);
}

TEST(EvaluateFlowTest, NoVectorIsAnErrorOfEverySizeButOfNoMean) {
  const FlowMetrics m =
      metrics(vectors({1, infinity, 0, 2}, {0, 0, nan, 0}), vectors({0, 0, 0, 0}, {0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(m.bad05, 1);
  EXPECT_DOUBLE_EQ(m.bad1, 0.75);
  EXPECT_DOUBLE_EQ(m.bad5, 0.5);
  EXPECT_DOUBLE_EQ(m.fl, 0.5);
  EXPECT_DOUBLE_EQ(m.average, 1.5);
  EXPECT_DOUBLE_EQ(m.coverage, 0.5);
}

TEST(EvaluateFlowTest, WithoutAnyVectorThereIsNoMean) {
  const FlowMetrics m = metrics(vectors({infinity}, {0}), vectors({1}, {1}));
  EXPECT_EQ(m.bad1, 1);
  EXPECT_EQ(m.coverage, 0);
  for (const double mean : {m.average, m.angular, m.rms, m.a50, m.a99}) EXPECT_TRUE(std::isnan(mean));
}

TEST(EvaluateFlowTest, UnknownTruthAndMasksLeavePixelsOut) {
  const Flow flow = vectors({9, 9, 1, 9}, {9, 9, 0, 9}), truth = vectors({infinity, 0, 0, 0}, {0, nan, 0, 0});
  const Plane<std::uint8_t> mask = plane<std::uint8_t>({{255, 255, 255, 128}});
  const FlowMetrics m = evaluate_flow(flow.view(), truth.view(), mask.view());
  EXPECT_EQ(m.count, 1u);
  EXPECT_EQ(m.average, 1);
}

TEST(EvaluateFlowTest, WhatCannotBeComparedIsRefused) {
  const Flow one = vectors({1}, {1}), two = vectors({1, 1}, {1, 1}), unknown = vectors({infinity}, {1});
  expect_refused([&] { metrics(one, two); }, "truth");
  expect_refused([&] { metrics(one, unknown); }, "no pixel to evaluate");
  const Plane<std::uint8_t> mask({1, 1});
  expect_refused([&] { evaluate_flow(two.view(), two.view(), mask.view()); }, "mask");
  expect_refused([&] { evaluate_flow(one.view(), one.view(), mask.view()); }, "no pixel to evaluate");
}

}  // namespace
}  // namespace parallax::test
