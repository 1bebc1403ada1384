// SPDX-License-Identifier: Apache-2.0
// Sub-pixel offsets and confidences from the costs of labels.

#include <cstdint>

#include <gtest/gtest.h>

#include "decision/confidence.h"
#include "decision/sub_pixel.h"

namespace parallax::decision {
namespace {

TEST(SubPixelTest, MinimumOfTheParabola) {
  EXPECT_EQ(sub_pixel_offset(SubPixel::parabola, 10, 4, 8).value(), 2.0f / 20);
  EXPECT_EQ(sub_pixel_offset(SubPixel::parabola, 8.0f, 4.0f, 10.0f).value(), -2.0f / 20);
}

TEST(SubPixelTest, TipOfTheV) {
  EXPECT_EQ(sub_pixel_offset(SubPixel::v_shape, 10, 4, 8).value(), 2.0f / 12);
  EXPECT_EQ(sub_pixel_offset(SubPixel::v_shape, 8, 4, 10).value(), -2.0f / 12);
  EXPECT_EQ(sub_pixel_offset(SubPixel::v_shape, 8.0f, 4.0f, 10.0f).value(), -2.0f / 12);
}

TEST(SubPixelTest, NoneStaysWhereItIs) {
  EXPECT_EQ(sub_pixel_offset(SubPixel::none, 10, 4, 8).value(), 0);
}

TEST(SubPixelTest, OffsetsReachHalfAPixelAndNoMore) {
  for (const SubPixel method : {SubPixel::parabola, SubPixel::v_shape}) {
    EXPECT_EQ(sub_pixel_offset(method, 9, 4, 4).value(), 0.5f);
    EXPECT_EQ(sub_pixel_offset(method, 7, 4, 7).value(), 0);
    for (std::int64_t before = 1; before < 40; ++before) {
      for (std::int64_t after = 0; after < 40; ++after) {
        const float offset = sub_pixel_offset<std::int64_t>(method, before, 0, after).value();
        EXPECT_TRUE(offset > -0.5f && offset <= 0.5f) << before << ", 0, " << after << ": " << offset;
      }
    }
  }
}

TEST(SubPixelTest, VFindsTheFractionOfLinearCosts) {
  // |x − 0.25| at −1, 0 and 1, in hundredths.
  EXPECT_EQ(sub_pixel_offset(SubPixel::v_shape, 125, 25, 75).value(), 0.25f);
  EXPECT_NE(sub_pixel_offset(SubPixel::parabola, 125, 25, 75).value(), 0.25f);
}

TEST(ConfidenceTest, IsTheGapToTheRival) {
  EXPECT_EQ(confidence<std::int64_t>(20, 32), 12.0f / 32);
  EXPECT_EQ(confidence<std::int64_t>(20, 20), 0);
  EXPECT_EQ(confidence<std::int64_t>(0, 5), 1);
}

TEST(ConfidenceTest, WithoutARivalItIsOneAndWithAPerfectOneNothing) {
  EXPECT_EQ(confidence<std::int64_t>(20, std::nullopt), 1);
  EXPECT_EQ(confidence<std::int64_t>(0, std::nullopt), 1);
  EXPECT_EQ(confidence<std::int64_t>(0, 0), 0);
}

TEST(ConfidenceTest, LargeCostsAreRoundedOnce) {
  EXPECT_EQ(confidence<std::int64_t>(std::int64_t{1} << 40, std::int64_t{3} << 40), 2.0f / 3);
}

}  // namespace
}  // namespace parallax::decision
