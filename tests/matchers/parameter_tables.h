// SPDX-License-Identifier: Apache-2.0
// The tables of parameters in docs/, made from the declarations of each method.
#pragma once

#include <algorithm>
#include <string>

#include "parallax/parameters.h"

namespace parallax::test {

inline std::string option_of(const ParameterInfo& parameter) {
  std::string name = parameter.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return (parameter.kind == ParameterKind::flag ? "--[no-]" : "--") + name;
}

inline std::string values_of(const ParameterInfo& parameter) {
  if (parameter.kind == ParameterKind::flag) return "";
  std::string values = parameter.allowed;
  for (const std::string words : {"a number from ", "a finite number, ", "one of "})
    if (values.starts_with(words)) values = values.substr(words.size());
  if (!parameter.unit.empty()) values += " " + parameter.unit;
  if (parameter.optional) values += ", or none";
  return values;
}

// A table of the parameters for which `contains` returns true.
template <class Contains>
std::string parameter_table(const MatcherParameters& values, const Contains& contains) {
  std::string table = "| option | values | default | |\n|---|---|---|---|\n";
  for (const ParameterInfo& parameter : list_parameters(method_name(values))) {
    if (!contains(parameter)) continue;
    std::string value = get_parameter(values, parameter.name);
    if (parameter.kind == ParameterKind::flag) value = value == "true" ? "on" : "off";
    table += "| `" + option_of(parameter) + "` | " + values_of(parameter) + " | " + value + " | " +
             parameter.help + " |\n";
  }
  return table;
}

inline bool is_of_refinement(const ParameterInfo& parameter) {
  return parameter.group == "Refinement";
}

// The refinement that all methods have.
inline std::string refinement_table() {
  MatcherParameters usual = preset(list_methods().front(), "default");
  usual.refine() = {};
  return parameter_table(usual, is_of_refinement);
}

// All parameters of a method, except those of the refinement with the usual defaults.
inline std::string parameter_table(const std::string& method) {
  const MatcherParameters values = preset(method, "default");
  MatcherParameters usual = values;
  usual.refine() = {};
  return parameter_table(values, [&](const ParameterInfo& parameter) {
    return !is_of_refinement(parameter) ||
           get_parameter(values, parameter.name) != get_parameter(usual, parameter.name);
  });
}

}  // namespace parallax::test
