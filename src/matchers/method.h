// SPDX-License-Identifier: Apache-2.0
// What a room says of its method, in its method.cpp: everything that the rest of the library, the command
// line and the documentation know of it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/margins.h"
#include "parallax/parameters.h"

#include "core/checks.h"
#include "core/fields.h"
#include "core/registry.h"

namespace parallax::detail {

template <class Parameters>
struct Preset {
  const char* name;
  Parameters (*make)();
};

// A method with the type of its parameters.
template <class Parameters>
struct TypedMethod {
  const char* name;  // as the command line spells it
  std::span<const Preset<Parameters>> presets;
  Fields (*fields)(Parameters& parameters);
  Margins (*margins)(const Parameters& parameters, const ImageFormat& format, int padding);
  std::vector<Backend> backends;
};

struct Method {
  std::string name;
  std::size_t parameters;  // index of its parameters in MatcherParameters
  std::vector<std::string> presets;
  std::function<MatcherParameters(std::string_view name)> preset;
  std::function<Fields(MatcherParameters& parameters)> fields;
  std::function<Margins(const MatcherParameters& parameters, const ImageFormat& format, int padding)> margins;
  std::vector<Backend> backends;
};

template <class Parameters>
std::vector<std::string_view> names_of(std::span<const Preset<Parameters>> presets) {
  std::vector<std::string_view> names;
  for (const Preset<Parameters>& preset : presets) names.push_back(preset.name);
  return names;
}

// \throws Error (argument)
template <class Parameters>
Parameters find_preset(std::span<const Preset<Parameters>> presets, std::string_view name) {
  for (const Preset<Parameters>& preset : presets)
    if (name == preset.name) return preset.make();
  refuse("preset", name, join(names_of(presets), " or "));
}

template <class Parameters>
Method describe_method(const TypedMethod<Parameters>& typed) {
  const auto names = names_of(typed.presets);
  return {
      typed.name,
      MatcherParameters(Parameters{}).index(),
      {names.begin(), names.end()},
      [presets = typed.presets](std::string_view name) -> MatcherParameters {
        return find_preset(presets, name);
      },
      [fields = typed.fields](MatcherParameters& parameters) {
        return fields(std::get<Parameters>(parameters));
      },
      [margins = typed.margins](const MatcherParameters& parameters, const ImageFormat& format, int padding) {
        return margins(std::get<Parameters>(parameters), format, padding);
      },
      typed.backends};
}

template <class Parameters,
          std::unique_ptr<Plan> (*make)(const Parameters&, const Device&, const ImageFormat&)>
Backend backend(DeviceKind device) {
  return {device,
          [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format,
             const Configuration&) { return make(std::get<Parameters>(parameters), where, format); },
          nullptr};
}

// Of a plan that can be tuned.
template <class Parameters,
          std::unique_ptr<Plan> (*make)(const Parameters&, const Device&, const ImageFormat&,
                                        const Configuration&),
          TuningSpace (*space)(const Parameters&, const Device&, const ImageFormat&)>
Backend tuned_backend(DeviceKind device) {
  return {device,
          [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format,
             const Configuration& configuration) {
            return make(std::get<Parameters>(parameters), where, format, configuration);
          },
          [](const MatcherParameters& parameters, const Device& where, const ImageFormat& format) {
            return space(std::get<Parameters>(parameters), where, format);
          }};
}

// All methods of this build, in the order in which they are listed: a line a room.
std::span<const Method> methods();

// \throws Error (argument)
const Method& find_method(std::string_view name);
const Method& method_of(const MatcherParameters& parameters);

}  // namespace parallax::detail
