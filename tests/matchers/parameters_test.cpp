// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "matchers/method.h"
#include "support.h"

namespace parallax {
namespace {

using test::expect_refused;

// Another value that is allowed.
std::string another_value(const ParameterInfo& parameter, const std::string& value) {
  if (parameter.kind == ParameterKind::flag) return value == "true" ? "false" : "true";
  if (parameter.kind == ParameterKind::choice)
    return value == parameter.choices.front() ? parameter.choices.back() : parameter.choices.front();
  const double least = std::max(parameter.least, -1000.0), most = std::min(parameter.most, 1000.0);
  if (most < 1) return "0.125";
  const std::string first = std::to_string(static_cast<int>(std::ceil(least)));
  return value == first ? std::to_string(static_cast<int>(most)) : first;
}

template <class Action>
void for_each_parameter(const Action& action) {
  for (const std::string& method : list_methods())
    for (const ParameterInfo& parameter : list_parameters(method)) {
      SCOPED_TRACE(method + ": " + parameter.name);
      action(method, parameter);
    }
}

TEST(ParametersTest, EveryPresetIsReadAndSetByName) {
  for (const std::string& method : list_methods())
    for (const std::string& name : list_presets(method)) {
      const MatcherParameters from = preset(method, name);
      MatcherParameters to = preset(method, "default");
      for (const ParameterInfo& parameter : list_parameters(method))
        set_parameter(to, parameter.name, get_parameter(from, parameter.name));
      for (const ParameterInfo& parameter : list_parameters(method))
        EXPECT_EQ(get_parameter(to, parameter.name), get_parameter(from, parameter.name)) << parameter.name;
      EXPECT_EQ(method_name(from), method);
      EXPECT_NO_THROW(to.validate());
    }
}

TEST(ParametersTest, EveryPresetIsReadFromItsJson) {
  for (const std::string& method : list_methods())
    for (const std::string& name : list_presets(method)) {
      const MatcherParameters from = preset(method, name);
      const std::string json = to_json(from);
      EXPECT_TRUE(json.starts_with("{\"method\":\"" + method + "\",\"min_disparity\":")) << json;
      EXPECT_EQ(to_json(parameters_from_json(json)), json);
    }
}

TEST(ParametersTest, JsonNamesWhatDiffersFromAPreset) {
  const MatcherParameters read = parameters_from_json(
      R"({"levels": 4, "method": "bp", "preset": "grauer-gray-2010", "outside_cost": 1.5})");
  const auto& parameters = *read.get_if<BeliefPropagationParameters>();
  EXPECT_EQ(parameters.levels, 4);
  EXPECT_EQ(parameters.disparities, 15);
  EXPECT_EQ(parameters.outside_cost, 1.5f);
  EXPECT_FALSE(parameters_from_json(R"({"method": "bp", "outside_cost": null})")
                   .get_if<BeliefPropagationParameters>()
                   ->outside_cost);
}

TEST(ParametersTest, JsonThatSaysNothingIsRefused) {
  const auto refuses = [](const char* json, std::string_view reason) {
    expect_refused([&] { parameters_from_json(json); }, reason);
  };
  refuses("", "are not a JSON object");
  refuses("[1]", "are not a JSON object");
  refuses(R"({"method": "bp")", "are not a JSON object");
  refuses("{}", "name no method");
  refuses(R"({"method": 7})", "method is 7: choose one of block");
  refuses(R"({"method": "bp", "preset": "best"})", "preset is best");
  refuses(R"({"method": "bp", "window": 5})", "parameter is window: choose one of");
  refuses(R"({"method": "bp", "levels": "many"})", "levels is many: choose a number");
  refuses(R"({"method": "bp", "levels": [4]})", "levels is [4]: choose a number");
  refuses(R"({"method": "bp", "levels": 4.5})", "levels is 4.5: choose a number");
}

TEST(ParametersTest, DeepJsonIsRefused) {
  const auto nested = [](std::size_t levels) {
    return R"({"method": "bp", "levels": )" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  expect_refused([&] { parameters_from_json(nested(99)); }, "levels is [[[");
  expect_refused([&] { parameters_from_json(nested(100)); },
                 "the parameters are nested more than 100 levels deep: write them as");
  expect_refused([&] { with_json(preset("bp", "default"), nested(1'000'000)); },
                 "nested more than 100 levels");
  // Brackets in strings do not count.
  expect_refused([] { parameters_from_json(R"({"method": "\"[)" + std::string(200, '[') + "\"}"); },
                 "method is \"[[");
}

TEST(ParametersTest, ParametersOfNoMethodAreRefused) {
  const MatcherParameters none;
  const std::string_view reason = "the parameters belong to no method";
  expect_refused([&] { none.validate(); }, reason);
  expect_refused([&] { none.disparities(); }, reason);
  expect_refused([&] { Matcher(none, {}, {{8, 8}}); }, reason);
  expect_refused([&] { get_parameter(none, "disparities"); }, reason);
}

TEST(ParametersTest, EachChangesItselfAndNoOther) {
  for_each_parameter([](const std::string& method, const ParameterInfo& parameter) {
    const MatcherParameters usual = preset(method, "default");
    MatcherParameters changed = usual;
    const std::string value = another_value(parameter, get_parameter(usual, parameter.name));
    set_parameter(changed, parameter.name, value);
    for (const ParameterInfo& other : list_parameters(method))
      EXPECT_EQ(get_parameter(changed, other.name),
                other.name == parameter.name ? value : get_parameter(usual, other.name))
          << other.name;
  });
}

TEST(ParametersTest, ValuesOutOfRangeAreRefusedAndChangeNothing) {
  for_each_parameter([](const std::string& method, const ParameterInfo& parameter) {
    const MatcherParameters usual = preset(method, "default");
    MatcherParameters parameters = usual;
    const bool integer = parameter.kind == ParameterKind::integer;
    std::vector<std::string> refused{"", "x", "1 ", "nan", "inf", "1e99"};
    if (parameter.kind == ParameterKind::integer || parameter.kind == ParameterKind::number) {
      if (integer) refused.emplace_back("1.5");
      refused.push_back(std::to_string(static_cast<long>(parameter.least) - 1));
      if (parameter.most < 2e9) refused.push_back(std::to_string(static_cast<long>(parameter.most) + 1));
    }
    for (const std::string& value : refused) {
      expect_refused([&] { set_parameter(parameters, parameter.name, value); },
                     parameter.name + " is " + value + ": choose " + parameter.allowed);
      EXPECT_EQ(get_parameter(parameters, parameter.name), get_parameter(usual, parameter.name));
    }
  });
}

template <class Number>
std::vector<Number> numbers_out_of(const detail::Allowed& allowed) {
  std::vector<Number> numbers{static_cast<Number>(allowed.least - 1)};
  if (allowed.most < 1e9) numbers.push_back(static_cast<Number>(allowed.most + 1));
  if constexpr (std::is_floating_point_v<Number>)
    numbers.insert(numbers.end(),
                   {std::numeric_limits<Number>::quiet_NaN(), std::numeric_limits<Number>::infinity()});
  if (allowed.takes && !allowed.takes(static_cast<int>(allowed.most - 1)))
    numbers.push_back(static_cast<Number>(allowed.most - 1));
  return numbers;
}

// Writes numbers that the field does not allow into it, and calls action(number) for each.
template <class Action>
void for_each_wrong_number(const detail::Field& field, const Action& action) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, int*> || std::is_same_v<Value, std::optional<int>*>)
          for (const int number : numbers_out_of<int>(*field.allowed)) action(*value = number);
        if constexpr (std::is_same_v<Value, float*> || std::is_same_v<Value, std::optional<float>*>)
          for (const float number : numbers_out_of<float>(*field.allowed)) action(*value = number);
      },
      field.value);
}

