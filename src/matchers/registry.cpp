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

bool Lack::refuses(const std::string& value) const {
  if (choices.empty()) return value != "0" && value != "false" && value != "none";
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

bool Backend::takes(const std::string& parameter, const std::string& value) const {
  return std::none_of(lacks.begin(), lacks.end(),
                      [&](const Lack& lack) { return lack.parameter == parameter && lack.refuses(value); });
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

namespace {

using Kinds = std::vector<DeviceKind>;

Kinds devices_that_take(const Method& method, const std::string& parameter, const std::string& value) {
  Kinds kinds;
  for (const Backend& backend : method.backends())
    if (backend.takes(parameter, value)) kinds.push_back(backend.device);
  return kinds;
}

// "fixed8 or fixed16, or device cpu"
std::string remedy(const Method& method, const Backend& backend, const Field& field) {
  std::vector<std::string> choices = field.info().choices;
  std::erase_if(choices, [&](const std::string& choice) { return !backend.takes(field.name, choice); });
  const Kinds kinds = devices_that_take(method, field.name, field.text());
  const bool on_cpu = std::find(kinds.begin(), kinds.end(), DeviceKind::cpu) != kinds.end();
  return (choices.empty() ? "" : join(choices, " or ") + ", or ") + "device " +
         name(on_cpu ? DeviceKind::cpu : kinds.front());
}

void check_available(const Method& method, const Backend& backend, MatcherParameters parameters) {
  const Fields fields = method.fields(parameters);
  for (const Lack& lack : backend.lacks) {
    const Field& field = fields.find(lack.parameter);
    if (!lack.refuses(field.text())) continue;
    throw Error(ErrorCategory::device, lack.parameter + (lack.choices.empty() ? "" : " " + field.text()) +
                                           " is not available on device " + name(backend.device) +
                                           ": choose " + remedy(method, backend, field));
  }
}

ParameterInfo describe(const Method& method, const Field& field) {
  ParameterInfo info = field.info();
  for (const std::string& choice : info.choices)
    info.choice_devices.push_back(devices_that_take(method, field.name, choice));
  for (const Backend& backend : method.backends())
    if (std::none_of(backend.lacks.begin(), backend.lacks.end(),
                     [&](const Lack& lack) { return lack.parameter == field.name && lack.choices.empty(); }))
      info.devices.push_back(backend.device);
  return info;
}

}  // namespace

const Backend& find_backend(const MatcherParameters& parameters, const Device& device) {
  const Method& method = method_of(parameters);
  std::vector<std::string> elsewhere;
  for (const Backend& backend : method.backends()) {
    if (backend.device == device.kind) {
      check_available(method, backend, parameters);
      return backend;
    }
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
  for (const detail::Field& field : method.fields(parameters))
    list.push_back(detail::describe(method, field));
  return list;
}

ParameterInfo describe_parameter(std::string_view method, std::string_view name) {
  const detail::Method& found = detail::find_method(method);
  MatcherParameters parameters = found.preset("default");
  return detail::describe(found, found.fields(parameters).find(name));
}

std::string get_parameter(const MatcherParameters& parameters, std::string_view name) {
  MatcherParameters copy = parameters;
  return detail::method_of(copy).fields(copy).find(name).text();
}

void set_parameter(MatcherParameters& parameters, std::string_view name, std::string_view value) {
  detail::method_of(parameters).fields(parameters).find(name).set(value);
}

bool searches_full_rows(const MatcherParameters& parameters) {
  return detail::method_of(parameters).searches_full_rows(parameters);
}

bool searches_rows(const MatcherParameters& parameters) {
  return detail::method_of(parameters).searches_rows(parameters);
}

double energy(const MatcherParameters& parameters, const StereoPair& pair, View<const float> disparity) {
  const DefaultFloatingPoint environment;
  return detail::method_of(parameters).energy(parameters, pair, disparity);
}

}  // namespace parallax
