// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/floating_point.h"
#include "matchers/method.h"

namespace parallax {
namespace detail {

std::vector<std::unique_ptr<Method>>& methods() {
  static std::vector<std::unique_ptr<Method>> all = methods_of_this_build();
  return all;
}

Method::Method(std::string name, std::vector<Backend> backends)
    : name_(std::move(name)), backends_(std::move(backends)) {
  std::erase_if(backends_, [](const Backend& backend) { return backend.make == nullptr; });
}

Capabilities capabilities_of(const Fields& fields) {
  Capabilities capabilities;
  for (const Field& field : fields) {
    const std::vector<std::string> choices = field.info().choices;
    capabilities.full_row |= field.name == "full_row";
    capabilities.volume |= std::find(choices.begin(), choices.end(), "volume") != choices.end();
  }
  return capabilities;
}

void refuse_energy(const std::string& method) {
  std::vector<std::string> others;
  for (const auto& other : methods())
    if (other->capabilities().energy) others.push_back(other->name());
  throw Error(ErrorCategory::argument,
              "method " + method + " does not minimise an energy: choose one of " + join(others));
}

const Method& find_method(std::string_view name) {
  for (const auto& method : methods())
    if (method->name() == name) return *method;
  refuse("method", name, "one of " + join(list_methods()));
}

const Method& method_of(const MatcherParameters& parameters) {
  for (const auto& method : methods())
    if (method->takes(parameters)) return *method;
  throw Error(ErrorCategory::argument,
              "the parameters belong to no method: give a struct such as BlockParameters, or a preset()");
}

const Backend& find_backend(const MatcherParameters& parameters, const Device& device) {
  const Method& method = method_of(parameters);
  std::vector<std::string> elsewhere;
  for (const Backend& backend : method.backends()) {
    if (backend.device == device.kind) return backend;
    elsewhere.emplace_back(name(backend.device));
  }
  throw Error(ErrorCategory::device, "method " + method.name() + " does not run on device " + device.text() +
                                         " in this build: choose one of " + join(elsewhere) +
                                         ", or another method");
}

}  // namespace detail

void MatcherParameters::validate() const {
  detail::method_of(*this);
  validate_(held_);
}

void MatcherParameters::check_held() const {
  if (!held_.has_value()) detail::method_of(*this);
}

std::vector<MatcherOnDevice> list_matchers() {
  std::vector<MatcherOnDevice> list;
  for (const auto& method : detail::methods())
    for (const detail::Backend& backend : method->backends())
      list.push_back({method->name(), backend.device});
  return list;
}

std::vector<std::string> list_methods() {
  std::vector<std::string> names;
  for (const auto& method : detail::methods()) names.push_back(method->name());
  return names;
}

std::vector<std::string> list_presets(std::string_view method) {
  return detail::find_method(method).presets();
}

MatcherParameters preset(std::string_view method, std::string_view name) {
  return detail::find_method(method).preset(name);
}

MatcherParameters preset(const MatcherParameters& parameters, std::string_view name) {
  return detail::method_of(parameters).preset(name);
}

std::string method_name(const MatcherParameters& parameters) {
  return detail::method_of(parameters).name();
}

Capabilities capabilities(std::string_view method) {
  return detail::find_method(method).capabilities();
}

std::vector<ParameterInfo> list_parameters(std::string_view name) {
  const detail::Method& method = detail::find_method(name);
  MatcherParameters parameters = method.preset("default");
  std::vector<ParameterInfo> list;
  for (const detail::Field& field : method.fields(parameters)) list.push_back(field.info());
  return list;
}

ParameterInfo describe_parameter(std::string_view method, std::string_view name) {
  MatcherParameters parameters = preset(method, "default");
  return detail::method_of(parameters).fields(parameters).find(name).info();
}

std::string get_parameter(const MatcherParameters& parameters, std::string_view name) {
  MatcherParameters copy = parameters;
  return detail::method_of(copy).fields(copy).find(name).text();
}

void set_parameter(MatcherParameters& parameters, std::string_view name, std::string_view value) {
  detail::method_of(parameters).fields(parameters).find(name).set(value);
}

bool searches_full_rows(const MatcherParameters& parameters) {
  return capabilities(method_name(parameters)).full_row && get_parameter(parameters, "full_row") == "true";
}

bool searches_rows(const MatcherParameters& parameters) {
  MatcherParameters copy = parameters;
  for (const detail::Field& field : detail::method_of(copy).fields(copy)) {
    if (field.info().name == "row_offsets") return true;
    if (field.info().name == "row_tolerance") return field.text() != "0";
  }
  return false;
}

double energy(const MatcherParameters& parameters, const StereoPair& pair, View<const float> disparity) {
  const DefaultFloatingPoint environment;
  return detail::method_of(parameters).energy(parameters, pair, disparity);
}

}  // namespace parallax