TEST(ParametersTest, FieldsOutOfRangeAreNamedWithTheirValueAndRange) {
  for_each_parameter([](const std::string& method, const ParameterInfo& parameter) {
    if (parameter.kind != ParameterKind::integer && parameter.kind != ParameterKind::number) return;
    MatcherParameters parameters = preset(method, "default");
    for_each_wrong_number(
        detail::find_method(method).fields(parameters).find(parameter.name), [&](const auto&) {
          const std::string reason = parameter.name + " is " + get_parameter(parameters, parameter.name) +
                                     ": choose " + parameter.allowed;
          expect_refused([&] { parameters.validate(); }, reason);
          for (const Device& device : test::processors(method))
            expect_refused([&] { Matcher(parameters, device, {{40, 24}}); }, reason);
        });
  });
}

TEST(ParametersTest, TheLimitsOfRangesAreTaken) {
  for_each_parameter([](const std::string& method, const ParameterInfo& parameter) {
    if (parameter.kind != ParameterKind::integer && parameter.kind != ParameterKind::number) return;
    MatcherParameters parameters = preset(method, "default");
    const detail::Fields fields = detail::find_method(method).fields(parameters);
    const bool integer = parameter.kind == ParameterKind::integer;
    for (const double limit : {parameter.least, std::min(parameter.most, 2e9)}) {
      std::ostringstream text;
      text << std::setprecision(9) << limit;
      EXPECT_NO_THROW(set_parameter(parameters, parameter.name,
                                    integer ? std::to_string(static_cast<int>(limit)) : text.str()));
      EXPECT_NO_THROW(fields.find(parameter.name).check());
    }
  });
}

