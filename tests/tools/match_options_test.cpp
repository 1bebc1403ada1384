// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/parallax/match.h"
#include "tools/parallax/method_options.h"

namespace parallax::tool {
namespace {

MatchRequest read(Arguments arguments) {
  arguments.insert(arguments.begin(), {"left.png", "right.png"});
  return parse_match(arguments);
}

Arguments words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

BlockParameters block_of(const MatchRequest& request) {
  return *request.parameters.get_if<BlockParameters>();
}

BlockParameters block(const std::string& options) {
  return block_of(read(words("--method block " + options)));
}

BeliefPropagationParameters bp(const std::string& options) {
  return *read(words("--method bp " + options)).parameters.get_if<BeliefPropagationParameters>();
}

TEST(MatchOptionsTest, DefaultsAreThoseOfTheLibrary) {
  const MatchRequest request = read({"--method", "block"});
  const BlockParameters defaults;
  EXPECT_EQ(block_of(request).window, defaults.window);
  EXPECT_EQ(block_of(request).refine.median, defaults.refine.median);
  EXPECT_EQ(block_of(request).refine.left_right_check, defaults.refine.left_right_check);
}

TEST(MatchOptionsTest, TheMethodIsBpUnlessAnotherIsNamed) {
  EXPECT_EQ(read({}).method, "bp");
  EXPECT_EQ(read({}).parameters.get_if<BeliefPropagationParameters>()->levels,
            BeliefPropagationParameters{}.levels);
}

TEST(MatchOptionsTest, EveryOptionReachesItsField) {
  const BlockParameters parameters = block(
      "--min-disparity -7 --disparities 33 --window 5 --cost zncc --prefilter none --prefilter-cap 20 "
      "--uniqueness 4 --texture-threshold 9 --sub-pixel none --no-left-right-check "
      "--left-right-tolerance 2.5 --speckle-size 11 --speckle-range 0.5 --fill none --median 3 "
      "--weighted-median 7 --weighted-median-range 12 --bilateral 9 --bilateral-range 20 "
      "--bilateral-step 1.5");
  EXPECT_EQ(parameters.min_disparity, -7);
  EXPECT_EQ(parameters.disparities, 33);
  EXPECT_EQ(parameters.window, 5);
  EXPECT_EQ(parameters.cost, BlockCost::zncc);
  EXPECT_EQ(parameters.prefilter, Prefilter::none);
  EXPECT_EQ(parameters.prefilter_cap, 20);
  EXPECT_EQ(parameters.uniqueness, 4);
  EXPECT_EQ(parameters.texture_threshold, 9);
  EXPECT_EQ(parameters.sub_pixel, SubPixel::none);
  EXPECT_FALSE(parameters.refine.left_right_check);
  EXPECT_EQ(parameters.refine.left_right_tolerance, 2.5f);
  EXPECT_EQ(parameters.refine.speckle_size, 11);
  EXPECT_EQ(parameters.refine.speckle_range, 0.5f);
  EXPECT_EQ(parameters.refine.fill, Fill::none);
  EXPECT_EQ(parameters.refine.median, 3);
  EXPECT_EQ(parameters.refine.weighted_median, 7);
  EXPECT_EQ(parameters.refine.weighted_median_range, 12);
  EXPECT_EQ(parameters.refine.bilateral, 9);
  EXPECT_EQ(parameters.refine.bilateral_range, 20);
  EXPECT_EQ(parameters.refine.bilateral_step, 1.5f);
  EXPECT_EQ(block("--sub-pixel v-shape").sub_pixel, SubPixel::v_shape);
}

TEST(MatchOptionsTest, PresetsSetEverythingAndOptionsOverrideThem) {
  const BlockParameters preset = block("--preset sad-full-row");
  EXPECT_TRUE(preset.full_row);
  EXPECT_EQ(preset.window, 5);
  const BlockParameters changed = block("--window 7 --preset sad-full-row --disparities 60");
  EXPECT_EQ(changed.window, 7);
  EXPECT_FALSE(changed.full_row);
  EXPECT_EQ(changed.disparities, 60);
}

TEST(MatchOptionsTest, EveryOptionOfBeliefPropagationReachesItsField) {
  const BeliefPropagationParameters p =
      bp("--min-disparity -7 --disparities 33 --levels 3 --iterations 9 --arithmetic bfloat16 "
         "--cost birchfield-tomasi --data-weight 0.5 --data-truncation 21 --outside-cost 2.5 --smoothing 1.5 "
         "--discontinuity-truncation 3.5 --edge-contrast 12 --edge-floor 0.25 --sub-pixel none "
         "--min-confidence 0.125 --median 3");
  EXPECT_EQ(p.min_disparity, -7);
  EXPECT_EQ(p.disparities, 33);
  EXPECT_EQ(p.levels, 3);
  EXPECT_EQ(p.iterations, 9);
  EXPECT_EQ(p.arithmetic, Arithmetic::bfloat16);
  EXPECT_EQ(p.cost, DataCost::birchfield_tomasi);
  EXPECT_EQ(p.data_weight, 0.5f);
  EXPECT_EQ(p.data_truncation, 21.0f);
  EXPECT_EQ(p.outside_cost, 2.5f);
  EXPECT_EQ(p.smoothing, 1.5f);
  EXPECT_EQ(p.discontinuity_truncation, 3.5f);
  EXPECT_EQ(p.edge_contrast, 12.0f);
  EXPECT_EQ(p.edge_floor, 0.25f);
  EXPECT_EQ(p.sub_pixel, SubPixel::none);
  EXPECT_EQ(p.min_confidence, 0.125f);
  EXPECT_EQ(p.refine.median, 3);
  EXPECT_FALSE(bp("--no-outside-cost").outside_cost);
}

TiledBeliefPropagationParameters tiled_bp(const std::string& options) {
  return *read(words("--method tiled-bp " + options)).parameters.get_if<TiledBeliefPropagationParameters>();
}

TEST(MatchOptionsTest, EveryOptionOfTiledBeliefPropagationReachesItsField) {
  const TiledBeliefPropagationParameters p = tiled_bp(
      "--min-disparity -7 --disparities 33 --tile 21 --outer 3 --inner 4 --sweep-order right-left-up-down "
      "--discontinuity-cost 9 --discontinuity-truncation 7 --message-width 16 --no-early-out "
      "--cost mean-absolute-difference --data-weight 0.5 --data-truncation 21 --outside-cost 25 "
      "--smoothing 1.5 --frame 11 --sub-pixel none --min-confidence 0.125 --median 3");
  EXPECT_EQ(p.min_disparity, -7);
  EXPECT_EQ(p.disparities, 33);
  EXPECT_EQ(p.tile, 21);
  EXPECT_EQ(p.outer, 3);
  EXPECT_EQ(p.inner, 4);
  EXPECT_EQ(p.sweep_order, SweepOrder::right_left_up_down);
  EXPECT_EQ(p.discontinuity_cost, 9);
  EXPECT_EQ(p.discontinuity_truncation, 7);
  EXPECT_EQ(p.message_width, MessageWidth::bits16);
  EXPECT_FALSE(p.early_out);
  EXPECT_EQ(p.cost, DataCost::mean_absolute_difference);
  EXPECT_EQ(p.data_weight, 0.5f);
  EXPECT_EQ(p.data_truncation, 21.0f);
  EXPECT_EQ(p.outside_cost, 25);
  EXPECT_EQ(p.smoothing, 1.5f);
  EXPECT_EQ(p.frame, 11);
  EXPECT_EQ(p.sub_pixel, SubPixel::none);
  EXPECT_EQ(p.min_confidence, 0.125f);
  EXPECT_EQ(p.refine.median, 3);
  EXPECT_FALSE(tiled_bp("--no-outside-cost").outside_cost);
}

TEST(MatchOptionsTest, PresetsOfTheDesignContestFixTheRange) {
  EXPECT_EQ(tiled_bp("--preset memocode-2013").disparities, 16);
  EXPECT_TRUE(read(words("--method tiled-bp --preset memocode-2013")).range_given);
  EXPECT_FALSE(read(words("--method tiled-bp")).range_given);
}

TEST(MatchOptionsTest, AFileOfCostsTakesThePlaceOfACost) {
  EXPECT_EQ(tiled_bp("--cost-file costs.txt").cost, DataCost::volume);
  EXPECT_EQ(tiled_bp("--cost-file costs.txt").disparities, 16);
  EXPECT_EQ(tiled_bp("--cost-file costs.txt --disparities 20").disparities, 20);
  EXPECT_EQ(bp("--cost-file costs.txt --preset grauer-gray-2010").disparities, 16);
  EXPECT_TRUE(read(words("--method bp --cost-file costs.txt")).range_given);
  EXPECT_THROW(tiled_bp("--cost-file costs.txt --cost census"), UsageError);
  EXPECT_THROW(read(words("--method census --cost-file costs.txt")), UsageError);
}

TEST(MatchOptionsTest, BeliefPropagationHasItsOwnPresets) {
  const BeliefPropagationParameters published = bp("--iterations 4 --preset grauer-gray-2010");
  EXPECT_EQ(published.disparities, 15);
  EXPECT_EQ(published.iterations, 4);
  EXPECT_EQ(published.smoothing, 1.0f);
  EXPECT_TRUE(read(words("--method bp --preset grauer-gray-2010")).range_given);
  EXPECT_FALSE(read(words("--method bp --preset grauer-gray-2019")).range_given);
  EXPECT_THROW(read(words("--method bp --preset sad-full-row")), Error);
  EXPECT_THROW(block("--preset grauer-gray-2019"), Error);
}

TEST(MatchOptionsTest, OptionsThatDoNotFitTogetherAreRefused) {
  EXPECT_THROW(bp("--outside-cost 1 --no-outside-cost"), UsageError);
  EXPECT_THROW(bp("--window 5"), UsageError);
  EXPECT_THROW(bp("--energy"), UsageError);
  EXPECT_THROW(bp("--confidence sure.png"), UsageError);
  EXPECT_THROW(bp("--cost volume"), UsageError);
  EXPECT_THROW(block("--levels 4"), UsageError);
  EXPECT_EQ(bp("--confidence sure.pfm --energy --json").levels, 5);
  EXPECT_EQ(read({"--confidence", "sure.pfm"}).confidence, "sure.pfm");
}

TEST(MatchOptionsTest, ConfigurationsAreNamesAndValues) {
  EXPECT_TRUE(read({}).configuration.empty());
  const TunedValues both{{"pixels_together", "8"}, {"ranges_per_thread", "2"}};
  const MatchRequest request = read({"--configure", "pixels_together=4", "--configure", "ranges_per_thread=2",
                                     "--configure=pixels_together=8"});
  EXPECT_EQ(request.configuration, both);
  for (const char* wrong : {"pixels_together", "=8", ""})
    EXPECT_THROW(read({"--configure", wrong}), UsageError) << wrong;
}

TEST(MatchOptionsTest, MemoryHasUnits) {
  EXPECT_EQ(read({"--max-memory", "2G"}).max_memory, std::uint64_t{2} << 30);
  EXPECT_EQ(read({"--max-memory", "512M"}).max_memory, std::uint64_t{512} << 20);
}

TEST(MatchOptionsTest, NumbersThatAreNoneAreRefused) {
  for (const char* number : {"nan", "inf", "-1", "1e99", "x"}) {
    EXPECT_THROW(read({"--video", "v.avi", "--fps", number}), UsageError) << number;
    EXPECT_THROW(read({"--json", "--truth", "t.png", "--truth-scale", number}), UsageError) << number;
    EXPECT_THROW(eval_command({"a.pfm", "b.pfm", "--truth-scale", number}), UsageError) << number;
    EXPECT_THROW(tune_command({"--budget", number}), UsageError) << number;
  }
  EXPECT_EQ(read({"--video", "v.avi", "--fps", "12.5"}).frames_per_second, 12.5);
}

TEST(MatchOptionsTest, NumbersThatAreTooLargeAreRefused) {
  for (const char* number : {"99999999999999999999", "99999999999999999999G", "18446744073709551616"}) {
    EXPECT_THROW(read({"--max-memory", number}), UsageError) << number;
    EXPECT_THROW(tune_command({"--max-memory", number}), UsageError) << number;
    EXPECT_THROW(synth_command({"/dev/null/none", "--seed", number}), UsageError) << number;
  }
  EXPECT_THROW(read({"--max-memory", "99999999999G"}), UsageError);
  EXPECT_EQ(read({"--max-memory", "18446744073709551615"}).max_memory, 18446744073709551615u);
}

TEST(MatchOptionsTest, FlagsTakeNoNumbers) {
  for (const char* flag : {"--no-left-right-check=5", "--left-right-check=5", "--json=3", "--resume=x"})
    EXPECT_THROW(read({flag}), UsageError) << flag;
  EXPECT_FALSE(bp("--no-left-right-check").refine.left_right_check);
}

}  // namespace
}  // namespace parallax::tool
