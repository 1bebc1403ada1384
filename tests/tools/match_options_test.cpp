// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/command/method_options.h"
#include "tools/parallax/match.h"

namespace parallax::tool {
namespace {

MatchOptions read(Arguments arguments) {
  arguments.insert(arguments.begin(), {"left.png", "right.png"});
  return parse_match(arguments);
}

Arguments words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

Search search_of(const Arguments& arguments) {
  return read(arguments).match.search;
}

BlockParameters block(const std::string& options) {
  return *search_of(words("--method block " + options)).parameters.get_if<BlockParameters>();
}

BeliefPropagationParameters bp(const std::string& options) {
  return *search_of(words("--method bp " + options)).parameters.get_if<BeliefPropagationParameters>();
}

TEST(MatchOptionsTest, DefaultsAreThoseOfTheLibrary) {
  for (const std::string& method : list_methods()) {
    MatcherParameters expected = preset(method, "default");
    if (method != "motion") set_parameter(expected, "rows", "auto");
    EXPECT_EQ(to_json(search_of({"--method", method}).parameters), to_json(expected));
  }
}

// Rows are aligned where that changes nothing that was published, and that the user asked for.
TEST(MatchOptionsTest, RowsAreAlignedUnlessSomethingExcludesIt) {
  EXPECT_EQ(bp("").rows, ComparedRows::automatic);
  EXPECT_EQ(bp("--preset accurate").rows, ComparedRows::automatic);
  for (const char* options : {"--rows given", "--row-tolerance 1", "--preset grauer-gray-2010", "--repair"})
    EXPECT_EQ(bp(options).rows, ComparedRows::given) << options;
  EXPECT_EQ(bp("--preset grauer-gray-2010 --rows auto").rows, ComparedRows::automatic);
}

// Another value that is valid on a command line.
bool is_accepted(const std::string& method, const std::string& name, const std::string& value) {
  MatcherParameters parameters = preset(method, "default");
  try {
    set_parameter(parameters, name, value);
    parameters.validate();
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::string another_value(const std::string& method, const ParameterInfo& parameter,
                          const std::string& value) {
  if (parameter.kind == ParameterKind::choice)
    return parameter.choices[value == parameter.choices[0] ? 1 : 0];
  if (parameter.kind == ParameterKind::number) return parameter.most > 12.5 ? "12.5" : "0.25";
  for (const char* other : {"3", "5", "1", "2", "101"})
    if (other != value && is_accepted(method, parameter.name, other)) return other;
  ADD_FAILURE() << "no other value of " << parameter.name;
  return value;
}

TEST(MatchOptionsTest, EveryOptionReachesItsFieldAndNoOther) {
  for (const std::string& method : list_methods())
    for (const ParameterInfo& parameter : list_parameters(method)) {
      MatcherParameters expected = preset(method, "default");
      const std::string value = get_parameter(expected, parameter.name);
      std::string name = parameter.name;
      std::replace(name.begin(), name.end(), '_', '-');
      const Arguments start = method == "motion" || name == "rows"
                                  ? Arguments{"--method", method}
                                  : Arguments{"--method", method, "--rows", "given"};
      const auto read_with = [&](const Arguments& more) {
        Arguments all = start;
        all.insert(all.end(), more.begin(), more.end());
        return to_json(search_of(all).parameters);
      };
      if (parameter.kind == ParameterKind::flag) {
        set_parameter(expected, parameter.name, value == "true" ? "false" : "true");
        EXPECT_EQ(read_with({(value == "true" ? "--no-" : "--") + name}), to_json(expected));
        continue;
      }
      const std::string other = another_value(method, parameter, value);
      set_parameter(expected, parameter.name, other);
      EXPECT_EQ(read_with({"--" + name, other}), to_json(expected)) << name;
      if (!parameter.optional) continue;
      set_parameter(expected, parameter.name, "none");
      EXPECT_EQ(read_with({"--no-" + name}), to_json(expected)) << name;
    }
}

TEST(MatchOptionsTest, TheMethodIsBpUnlessAnotherIsNamed) {
  EXPECT_EQ(search_of({}).method, "bp");
  EXPECT_EQ(search_of({}).parameters.get_if<BeliefPropagationParameters>()->levels,
            BeliefPropagationParameters{}.levels);
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

TiledBeliefPropagationParameters tiled_bp(const std::string& options) {
  return *search_of(words("--method tiled-bp " + options))
              .parameters.get_if<TiledBeliefPropagationParameters>();
}

TEST(MatchOptionsTest, PresetsOfTheDesignContestFixTheRange) {
  EXPECT_EQ(tiled_bp("--preset memocode-2013").disparities, 16);
  EXPECT_TRUE(search_of(words("--method tiled-bp --preset memocode-2013")).range_given);
  EXPECT_FALSE(search_of(words("--method tiled-bp")).range_given);
}

TEST(MatchOptionsTest, AFileOfCostsTakesThePlaceOfACost) {
  EXPECT_EQ(tiled_bp("--cost-file costs.txt").cost, DataCost::volume);
  EXPECT_EQ(tiled_bp("--cost-file costs.txt").disparities, 16);
  EXPECT_EQ(tiled_bp("--cost-file costs.txt --disparities 20").disparities, 20);
  EXPECT_EQ(bp("--cost-file costs.txt --preset grauer-gray-2010").disparities, 16);
  EXPECT_TRUE(search_of(words("--method bp --cost-file costs.txt")).range_given);
  EXPECT_THROW(tiled_bp("--cost-file costs.txt --cost census"), UsageError);
  EXPECT_THROW(read(words("--method census --cost-file costs.txt")), UsageError);
}

TEST(MatchOptionsTest, BeliefPropagationHasItsOwnPresets) {
  const BeliefPropagationParameters published = bp("--iterations 4 --preset grauer-gray-2010");
  EXPECT_EQ(published.disparities, 15);
  EXPECT_EQ(published.iterations, 4);
  EXPECT_EQ(published.smoothing, 1.0f);
  EXPECT_TRUE(search_of(words("--method bp --preset grauer-gray-2010")).range_given);
  EXPECT_FALSE(search_of(words("--method bp --preset grauer-gray-2019")).range_given);
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
  EXPECT_EQ(read({"--confidence", "sure.pfm"}).match.outputs.confidence, "sure.pfm");
}

TEST(MatchOptionsTest, ConfigurationsAreNamesAndValues) {
  EXPECT_TRUE(search_of({}).configuration.empty());
  const TunedValues both{{"pixels_together", "8"}, {"ranges_per_thread", "2"}};
  const Search search = search_of({"--configure", "pixels_together=4", "--configure", "ranges_per_thread=2",
                                   "--configure=pixels_together=8"});
  EXPECT_EQ(search.configuration, both);
  for (const char* wrong : {"pixels_together", "=8", ""})
    EXPECT_THROW(read({"--configure", wrong}), UsageError) << wrong;
}

TEST(MatchOptionsTest, MemoryHasUnits) {
  EXPECT_EQ(search_of({"--max-memory", "2G"}).max_memory, std::uint64_t{2} << 30);
  EXPECT_EQ(search_of({"--max-memory", "512M"}).max_memory, std::uint64_t{512} << 20);
}

TEST(MatchOptionsTest, NumbersThatAreNoneAreRefused) {
  for (const char* number : {"nan", "inf", "-1", "1e99", "x"}) {
    EXPECT_THROW(read({"--video", "v.avi", "--fps", number}), UsageError) << number;
    EXPECT_THROW(read({"--json", "--truth", "t.png", "--truth-scale", number}), UsageError) << number;
    EXPECT_THROW(eval_command({"a.pfm", "b.pfm", "--truth-scale", number}), UsageError) << number;
    EXPECT_THROW(tune_command({"--budget", number}), UsageError) << number;
  }
  EXPECT_EQ(read({"--video", "v.avi", "--fps", "12.5"}).video.frames_per_second, 12.5);
}

TEST(MatchOptionsTest, NumbersThatAreTooLargeAreRefused) {
  for (const char* number : {"99999999999999999999", "99999999999999999999G", "18446744073709551616"}) {
    EXPECT_THROW(read({"--max-memory", number}), UsageError) << number;
    EXPECT_THROW(tune_command({"--max-memory", number}), UsageError) << number;
    EXPECT_THROW(synth_command({"/dev/null/none", "--seed", number}), UsageError) << number;
  }
  EXPECT_THROW(read({"--max-memory", "99999999999G"}), UsageError);
  EXPECT_EQ(search_of({"--max-memory", "18446744073709551615"}).max_memory, 18446744073709551615u);
}

}  // namespace
}  // namespace parallax::tool
