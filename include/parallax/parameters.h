// SPDX-License-Identifier: Apache-2.0
/// \file
/// Methods and their parameters by name, for command lines, files, other languages and user interfaces.
#pragma once

#include <any>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "parallax/device.h"
#include "parallax/image.h"
#include "parallax/refine.h"

#pragma GCC visibility push(default)
namespace parallax {

/// A parameter struct of a method, such as BlockParameters.
template <class Parameters>
concept MethodParameters = requires(Parameters& parameters) {
  { parameters.min_disparity } -> std::same_as<int&>;
  { parameters.disparities } -> std::same_as<int&>;
  { parameters.refine } -> std::same_as<RefineParameters&>;
  std::as_const(parameters).validate();
};

/// A copy of the parameters of one method; their type identifies the method. Any parameter struct converts to
/// it.
class MatcherParameters {
 public:
  /// Holds no parameters: every function that needs a method throws Error (argument).
  MatcherParameters() = default;

  /// Selects the method by the type of its parameters.
  template <MethodParameters Parameters>
  MatcherParameters(Parameters parameters)
      : held_(std::move(parameters)),
        shared_([](std::any& held) {
          Parameters& own = *std::any_cast<Parameters>(&held);
          return Shared{own.min_disparity, own.disparities, own.refine};
        }),
        validate_([](const std::any& held) { std::any_cast<Parameters>(&held)->validate(); }) {}

  /// The parameter struct; null if these are parameters of another method.
  /// @{
  template <MethodParameters Parameters>
  Parameters* get_if() {
    return std::any_cast<Parameters>(&held_);
  }
  template <MethodParameters Parameters>
  const Parameters* get_if() const {
    return std::any_cast<Parameters>(&held_);
  }
  /// @}

  /// A parameter that every method has.
  /// @{
  int& min_disparity() { return shared().min_disparity; }
  int& disparities() { return shared().disparities; }
  RefineParameters& refine() { return shared().refine; }
  int min_disparity() const { return shared().min_disparity; }
  int disparities() const { return shared().disparities; }
  const RefineParameters& refine() const { return shared().refine; }
  /// @}

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;

  /// The type of the parameter struct; void when there is none.
  const std::type_info& type() const { return held_.type(); }

 private:
  struct Shared {
    int& min_disparity;
    int& disparities;
    RefineParameters& refine;
  };

  void check_held() const;
  Shared shared() const {
    check_held();
    return shared_(held_);
  }

