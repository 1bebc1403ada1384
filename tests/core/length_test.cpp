// SPDX-License-Identifier: Apache-2.0
#include "core/length.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace parallax::detail {
namespace {

TEST(LengthTest, IsExactWhereTheLengthIs) {
  EXPECT_EQ(length_of(3.0, -4.0), 5.0);
  EXPECT_EQ(length_of(-5.0f, 12.0f), 13.0f);
  EXPECT_EQ(length_of(0.0, 0.0), 0.0);
  EXPECT_EQ(length_of(3 * 0x1p900, 4 * 0x1p900), 5 * 0x1p900);
  EXPECT_EQ(length_of(4 * 0x1p-900, 3 * 0x1p-900), 5 * 0x1p-900);
  EXPECT_EQ(length_of(1.0, 0x1p-60), 1.0);
}

TEST(LengthTest, IsInfiniteOrNoNumberWhereASideIs) {
  const double infinite = std::numeric_limits<double>::infinity(),
               none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(length_of(-infinite, 1.0), infinite);
  EXPECT_EQ(length_of(none, infinite), infinite);
  EXPECT_TRUE(std::isnan(length_of(none, 1.0)));
  EXPECT_TRUE(std::isnan(length_of(1.0, none)));
}

// The plain root of the sum of squares is off for one pair in ten.
TEST(LengthTest, IsCorrectlyRoundedWithFewExceptions) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> side(-100, 100);
  int off = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = side(random), y = side(random);
    const long double squares = static_cast<long double>(x) * x + static_cast<long double>(y) * y;
    off += length_of(x, y) != static_cast<double>(std::sqrt(squares));
  }
  EXPECT_LT(off, 100);
}

}  // namespace
}  // namespace parallax::detail
