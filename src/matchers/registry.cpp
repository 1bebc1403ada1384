// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/block/block.h"
#include "matchers/census/census.h"
#include "matchers/method.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax {
namespace detail {

std::span<const Method> methods() {
  static const Method table[] = {
      block::method(),
      belief_propagation::method(),
      census::method(),
      tiled_belief_propagation::method(),
  };
  return table;
}

const Method& find_method(std::string_view name) {
  for (const Method& method : methods())
    if (method.name == name) return method;
  refuse("method", name, "one of " + join(list_methods()));
}

const Method& method_of(const MatcherParameters& parameters) {
  const std::span<const Method> all = methods();
  return *std::find_if(all.begin(), all.end(),
                       [&](const Method& method) { return method.parameters == parameters.index(); });
}

const Backend& find_backend(const MatcherParameters& parameters, const Device& device) {
  const Method& method = method_of(parameters);
  std::vector<std::string> elsewhere;
  for (const Backend& backend : method.backends) {
    if (backend.device == device.kind) return backend;
    elsewhere.emplace_back(name(backend.device));
  }
  throw Error(ErrorCategory::device, "method " + method.name + " does not run on device " + device.text() +
                                         " in this build: choose one of " + join(elsewhere) +
                                         ", or another method");
}

}  // namespace detail

std::vector<MatcherOnDevice> list_matchers() {
  std::vector<MatcherOnDevice> list;
  for (const detail::Method& method : detail::methods())
    for (const detail::Backend& backend : method.backends) list.push_back({method.name, backend.device});
  return list;
}

std::vector<std::string> list_methods() {
  std::vector<std::string> names;
  for (const detail::Method& method : detail::methods()) names.push_back(method.name);
  return names;
}

std::vector<std::string> list_presets(std::string_view method) {
  return detail::find_method(method).presets;
}

MatcherParameters preset(std::string_view method, std::string_view name) {
  return detail::find_method(method).preset(name);
}

std::string method_name(const MatcherParameters& parameters) {
  return detail::method_of(parameters).name;
}

std::vector<ParameterInfo> list_parameters(std::string_view name) {
  const detail::Method& method = detail::find_method(name);
  MatcherParameters parameters = method.preset("default");
  std::vector<ParameterInfo> list;
  for (const detail::Field& field : method.fields(parameters)) list.push_back(field.info());
  return list;
}

std::string get_parameter(const MatcherParameters& parameters, std::string_view name) {
  MatcherParameters copy = parameters;
  return detail::method_of(copy).fields(copy).find(name).text();
}

void set_parameter(MatcherParameters& parameters, std::string_view name, std::string_view value) {
  detail::method_of(parameters).fields(parameters).find(name).set(value);
}

}  // namespace parallax
