#include <gtest/gtest.h>

#include "tools/parallax/match.h"

namespace parallax::tool {
namespace {

MatchRequest read(Arguments arguments) {
  arguments.insert(arguments.begin(), {"left.png", "right.png"});
  return parse_match(arguments);
}

TEST(MatchOptionsTest, DefaultsAreThoseOfTheLibrary) {
  const MatchRequest request = read({});
  const BlockParameters defaults;
  EXPECT_EQ(request.block.window, defaults.window);
  EXPECT_EQ(request.block.refine.median, defaults.refine.median);
  EXPECT_EQ(request.block.refine.left_right_check, defaults.refine.left_right_check);
}

TEST(MatchOptionsTest, EveryOptionReachesItsField) {
  const BlockParameters block = read({"--min-disparity",
                                      "-7",
                                      "--disparities",
                                      "33",
                                      "--window",
                                      "5",
                                      "--cost",
                                      "zncc",
                                      "--prefilter",
                                      "none",
                                      "--prefilter-cap",
                                      "20",
                                      "--uniqueness",
                                      "4",
                                      "--texture-threshold",
                                      "9",
                                      "--sub-pixel",
                                      "none",
                                      "--no-left-right-check",
                                      "--left-right-tolerance",
                                      "2.5",
                                      "--speckle-size",
                                      "11",
                                      "--speckle-range",
                                      "0.5",
                                      "--fill",
                                      "none",
                                      "--median",
                                      "3"})
                                    .block;
  EXPECT_EQ(block.min_disparity, -7);
  EXPECT_EQ(block.disparities, 33);
  EXPECT_EQ(block.window, 5);
  EXPECT_EQ(block.cost, BlockCost::zncc);
  EXPECT_EQ(block.prefilter, Prefilter::none);
  EXPECT_EQ(block.prefilter_cap, 20);
  EXPECT_EQ(block.uniqueness, 4);
  EXPECT_EQ(block.texture_threshold, 9);
  EXPECT_EQ(block.sub_pixel, SubPixel::none);
  EXPECT_FALSE(block.refine.left_right_check);
  EXPECT_EQ(block.refine.left_right_tolerance, 2.5f);
  EXPECT_EQ(block.refine.speckle_size, 11);
  EXPECT_EQ(block.refine.speckle_range, 0.5f);
  EXPECT_EQ(block.refine.fill, Fill::none);
  EXPECT_EQ(block.refine.median, 3);
}

TEST(MatchOptionsTest, PresetsSetEverythingAndOptionsOverrideThem) {
  const BlockParameters preset = read({"--preset", "sad-full-row"}).block;
  EXPECT_TRUE(preset.full_row);
  EXPECT_EQ(preset.window, 5);
  const BlockParameters changed =
      read({"--window", "7", "--preset", "sad-full-row", "--disparities", "60"}).block;
  EXPECT_EQ(changed.window, 7);
  EXPECT_FALSE(changed.full_row);
  EXPECT_EQ(changed.disparities, 60);
}

TEST(MatchOptionsTest, MemoryHasUnits) {
  EXPECT_EQ(read({"--max-memory", "2G"}).max_memory, std::uint64_t{2} << 30);
  EXPECT_EQ(read({"--max-memory", "512M"}).max_memory, std::uint64_t{512} << 20);
}

}  // namespace
}  // namespace parallax::tool
