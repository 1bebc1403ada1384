// SPDX-License-Identifier: Apache-2.0
#include "parallax/geometry.h"

#include <array>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "parallax/error.h"

#include "support.h"

namespace parallax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
using Colour = std::array<std::uint8_t, 3>;

// focal 100, principal point (1, 2), baseline 50.
Calibration rig(double doffs) {
  Calibration calibration;
  calibration.focal = 100;
  calibration.centre_x = 1;
  calibration.centre_y = 2;
  calibration.baseline = 50;
  calibration.doffs = doffs;
  return calibration;
}

using test::expect_refused;

TEST(DepthTest, IsFocalLengthTimesBaselineOverTheShift) {
  EXPECT_EQ(depth(rig(0), 10), 500);
  EXPECT_EQ(depth(rig(0), 0.5f), 10'000);
  EXPECT_EQ(depth(rig(15), 10), 200);
  EXPECT_EQ(depth(rig(-6), 10), 1250);
}

TEST(DepthTest, NoDisparityHasNoDepth) {
  for (const float none : {infinity, -infinity, nan}) EXPECT_EQ(depth(rig(15), none), 0);
}

TEST(DepthTest, AtOrBeyondInfinityIsNoDepth) {
  EXPECT_EQ(depth(rig(0), 0), 0);
  EXPECT_EQ(depth(rig(0), -1), 0);
  EXPECT_EQ(depth(rig(-6), 6), 0);
  EXPECT_EQ(depth(rig(-6), 5), 0);
  EXPECT_EQ(depth(rig(6), -5), 5000);
}

TEST(DepthMapTest, IsTheDepthOfEveryPixel) {
  const std::array<float, 4> disparity{10, infinity, 0, 2};
  Plane<float> map({2, 2}, -1.0f);
  depth_map(rig(0), View<const float>(disparity.data(), {2, 2}), map.view());
  EXPECT_EQ(map.at(0, 0), 500.0f);
  EXPECT_EQ(map.at(1, 0), 0.0f);
  EXPECT_EQ(map.at(0, 1), 0.0f);
  EXPECT_EQ(map.at(1, 1), 2500.0f);
}

TEST(DepthMapTest, SizesMustAgree) {
  const Plane<float> disparity({2, 2});
  Plane<float> map({2, 3});
  expect_refused([&] { depth_map(rig(0), disparity.view(), map.view()); }, "depth map is 2×3");
}

TEST(DepthMapTest, IsZeroOutsideTheLimits) {
  // Depths 5000, 2500, 1250, 500 with deviations of 1250, 312.5, 78.125 and 12.5.
  const std::array<float, 4> disparity{1, 2, 4, 10};
  const auto depths = [&](const DepthLimits& limits) {
    std::array<float, 4> map{-1, -1, -1, -1};
    depth_map(rig(0), View<const float>(disparity.data(), {4, 1}), View<float>(map.data(), {4, 1}), limits);
    return map;
  };
  using Depths = std::array<float, 4>;
  EXPECT_EQ(depths({}), (Depths{5000, 2500, 1250, 500}));
  EXPECT_EQ(depths({.greatest = 2500}), (Depths{0, 2500, 1250, 500}));
  EXPECT_EQ(depths({.greatest = 2499}), (Depths{0, 0, 1250, 500}));
  EXPECT_EQ(depths({.least = 1250}), (Depths{5000, 2500, 1250, 0}));
  EXPECT_EQ(depths({.uncertainty = 312.5}), (Depths{0, 2500, 1250, 500}));
  EXPECT_EQ(depths({.uncertainty = 312.4}), (Depths{0, 0, 1250, 500}));
  EXPECT_EQ(depths({.uncertainty = 312.5, .disparity_uncertainty = 0.5}), (Depths{0, 0, 1250, 500}));
}

TEST(DepthMapTest, LimitsOutOfRangeAreRefused) {
  Plane<float> disparity({2, 2}, 10.0f), map({2, 2});
  const double bad = std::numeric_limits<double>::quiet_NaN();
  const auto refuses = [&](const DepthLimits& limits, std::string_view reason) {
    expect_refused([&] { depth_map(rig(0), disparity.view(), map.view(), limits); }, reason);
    expect_refused(
        [&] {
          point_cloud(rig(0), disparity.view(), Plane<std::uint8_t>({2, 2}).view(), limits);
        },
        reason);
  };
  refuses({.least = -1}, "least depth is -1");
  refuses({.greatest = 0}, "greatest depth is 0");
  refuses({.greatest = bad}, "greatest depth is nan");
  refuses({.uncertainty = -2}, "greatest depth uncertainty is -2");
  refuses({.disparity_uncertainty = -0.5}, "disparity_uncertainty is -0.5");
  refuses({.disparity_uncertainty = infinity}, "disparity_uncertainty is inf");
}

TEST(DepthUncertaintyTest, GrowsWithTheSquareOfTheDepth) {
  EXPECT_EQ(depth_uncertainty(rig(0), 10, 0.25), 12.5);  // 500² · 0.25 / (100 · 50)
  EXPECT_EQ(depth_uncertainty(rig(0), 5, 0.25), 50);
  EXPECT_EQ(depth_uncertainty(rig(0), 10, 1), 50);
  EXPECT_EQ(depth_uncertainty(rig(-5), 10, 0.25), 50);  // as far away as disparity 5 without an offset
  EXPECT_EQ(depth_uncertainty(rig(0), 10, 0), 0);
}

TEST(DepthUncertaintyTest, IsTheSlopeOfTheDepth) {
  for (const double doffs : {0.0, 3.5, -2.0}) {
    const double step = 1.0 / 1024;
    const double slope =
        (depth(rig(doffs), 20 - 1.0f / 1024) - depth(rig(doffs), 20 + 1.0f / 1024)) / (2 * step);
    EXPECT_NEAR(depth_uncertainty(rig(doffs), 20, 1), slope, slope * 1e-6);
  }
}

TEST(DepthUncertaintyTest, NoDepthIsInfinitelyUncertain) {
  for (const float none : {infinity, -infinity, nan, 0.0f, -3.0f})
    EXPECT_EQ(depth_uncertainty(rig(0), none, 0.25), infinity) << none;
}

TEST(DepthUncertaintyTest, TheMapIsThatOfEveryPixel) {
  const std::array<float, 4> disparity{10, infinity, 0, 5};
  const View<const float> view(disparity.data(), {2, 2});
  Plane<float> map({2, 2}, -1.0f), other({2, 3});
  depth_uncertainty_map(rig(0), view, 0.25, map.view());
  EXPECT_EQ(map.at(0, 0), 12.5f);
  EXPECT_EQ(map.at(1, 0), infinity);
  EXPECT_EQ(map.at(0, 1), infinity);
  EXPECT_EQ(map.at(1, 1), 50.0f);
  expect_refused([&] { depth_uncertainty_map(rig(0), view, 0.25, other.view()); }, "uncertainty map is 2×3");
  expect_refused([&] { depth_uncertainty_map(rig(0), view, -1, map.view()); }, "disparity_uncertainty is -1");
  expect_refused([&] { depth_uncertainty_map(rig(nan), view, 0.25, map.view()); }, "doffs is nan");
}

TEST(UnitTest, InMetresScalesTheBaselineOnly) {
  Calibration millimetres = rig(15);
  millimetres.metres_per_unit = 0.001;
  const Calibration metres = in_metres(millimetres);
  EXPECT_EQ(metres.baseline, 0.05);
  EXPECT_EQ(metres.metres_per_unit, 1);
  EXPECT_EQ(depth(metres, 10), 0.2);
  EXPECT_EQ(metres.focal, 100);
  EXPECT_EQ(metres.doffs, 15);
  EXPECT_EQ(in_metres(metres).baseline, 0.05);
}

TEST(UnitTest, AnUnknownUnitIsTakenAsMetres) {
  EXPECT_EQ(in_metres(rig(0)).baseline, 50);
}

TEST(UnitTest, AnImpossibleUnitIsRefused) {
  for (const double bad : {-1.0, static_cast<double>(nan), static_cast<double>(infinity)}) {
    Calibration calibration = rig(0);
    calibration.metres_per_unit = bad;
    expect_refused([&] { in_metres(calibration); }, "metres_per_unit is ");
  }
}

TEST(PointCloudTest, LeavesOutWhatIsOutsideTheLimits) {
  const std::array<float, 4> disparity{1, 2, 4, 10};
  const Plane<std::uint8_t> left({4, 1});
  const std::vector<Point> points =
      point_cloud(rig(0), View<const float>(disparity.data(), {4, 1}), left.view(),
                  {.least = 600, .greatest = 5000, .uncertainty = 400});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].z, 2500.0f);
  EXPECT_EQ(points[1].z, 1250.0f);
}

