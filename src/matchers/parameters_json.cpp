// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "parallax/error.h"
#include "parallax/parameters.h"

#include "core/json.h"

namespace parallax {
namespace {

using nlohmann::ordered_json;

// The JSON form of a value that get_parameter() returned.
ordered_json json_of(const ParameterInfo& parameter, const std::string& value) {
  if (parameter.kind == ParameterKind::choice) return value;
  return value == "none" ? ordered_json() : ordered_json::parse(value);
}

// The text that set_parameter() takes.
std::string text_of(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "none" : value.dump();
}

ordered_json read_object(std::string_view text) {
  try {
    return parse_json_object(text);
  } catch (const JsonError& error) {
    throw Error(ErrorCategory::argument, std::string("the parameters are ") + error.what() +
                                             ": write them as {\"method\": \"bp\", \"levels\": 4}");
  }
}

std::string taken_out(ordered_json& json, const char* name, const std::string& otherwise) {
  if (!json.contains(name)) return otherwise;
  std::string text = text_of(json[name]);
  json.erase(name);
  return text;
}

}  // namespace

std::string to_json(const MatcherParameters& parameters) {
  ordered_json json{{"method", method_name(parameters)}};
  for (const ParameterInfo& parameter : list_parameters(method_name(parameters)))
    json[parameter.name] = json_of(parameter, get_parameter(parameters, parameter.name));
  return json.dump();
}

MatcherParameters with_json(const MatcherParameters& parameters, std::string_view text) {
  ordered_json json = read_object(text);
  const std::string own = method_name(parameters), method = taken_out(json, "method", own);
  if (method != own)
    throw Error(ErrorCategory::argument, "the parameters are of method " + method + ", and not of " + own +
                                             ": leave \"method\" out, or start from that method");
  MatcherParameters changed =
      json.contains("preset") ? preset(method, taken_out(json, "preset", "")) : parameters;
  for (const auto& [name, value] : json.items()) set_parameter(changed, name, text_of(value));
  return changed;
}

MatcherParameters parameters_from_json(std::string_view text) {
  const ordered_json json = read_object(text);
  if (!json.contains("method"))
    throw Error(ErrorCategory::argument, "the parameters name no method: add \"method\"");
  return with_json(preset(text_of(json["method"]), "default"), text);
}

}  // namespace parallax
