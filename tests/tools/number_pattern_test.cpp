// SPDX-License-Identifier: Apache-2.0
#include "tools/command/number_pattern.h"

#include <gtest/gtest.h>

#include "tools/command/command.h"

namespace parallax::tool {
namespace {

TEST(NumberPatternTest, WritesNumbersAsPrintfDoes) {
  const NumberPattern padded = *NumberPattern::parse("a/left_%04d.png");
  EXPECT_EQ(padded.name(7), "a/left_0007.png");
  EXPECT_EQ(padded.name(12345), "a/left_12345.png");
  EXPECT_EQ(NumberPattern::parse("%d")->name(0), "0");
  EXPECT_EQ(NumberPattern::parse("%010d.png")->name(42), "0000000042.png");
}

TEST(NumberPatternTest, ReadsOnlyTheNamesItWrites) {
  const NumberPattern padded = *NumberPattern::parse("l%03d.png");
  EXPECT_EQ(padded.number_of("l007.png"), 7u);
  EXPECT_EQ(padded.number_of("l1234.png"), 1234u);
  for (const char* other : {"l7.png", "l0007.png", "l007.pgm", "l.png", "r007.png", "l-07.png", "l+07.png",
                            "l", "", "l99999999999999999999999.png", "l007x.png"})
    EXPECT_FALSE(padded.number_of(other)) << other;
  // Nanoseconds since 1970.
  EXPECT_EQ(NumberPattern::parse("%d.png")->number_of("1403636579763555584.png"), 1403636579763555584u);
}

TEST(NumberPatternTest, OneNumberOnly) {
  EXPECT_FALSE(NumberPattern::parse("left.png"));
  EXPECT_FALSE(NumberPattern::parse("50%.png"));
  EXPECT_FALSE(NumberPattern::parse("%s%4d%x"));
  EXPECT_THROW(NumberPattern::parse("%d_%02d.png"), UsageError);
}

}  // namespace
}  // namespace parallax::tool
