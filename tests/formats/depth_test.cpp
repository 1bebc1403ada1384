// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include "parallax/formats.h"

namespace parallax {
namespace {

std::uint16_t encoded(float metres) {
  return encode_millimetres(View<const float>(&metres, {1, 1})).at(0, 0);
}

TEST(MillimetresTest, AreRoundedToTheNearest) {
  EXPECT_EQ(encoded(1), 1000);
  EXPECT_EQ(encoded(1.0004f), 1000);
  EXPECT_EQ(encoded(1.0006f), 1001);
  EXPECT_EQ(encoded(0.0005f), 1);
  EXPECT_EQ(encoded(65.535f), 65535);
  EXPECT_EQ(encoded(65.5354f), 65535);
}

TEST(MillimetresTest, WhatDoesNotFitIsNone) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float depth : {0.0f, 0.0004f, 65.5356f, 70.0f, 1e30f, -1.0f, infinity, -infinity,
                            std::numeric_limits<float>::quiet_NaN()})
    EXPECT_EQ(encoded(depth), 0) << depth;
}

TEST(MillimetresTest, EveryPixelIsConverted) {
  const float metres[] = {1, 2, -99, 3, 4, -99};
  const Plane<std::uint16_t> result =
      encode_millimetres(View<const float>(metres, {2, 2}, 3 * sizeof(float)));
  EXPECT_EQ(result.at(0, 0), 1000);
  EXPECT_EQ(result.at(1, 0), 2000);
  EXPECT_EQ(result.at(0, 1), 3000);
  EXPECT_EQ(result.at(1, 1), 4000);
}

}  // namespace
}  // namespace parallax
