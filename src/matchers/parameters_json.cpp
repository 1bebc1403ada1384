// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "parallax/error.h"
#include "parallax/parameters.h"

#include "core/json.h"
#include "matchers/method.h"

namespace parallax {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const detail::Field& field) {
  const std::string value = field.text();
  if (std::holds_alternative<detail::Choice>(field.value)) return value;
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
  MatcherParameters copy = parameters;
  const detail::Method& method = detail::method_of(copy);
  ordered_json json{{"method", method.name()}};
  for (const detail::Field& field : method.fields(copy)) json[field.name] = json_of(field);
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
  const detail::Fields fields = detail::method_of(changed).fields(changed);
  for (const auto& [name, value] : json.items()) fields.find(name).set(text_of(value));
  return changed;
}

MatcherParameters parameters_from_json(std::string_view text) {
  const ordered_json json = read_object(text);
  if (!json.contains("method"))
    throw Error(ErrorCategory::argument, "the parameters name no method: add \"method\"");
  return with_json(preset(text_of(json["method"]), "default"), text);
}

}  // namespace parallax
