// SPDX-License-Identifier: Apache-2.0
/// \file
/// Methods and their parameters by name: for command lines, files, other languages and user interfaces.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/matcher.h"

#pragma GCC visibility push(default)
namespace parallax {

enum class ParameterKind {
  flag,     ///< "true" or "false"
  integer,  ///< a decimal number
  number,   ///< a decimal number, with or without a fraction
  choice,   ///< one of ParameterInfo::choices
};

/// What is known of one parameter of a method.
struct ParameterInfo {
  std::string name;  ///< as in the struct of parameters: "prefilter_cap"
  ParameterKind kind = ParameterKind::integer;
  std::string help;     ///< one line, without a full stop
  std::string unit;     ///< "pixels", "gray levels"; empty where there is none
  std::string allowed;  ///< "an odd number from 1 to 31"
  std::string group;    ///< heading under which user interfaces show it
  double least = std::numeric_limits<double>::lowest();  ///< of an integer or a number
  double most = std::numeric_limits<double>::max();      ///< of an integer or a number
  std::vector<std::string> choices;                      ///< of a choice
  bool optional = false;                                 ///< may have no value, spelled "none"
  bool expert = false;                                   ///< hardly ever worth changing
};

/// Names of all methods in this build: "block", "bp", "census", "tiled-bp".
std::vector<std::string> list_methods();

/// Names of the presets of a method, `default` first. \throws Error (argument) for an unknown method.
std::vector<std::string> list_presets(std::string_view method);

/// A preset of a method. \throws Error (argument) for an unknown method or preset.
MatcherParameters preset(std::string_view method, std::string_view name);

/// The method that these are parameters of.
std::string method_name(const MatcherParameters& parameters);

/// All parameters of a method, in the order in which a user interface shows them.
/// \throws Error (argument) for an unknown method.
std::vector<ParameterInfo> list_parameters(std::string_view method);

/// The value of a parameter as text, which set_parameter() reads back exactly.
/// \throws Error (argument) when the method has no parameter of this name.
std::string get_parameter(const MatcherParameters& parameters, std::string_view name);

/// Sets a parameter.
/// \throws Error (argument) when the method has no parameter of this name, or the text is no value of its
/// kind or out of range. What depends on several parameters is left to validate().
void set_parameter(MatcherParameters& parameters, std::string_view name, std::string_view value);

}  // namespace parallax
#pragma GCC visibility pop