TEST(ParametersTest, ChoicesThatAreNoneAreRefused) {
  const auto refuses = [](auto parameters, auto field, int value, const std::string& reason) {
    parameters.*field = static_cast<std::decay_t<decltype(parameters.*field)>>(value);
    expect_refused([&] { parameters.validate(); }, reason + ": choose one of");
  };
  refuses(BlockParameters(), &BlockParameters::cost, 9, "cost is 9");
  refuses(BlockParameters(), &BlockParameters::prefilter, -1, "prefilter is -1");
  refuses(BlockParameters(), &BlockParameters::sub_pixel, 3, "sub_pixel is 3");
  refuses(CensusParameters(), &CensusParameters::transform, 9, "transform is 9");
  refuses(CensusParameters(), &CensusParameters::cost, 2, "cost is 2");
  refuses(BeliefPropagationParameters(), &BeliefPropagationParameters::arithmetic, 5, "arithmetic is 5");
  refuses(BeliefPropagationParameters(), &BeliefPropagationParameters::cost, 6, "cost is 6");
  refuses(TiledBeliefPropagationParameters(), &TiledBeliefPropagationParameters::sweep_order, 2,
          "sweep_order is 2");
  refuses(TiledBeliefPropagationParameters(), &TiledBeliefPropagationParameters::message_width, 3,
          "message_width is 3");
  BlockParameters filled;
  filled.refine.fill = static_cast<Fill>(7);
  expect_refused([&] { filled.validate(); }, "fill is 7: choose one of none, row");
  BeliefPropagationParameters mean;
  mean.cost = DataCost::mean_absolute_difference;
  expect_refused([&] { mean.validate(); }, "cost is mean_absolute_difference: choose");
}

TEST(ParametersTest, UnknownNamesAreRefused) {
  MatcherParameters parameters = preset("block", "default");
  expect_refused([&] { set_parameter(parameters, "levels", "3"); },
                 "parameter is levels: choose one of min_disparity, disparities, full_row, window");
  expect_refused([] { list_parameters("sgbm"); },
                 "method is sgbm: choose one of block, bp, census, motion, planes, sgm, tiled-bp");
  expect_refused([] { preset("block", "best"); }, "preset is best: choose default or sad-full-row");
}

TEST(ParametersTest, RangesThatLeadOutOfTheImageAreRefused) {
  for (const std::string& method : list_methods())
    for (const Device& device : test::processors(method)) {
      MatcherParameters parameters = preset(method, "default");
      parameters.disparities() = 8;
      for (const int lowest : {40, 1'000'000, -47}) {
        parameters.min_disparity() = lowest;
        expect_refused(
            [&] {
              Matcher(parameters, device, {{40, 24}});
            },
            "lie outside an image 40 pixels wide");
      }
      for (const int lowest : {39, -46}) {
        parameters.min_disparity() = lowest;
        EXPECT_NO_THROW(Matcher(parameters, device, {{40, 24}})) << method;
      }
    }
}

