// SPDX-License-Identifier: Apache-2.0
#include "tools/view/settings.h"

#include <algorithm>
#include <cmath>

#include "parallax/version.h"

#include "tools/command/json.h"
#include "tools/command/method_options.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::flag:
      return "flag";
    case ParameterKind::integer:
      return "integer";
    case ParameterKind::number:
      return "number";
    case ParameterKind::choice:
      break;
  }
  return "choice";
}

Json bound(double value) {
  return std::abs(value) < 1e30 ? Json(value) : Json(nullptr);
}

Json describe(const std::string& method, const ParameterInfo& parameter) {
  return {{"name", parameter.name},
          {"kind", kind_name(parameter.kind)},
          {"help", tool::parameter_help(method, parameter)},
          {"unit", parameter.unit},
          {"allowed", parameter.allowed},
          {"group", parameter.group},
          {"least", bound(parameter.least)},
          {"most", bound(parameter.most)},
          {"choices", parameter.choices},
          {"optional", parameter.optional},
          {"expert", parameter.expert},
          {"numbers", parameter.numbers.empty() ? Json(nullptr) : Json(parameter.numbers)}};
}

// Values by name, without the method.
Json values_of(const MatcherParameters& parameters) {
  Json values = tool::describe_parameters(parameters);
  values.erase("method");
  return values;
}

Json describe_method(const std::string& name) {
  Json presets = Json::array(), parameters = Json::array();
  for (const std::string& each : list_presets(name))
    presets.push_back({{"name", each}, {"values", values_of(preset(name, each))}});
  for (const ParameterInfo& parameter : list_parameters(name))
    parameters.push_back(describe(name, parameter));
  return {{"name", name},
          {"devices", tool::device_kinds(name)},
          {"presets", presets},
          {"parameters", parameters}};
}

Json describe_devices() {
  Json devices = Json::array();
  for (const DeviceDescription& device : list_devices())
    devices.push_back({{"name", device.device}, {"description", device.description}});
  return devices;
}

Json describe_calibration(const std::optional<Calibration>& calibration) {
  if (!calibration) return nullptr;
  return {{"focal", calibration->focal},
          {"centre_x", calibration->centre_x},
          {"centre_y", calibration->centre_y},
          {"doffs", calibration->doffs},
          {"baseline", calibration->baseline}};
}

std::string text_at(const Json& json, const char* key, const std::string& otherwise) {
  const auto found = json.find(key);
  if (found == json.end()) return otherwise;
  if (!found->is_string())
    throw Error(ErrorCategory::argument, std::string("settings: '") + key + "' is not text");
  return *found;
}

std::uint64_t number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return 0;
  if (!found->is_number_unsigned())
    throw Error(ErrorCategory::argument, std::string("settings: '") + key + "' is not a number from 0 on");
  return *found;
}

}  // namespace

int slot_of(const std::string& name) {
  if (name != "A" && name != "B")
    throw Error(ErrorCategory::argument, "the slot is '" + name + "': choose A or B");
  return name == "A" ? 0 : 1;
}

std::string slot_name(int slot) {
  return slot == 0 ? "A" : "B";
}

Settings parse_settings(const Json& json) {
  Settings settings;
  settings.request = number_at(json, "request");
  settings.stored_map = json.value("stored_map", false);
  if (settings.stored_map) return settings;
  if (const auto method = json.find("method"); method == json.end() || method->is_null()) return settings;
  Json parameters = json.value("values", Json::object());
  if (!parameters.is_object())
    throw Error(ErrorCategory::argument, "settings: 'values' is not a JSON object");
  parameters["method"] = text_at(json, "method", "");
  settings.parameters = parameters_from_json(parameters.dump());
  settings.parameters->validate();
  settings.both_maps = json.value("both_maps", false);
  settings.temporal = json.value("temporal", false);
  settings.device = Device::parse(text_at(json, "device", "auto"));
  settings.device.threads = static_cast<int>(std::min<std::uint64_t>(number_at(json, "threads"), 1024));
  return settings;
}

Json describe_scene(const Scene& scene) {
  const tool::MatchRequest& request = scene.request();
  Json methods = Json::array(), statuses = Json::array();
  for (const std::string& method : list_methods()) methods.push_back(describe_method(method));
  for (int status = 0; status < status_count; ++status) statuses.push_back(name(static_cast<Status>(status)));
  return {{"version", PARALLAX_VERSION},
          {"source",
           {{"kind", scene.is_live()       ? "camera"
                     : scene.is_sequence() ? "sequence"
                                           : "pair"},
            {"left", request.input.left},
            {"right", request.input.right},
            {"frames", scene.frame_count()},
            {"frames_per_second", scene.frames_per_second()}}},
          {"calibration", describe_calibration(scene.calibration())},
          {"truth", scene.truth().has_value()},
          {"stored_map", scene.stored_map() != nullptr},
          {"devices", describe_devices()},
          {"methods", methods},
          {"statuses", statuses},
          {"start",
           {{"method", request.search.method},
            {"preset", request.search.preset},
            {"device", request.search.device},
            {"threads", request.search.threads},
            {"temporal", false},
            {"values", values_of(scene.parameters())}}}};
}

}  // namespace parallax::view
