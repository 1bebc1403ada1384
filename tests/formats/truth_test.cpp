// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "support.h"

namespace parallax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::uint16_t encoded(float disparity) {
  return encode_kitti(View<const float>(&disparity, {1, 1})).at(0, 0);
}

TEST(KittiTest, IsTheDisparityTimes256) {
  EXPECT_EQ(encoded(1), 256);
  EXPECT_EQ(encoded(63.5f), 16256);
  EXPECT_EQ(encoded(255.99609375f), 65535);
}

TEST(KittiTest, RoundsToTheNearest) {
  EXPECT_EQ(encoded(100.25f / 256), 100);
  EXPECT_EQ(encoded(100.5f / 256), 101);
  EXPECT_EQ(encoded(100.75f / 256), 101);
  EXPECT_EQ(encoded(50000.4375f / 256), 50000);
}

TEST(KittiTest, DisparityThatExistsIsNeverZero) {
  EXPECT_EQ(encoded(0), 1);
  EXPECT_EQ(encoded(0.001f), 1);
  EXPECT_EQ(encoded(-7), 1);
}

TEST(KittiTest, LargeDisparitiesAreClamped) {
  EXPECT_EQ(encoded(255.999f), 65535);
  EXPECT_EQ(encoded(256), 65535);
  EXPECT_EQ(encoded(1e30f), 65535);
}

TEST(KittiTest, NoDisparityIsZero) {
  EXPECT_EQ(encoded(infinity), 0);
  EXPECT_EQ(encoded(-infinity), 0);
  EXPECT_EQ(encoded(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(KittiTest, ZeroDecodesToNoDisparity) {
  const std::uint16_t values[] = {0, 1, 256, 65535};
  const Plane<float> decoded = decode_kitti(View<const std::uint16_t>(values, {2, 2}));
  EXPECT_EQ(decoded.at(0, 0), infinity);
  EXPECT_EQ(decoded.at(1, 0), 1.0f / 256);
  EXPECT_EQ(decoded.at(0, 1), 1.0f);
  EXPECT_EQ(decoded.at(1, 1), 255.99609375f);
}

TEST(KittiTest, EveryValueSurvivesARoundTrip) {
  Plane<std::uint16_t> values({257, 256});
  for (int y = 0; y < 256; ++y)
    for (int x = 0; x < 257; ++x) values.at(x, y) = static_cast<std::uint16_t>(256 * y + x);
  const Plane<std::uint16_t> again = encode_kitti(decode_kitti(values.view()).view());
  ASSERT_EQ(again.size(), values.size());
  for (int y = 0; y < 256; ++y)
    for (int x = 0; x < 257; ++x) ASSERT_EQ(again.at(x, y), values.at(x, y));
}

TEST(KittiTest, RowsAreReadByTheirStride) {
  const float disparities[] = {1, 2, 99, 3, infinity};
  const Plane<std::uint16_t> values = encode_kitti(View<const float>(disparities, {2, 2}, 3 * sizeof(float)));
  EXPECT_EQ(values.at(1, 0), 512);
  EXPECT_EQ(values.at(0, 1), 768);
  EXPECT_EQ(values.at(1, 1), 0);
}

TEST(ScaledTruthTest, IsTheValueDividedByTheScaleAndZeroIsUnknown) {
  const std::uint8_t values[] = {0, 1, 4, 255};
  const Plane<float> quarter = decode_scaled_truth(View<const std::uint8_t>(values, {2, 2}), 4);
  EXPECT_EQ(quarter.at(0, 0), infinity);
  EXPECT_EQ(quarter.at(1, 0), 0.25f);
  EXPECT_EQ(quarter.at(0, 1), 1.0f);
  EXPECT_EQ(quarter.at(1, 1), 63.75f);
  EXPECT_EQ(decode_scaled_truth(View<const std::uint8_t>(values, {2, 2}), 0.5).at(1, 1), 510.0f);
}

TEST(ScaledTruthTest, ScaleMustBeANumberAboveZero) {
  const std::uint8_t value = 1;
  for (const double scale :
       {0.0, -4.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    test::expect_refused(
        [&] {
          decode_scaled_truth(View<const std::uint8_t>(&value, {1, 1}), scale);
        },
        "scale");
}

}  // namespace
}  // namespace parallax