TEST(ParametersTest, PublishedPresetsAreAsPublished) {
  const auto expect_values = [](const char* method, const char* name,
                                const std::map<std::string, std::string>& values) {
    const MatcherParameters parameters = preset(method, name);
    for (const auto& [parameter, value] : values)
      EXPECT_EQ(get_parameter(parameters, parameter), value) << name << ", " << parameter;
  };
  const std::map<std::string, std::string> unrefined{{"sub_pixel", "none"},
                                                     {"left_right_check", "false"},
                                                     {"speckle_size", "0"},
                                                     {"fill", "none"},
                                                     {"median", "0"}};
  for (const char* name : {"grauer-gray-2010", "grauer-gray-2019"}) {
    expect_values("bp", name, unrefined);
    expect_values("bp", name,
                  {{"cost", "absolute-difference"},
                   {"levels", "5"},
                   {"data_truncation", "15"},
                   {"outside_cost", "none"},
                   {"edge_contrast", "0"},
                   {"min_confidence", "0"}});
  }
  expect_values("bp", "grauer-gray-2010",
                {{"disparities", "15"},
                 {"iterations", "10"},
                 {"smoothing", "1"},
                 {"data_weight", "0.07"},
                 {"discontinuity_truncation", "1.7"}});
  expect_values(
      "bp", "grauer-gray-2019",
      {{"iterations", "7"}, {"smoothing", "0"}, {"data_weight", "0.1"}, {"discontinuity_truncation", "0"}});
  expect_values("tiled-bp", "memocode-2013", unrefined);
  expect_values("tiled-bp", "memocode-2013",
                {{"min_disparity", "0"},
                 {"disparities", "16"},
                 {"tile", "13"},
                 {"outer", "1"},
                 {"inner", "1"},
                 {"sweep_order", "right-left-up-down"},
                 {"discontinuity_cost", "16"},
                 {"discontinuity_truncation", "2"},
                 {"cost", "mean-absolute-difference"},
                 {"data_weight", "1"},
                 {"data_truncation", "0"},
                 {"outside_cost", "none"},
                 {"frame", "18"}});
  expect_values("census", "mobile-gpu-2015", {{"disparities", "60"}, {"transform", "modified-9x9"}});
  expect_values("block", "sad-full-row", unrefined);
  expect_values("block", "sad-full-row",
                {{"full_row", "true"},
                 {"window", "5"},
                 {"cost", "sad"},
                 {"prefilter", "none"},
                 {"uniqueness", "0"},
                 {"texture_threshold", "0"}});
}

TEST(ParametersTest, EachIsDescribed) {
  for_each_parameter([](const std::string&, const ParameterInfo& parameter) {
    EXPECT_FALSE(parameter.help.empty());
    EXPECT_FALSE(parameter.help.ends_with('.'));
    EXPECT_FALSE(parameter.allowed.empty());
    EXPECT_FALSE(parameter.group.empty());
    EXPECT_EQ(parameter.choices.empty(), parameter.kind != ParameterKind::choice);
  });
  const std::vector<ParameterInfo> all = list_parameters("block");
  EXPECT_EQ(all[3].name, "window");
  EXPECT_EQ(all[3].allowed, "an odd number from 1 to 31");
  EXPECT_EQ(all[3].unit, "pixels");
}

// Those of the devices that are in this build.
std::vector<DeviceKind> in_this_build(std::initializer_list<DeviceKind> kinds) {
  const std::vector<DeviceKind> built = test::device_kinds();
  std::vector<DeviceKind> here = kinds;
  std::erase_if(here, [&](DeviceKind kind) { return std::count(built.begin(), built.end(), kind) == 0; });
  return here;
}