TEST(PointCloudTest, PrincipalPointIsStraightAhead) {
  Plane<float> disparity({3, 4}, infinity);
  disparity.at(1, 2) = 10;
  const Plane<std::uint8_t> left({3, 4});
  const std::vector<Point> points = point_cloud(rig(0), disparity.view(), left.view());
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].x, 0.0f);
  EXPECT_EQ(points[0].y, 0.0f);
  EXPECT_EQ(points[0].z, 500.0f);
}

TEST(PointCloudTest, RightAndDownArePositive) {
  Plane<float> disparity({4, 4}, infinity);
  disparity.at(0, 0) = 10;
  disparity.at(3, 3) = 5;
  const Plane<std::uint8_t> left({4, 4});
  const std::vector<Point> points = point_cloud(rig(0), disparity.view(), left.view());
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].x, -5.0f);   // −1 pixel · 500 / 100
  EXPECT_EQ(points[0].y, -10.0f);  // −2 pixels
  EXPECT_EQ(points[1].x, 20.0f);   // 2 pixels · 1000 / 100
  EXPECT_EQ(points[1].y, 10.0f);
  EXPECT_EQ(points[1].z, 1000.0f);
}

TEST(PointCloudTest, HasAPointForEachDepthRowByRow) {
  const std::array<float, 6> disparity{1, infinity, 2, 0, nan, 4};
  const Plane<std::uint8_t> left({3, 2});
  const std::vector<Point> points =
      point_cloud(rig(0), View<const float>(disparity.data(), {3, 2}), left.view());
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].z, 5000.0f);
  EXPECT_EQ(points[1].z, 2500.0f);
  EXPECT_EQ(points[2].z, 1250.0f);
}