  mutable std::any held_;
  Shared (*shared_)(std::any& held) = nullptr;
  void (*validate_)(const std::any& held) = nullptr;
};

/// What values a parameter takes as text.
enum class ParameterKind {
  flag,     ///< "true" or "false"
  integer,  ///< a decimal number without a fraction
  number,   ///< a decimal number, with or without a fraction
  choice,   ///< one of ParameterInfo::choices
};

/// Description of one parameter of a method.
struct ParameterInfo {
  std::string name;                                      ///< as in the parameter struct: "prefilter_cap"
  ParameterKind kind = ParameterKind::integer;           ///< what values it takes
  std::string help;                                      ///< one line, without a full stop
  std::string unit;                                      ///< "pixels", "gray levels"; empty if it has none
  std::string allowed;                                   ///< "an odd number from 1 to 31"
  std::string group;                                     ///< heading under which user interfaces show it
  double least = std::numeric_limits<double>::lowest();  ///< lowest value of an integer or a number
  double most = std::numeric_limits<double>::max();      ///< highest value of an integer or a number
  /// The integers that are allowed, where only some between `least` and `most` are, and these are at most 64 apart;
  /// else empty.
  std::vector<int> numbers;
  std::vector<std::string> choices;  ///< allowed values of a choice
  bool optional = false;             ///< may have no value, spelled "none"
  bool expert = false;               ///< rarely worth changing
  /// Where it works. Other devices that run the method refuse all values but 0, false and none, by an Error
  /// (device).
  std::vector<DeviceKind> devices;
  std::vector<std::vector<DeviceKind>> choice_devices;  ///< where each of `choices` works
};

/// Optional features of a method.
struct Capabilities {
  bool full_row = false;  ///< its parameter "full_row" searches full rows, without a range
  bool volume = false;    ///< its parameter "cost" may be "volume": it takes StereoPair::costs
  bool energy = false;    ///< energy() computes the energy that the method minimises
  /// its parameter "row_tolerance" also searches the rows above and below
  bool row_tolerance = false;
  /// A tile only approximates its part of the untiled map, more closely with more overlap between tiles.
  bool approximate_tiles = false;
};

/// Lists the names of all methods in this build: "block", "bp", "census", "motion", "sgm", "tiled-bp".
std::vector<std::string> list_methods();

/// Lists the names of the presets of a method, `default` first.
/// \throws Error (argument) for an unknown method.
std::vector<std::string> list_presets(std::string_view method);

/// Returns a preset of a method.
/// \throws Error (argument) for an unknown method or preset.
MatcherParameters preset(std::string_view method, std::string_view name);

/// Returns a preset of the method of these parameters.
/// \throws Error (argument) for an unknown preset.
MatcherParameters preset(const MatcherParameters& parameters, std::string_view name);

/// Returns a preset as a parameter struct: `preset<BlockParameters>("default")`.
/// \throws Error (argument) for an unknown preset.
template <MethodParameters Parameters>
Parameters preset(std::string_view name) {
  return *preset(MatcherParameters(Parameters()), name).template get_if<Parameters>();
}

/// Returns the name of the method of these parameters.
std::string method_name(const MatcherParameters& parameters);

/// Returns the optional features of a method.
/// \throws Error (argument) for an unknown method.
Capabilities capabilities(std::string_view method);

/// Describes all parameters of a method, in the order in which a user interface shows them.
/// \throws Error (argument) for an unknown method.
std::vector<ParameterInfo> list_parameters(std::string_view method);

/// Describes one parameter of a method.
/// \throws Error (argument) for an unknown method or parameter.
ParameterInfo describe_parameter(std::string_view method, std::string_view name);

/// Returns the value of a parameter as text, which set_parameter() reads back exactly.
/// \throws Error (argument) when the method has no parameter of this name.
std::string get_parameter(const MatcherParameters& parameters, std::string_view name);

/// Sets a parameter. Conditions on several parameters are checked only by validate().
/// \throws Error (argument) when the method has no parameter of this name, or the text is not a value of its
/// kind or is out of range.
void set_parameter(MatcherParameters& parameters, std::string_view name, std::string_view value);

/// Returns a JSON object of "method" and then all parameters by name; a missing optional value is null.
std::string to_json(const MatcherParameters& parameters);

/// Reads such an object: {"method": "bp", "preset": "grauer-gray-2019", "levels": 4}. Parameters that it does
/// not name have the value of the preset, which is `default` if none is named.
/// \throws Error (argument) when the text is not a JSON object, and as preset() and set_parameter() do.
MatcherParameters parameters_from_json(std::string_view json);

/// Returns these parameters with the changes of such an object, which need not name the method: a preset
/// first, then each parameter that it names.
/// \throws Error (argument) as parameters_from_json() does, and for another method.
MatcherParameters with_json(const MatcherParameters& parameters, std::string_view json);

/// Returns whether these parameters search full rows; min_disparity and disparities are then ignored.
bool searches_full_rows(const MatcherParameters& parameters);

/// Returns whether these parameters search the rows above and below, too, so that a matcher can write
/// DisparityMap::row_offset.
bool searches_rows(const MatcherParameters& parameters);

/// Computes the energy that a method minimises, for any disparity map of a pair: data costs plus
/// discontinuity costs, in the units of the method's discontinuity cost. Disparities are rounded to labels.
/// Pixels without a value and the edges to them do not count.
/// \throws Error (argument) as a Matcher does, for a method without Capabilities::energy, and for a disparity
/// out of range.
double energy(const MatcherParameters& parameters, const StereoPair& pair, View<const float> disparity);

}  // namespace parallax
#pragma GCC visibility pop