TEST(ParametersTest, EachTellsWhereItWorks) {
  using enum DeviceKind;
  for (const char* method : {"block", "bp", "census", "sgm"}) {
    EXPECT_EQ(describe_parameter(method, "row_tolerance").devices, in_this_build({reference, cpu}));
    EXPECT_EQ(describe_parameter(method, "refit").devices, in_this_build({reference, cpu, cuda, opencl}));
    EXPECT_EQ(describe_parameter(method, "sub_pixel").devices, in_this_build({reference, cpu, cuda, opencl}));
  }
  EXPECT_EQ(describe_parameter("bp", "rows").devices, in_this_build({reference, cpu, cuda, opencl}));
  const ParameterInfo arithmetic = describe_parameter("bp", "arithmetic");
  EXPECT_EQ(arithmetic.devices, in_this_build({reference, cpu, cuda, opencl}));
  ASSERT_EQ(arithmetic.choices[1], "fixed16");
  EXPECT_EQ(arithmetic.choice_devices[1], arithmetic.devices);
  ASSERT_EQ(arithmetic.choices[2], "float32");
  EXPECT_EQ(arithmetic.choice_devices[2], in_this_build({reference, cpu, cuda}));
}

// What a backend lacks is a parameter, and the choices are its own.
TEST(ParametersTest, DeclarationsOfWhatIsLackingAreSpelledCorrectly) {
  for (const auto& method : detail::methods())
    for (const detail::Backend& backend : method->backends())
      for (const detail::Lack& lack : backend.lacks) {
        const std::vector<std::string> choices = describe_parameter(method->name(), lack.parameter).choices;
        for (const std::string& choice : lack.choices)
          EXPECT_EQ(std::count(choices.begin(), choices.end(), choice), 1) << lack.parameter << " " << choice;
      }
}

TEST(ParametersTest, WhatADeviceLacksIsRefusedByName) {
  if (in_this_build({DeviceKind::opencl}).empty()) GTEST_SKIP() << "this build has no device opencl";
  const auto expect_lacking = [](const char* name, const char* value, const char* message) {
    MatcherParameters parameters = preset("bp", "default");
    set_parameter(parameters, name, value);
    test::expect_error(test::error_of([&] { detail::find_backend(parameters, {DeviceKind::opencl}); }),
                       ErrorCategory::device, {message});
  };
  expect_lacking("row_tolerance", "2", "row_tolerance is not available on device opencl: choose device cpu");
  expect_lacking(
      "arithmetic", "float32",
      "arithmetic float32 is not available on device opencl: choose fixed8 or fixed16, or device cpu");
}

// A method's capabilities are those of its parameters.
TEST(ParametersTest, CapabilitiesAgreeWithTheParameters) {
  for (const std::string& method : list_methods()) {
    SCOPED_TRACE(method);
    Capabilities found;
    for (const ParameterInfo& parameter : list_parameters(method)) {
      found.full_row |= parameter.name == "full_row";
      found.row_tolerance |= parameter.name == "row_tolerance";
      found.volume |= std::count(parameter.choices.begin(), parameter.choices.end(), "volume") > 0;
    }
    const Capabilities told = capabilities(method);
    EXPECT_EQ(told.full_row, found.full_row);
    EXPECT_EQ(told.row_tolerance, found.row_tolerance);
    EXPECT_EQ(told.volume, found.volume);
    MatcherParameters parameters = preset(method, "default");
    EXPECT_EQ(searches_rows(parameters), method == "motion");
    if (!found.row_tolerance) continue;
    set_parameter(parameters, "row_tolerance", "1");
    EXPECT_TRUE(searches_rows(parameters));
  }
}

TEST(ParametersTest, NoneIsAValueOfWhatIsOptional) {
  MatcherParameters parameters = preset("bp", "default");
  EXPECT_EQ(get_parameter(parameters, "outside_cost"), "1.6");
  set_parameter(parameters, "outside_cost", "none");
  EXPECT_FALSE(parameters.get_if<BeliefPropagationParameters>()->outside_cost);
  EXPECT_EQ(get_parameter(parameters, "outside_cost"), "none");
  expect_refused([&] { set_parameter(parameters, "levels", "none"); }, "levels is none: choose a number");
}

}  // namespace
}  // namespace parallax