TEST(PointCloudTest, ColourIsThatOfTheLeftPixel) {
  const std::array<std::uint8_t, 14> colours{1, 2, 3, 4, 5, 6, 99, 7, 8, 9, 10, 11, 12, 99};
  const ImageView left(colours.data(), {{2, 2}, BitDepth::bits8}, 3, 7);
  const std::array<float, 4> disparity{1, infinity, 1, 1};
  const std::vector<Point> points = point_cloud(rig(0), View<const float>(disparity.data(), {2, 2}), left);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].colour, (Colour{1, 2, 3}));
  EXPECT_EQ(points[1].colour, (Colour{7, 8, 9}));
  EXPECT_EQ(points[2].colour, (Colour{10, 11, 12}));
}

TEST(PointCloudTest, GrayIsGivenToAllThreeChannels) {
  const std::array<std::uint8_t, 2> gray{7, 200};
  const std::array<float, 2> disparity{1, 1};
  const std::vector<Point> points = point_cloud(rig(0), View<const float>(disparity.data(), {2, 1}),
                                                View<const std::uint8_t>(gray.data(), {2, 1}));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].colour, (Colour{7, 7, 7}));
  EXPECT_EQ(points[1].colour, (Colour{200, 200, 200}));
}

TEST(PointCloudTest, SixteenBitColoursGiveTheirUpperByte) {
  const std::array<std::uint16_t, 6> values{0x12ff, 0xff00, 0x00ff, 0x8000, 0x7fff, 0xffff};
  const std::array<float, 2> disparity{1, 1};
  const View<const float> map(disparity.data(), {2, 1});
  const std::vector<Point> colour =
      point_cloud(rig(0), map, ImageView(values.data(), {{2, 1}, BitDepth::bits16}, 3, 12));
  ASSERT_EQ(colour.size(), 2u);
  EXPECT_EQ(colour[0].colour, (Colour{0x12, 0xff, 0}));
  EXPECT_EQ(colour[1].colour, (Colour{0x80, 0x7f, 0xff}));
  const std::vector<Point> gray = point_cloud(rig(0), map, View<const std::uint16_t>(values.data(), {2, 1}));
  ASSERT_EQ(gray.size(), 2u);
  EXPECT_EQ(gray[1].colour, (Colour{0xff, 0xff, 0xff}));
}

TEST(PointCloudTest, SizesMustAgree) {
  const Plane<float> disparity({2, 2});
  const Plane<std::uint8_t> left({3, 2});
  expect_refused([&] { point_cloud(rig(0), disparity.view(), left.view()); }, "3×2");
}

TEST(PointCloudTest, CalibrationThatIsNotFiniteIsRefused) {
  Plane<float> disparity({2, 2}, 10.0f), map({2, 2});
  const Plane<std::uint8_t> left({2, 2});
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const auto refuses = [&](double Calibration::*field, std::string_view name) {
      Calibration calibration = rig(0);
      calibration.*field = bad;
      const std::string reason = std::string(name) + " is " + (bad > 0 ? "inf" : "nan");
      expect_refused([&] { point_cloud(calibration, disparity.view(), left.view()); }, reason);
      expect_refused([&] { depth_map(calibration, disparity.view(), map.view()); }, reason);
    };
    refuses(&Calibration::focal, "focal");
    refuses(&Calibration::centre_x, "centre_x");
    refuses(&Calibration::centre_y, "centre_y");
    refuses(&Calibration::doffs, "doffs");
    refuses(&Calibration::baseline, "baseline");
  }
}

TEST(PointCloudTest, PointsBeyondAnyFloatAreLeftOut) {
  Calibration calibration = rig(0);
  calibration.baseline = 1e38;
  const std::array<float, 2> disparity{0.5f, 100};
  const Plane<std::uint8_t> left({2, 1});
  const std::vector<Point> points =
      point_cloud(calibration, View<const float>(disparity.data(), {2, 1}), left.view());
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].z, 1e38f);
}

}  // namespace
}  // namespace parallax
