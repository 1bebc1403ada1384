// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

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
      std::visit([](const auto& parameters) { EXPECT_NO_THROW(parameters.validate()); }, to);
    }
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

TEST(ParametersTest, UnknownNamesAreRefused) {
  MatcherParameters parameters = preset("block", "default");
  expect_refused([&] { set_parameter(parameters, "levels", "3"); },
                 "parameter is levels: choose one of min_disparity, disparities, full_row, window");
  expect_refused([] { list_parameters("sgbm"); },
                 "method is sgbm: choose one of block, bp, census, tiled-bp");
  expect_refused([] { preset("block", "best"); }, "preset is best: choose default or sad-full-row");
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

TEST(ParametersTest, NoneIsAValueOfWhatIsOptional) {
  MatcherParameters parameters = preset("bp", "default");
  EXPECT_EQ(get_parameter(parameters, "outside_cost"), "1.6");
  set_parameter(parameters, "outside_cost", "none");
  EXPECT_FALSE(std::get<BeliefPropagationParameters>(parameters).outside_cost);
  EXPECT_EQ(get_parameter(parameters, "outside_cost"), "none");
  expect_refused([&] { set_parameter(parameters, "levels", "none"); }, "levels is none: choose a number");
}

}  // namespace
}  // namespace parallax
