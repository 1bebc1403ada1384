// SPDX-License-Identifier: Apache-2.0
// The tables of parameters in docs/, made of what each method declares.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

#include "parallax/parameters.h"

namespace parallax::test {

// What every method has stands on the page of the refinement.
inline constexpr const char* refinement = "Refinement";

inline std::string option_of(const ParameterInfo& parameter) {
  std::string name = parameter.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return (parameter.kind == ParameterKind::flag ? "--[no-]" : "--") + name;
}

inline std::string values_of(const ParameterInfo& parameter) {
  if (parameter.kind == ParameterKind::flag) return "";
  std::string values = parameter.allowed;
  for (const std::string words : {"a number from ", "one of "})
    if (values.starts_with(words)) values = values.substr(words.size());
  if (parameter.optional) values += ", or none";
  return values;
}

// Of a method: all but the refinement; or only that.
inline std::string parameter_table(const std::string& method, bool of_refinement) {
  std::ostringstream table;
  table << "| option | values | default | |\n|---|---|---|---|\n";
  const MatcherParameters usual = preset(method, "default");
  for (const ParameterInfo& parameter : list_parameters(method)) {
    if ((parameter.group == refinement) != of_refinement) continue;
    std::string value = get_parameter(usual, parameter.name);
    if (parameter.kind == ParameterKind::flag) value = value == "true" ? "on" : "off";
    table << "| `" << option_of(parameter) << "` | " << values_of(parameter) << " | " << value << " | "
          << parameter.help << " |\n";
  }
  return table.str();
}

}  // namespace parallax::test
