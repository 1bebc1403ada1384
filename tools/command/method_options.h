// SPDX-License-Identifier: Apache-2.0
// The command-line options of each method.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/matcher.h"
#include "parallax/parameters.h"

#include "tools/command/options.h"

namespace parallax::tool {

// The default method: the most accurate one.
inline constexpr const char* default_method = "bp";

// A method's preset. \throws UsageError for an unknown method, Error (argument) for an unknown preset
MatcherParameters method_preset(const std::string& method, const std::string& preset);

// Reads --method and --preset first: they decide the defaults of all other options, in any order.
// \throws UsageError
void read_method_and_preset(const Arguments& arguments, const std::string& command, std::string& method,
                            std::string& preset);

// "block, bp, census, sgm, tiled-bp", and "default, sad-full-row".
std::string method_names();
std::string preset_names(const std::string& method);
// For --help.
std::string method_help();
std::string footer_of(const std::string& command, const std::string& method);
// "auto, reference, cpu, cuda, opencl": kinds of devices for this method.
std::vector<std::string> device_kinds(const std::string& method);
// Values of --device for this method in this build: "auto, reference, cpu, cuda[:N], opencl[:P.D]".
std::string device_names(const std::string& method);

// The help of a parameter, with the devices that have it, or its choices, where others of the method lack
// them.
std::string parameter_help(const std::string& method, const ParameterInfo& parameter);

// Methods with a capability: "bp, tiled-bp".
std::string methods_with(bool Capabilities::*capability);

// The words that set a parameter: "--levels", "4", or "--no-sub-pixel" for a value that is missing.
std::vector<std::string> option_words(const ParameterInfo& parameter, const std::string& value);

// Adds options for the parameters of a method; their current values are the defaults.
void add_method_options(Options& options, MatcherParameters& parameters);
// Call after parsing: resolves options that affect each other. \throws UsageError
void settle_method_options(const Options& options, MatcherParameters& parameters);
// For a map of row offsets. \throws UsageError unless the parameters search rows
void check_searches_rows(const MatcherParameters& parameters);
// Whether the preset sets the search range.
bool fixes_range(const MatcherParameters& preset);

nlohmann::ordered_json describe_parameters(const MatcherParameters& parameters);

// Adds --configure NAME=VALUE, which may be repeated.
void add_configuration_option(Options& options, TunedValues& configuration);

// Method, parameters and device: the same options for every command that matches.
template <class Request>
void add_search_options(Options& options, Request& request) {
  options.group("Search");
  options.add("--method", request.method, method_help()).offer(list_methods());
  options
      .add("--preset", request.preset,
           "Named set of parameters, which other options override: " + preset_names(request.method))
      .offer(list_presets(request.method));
  options.group("Device");
  options.add("--device", request.device, device_names(request.method) + "; see 'parallax devices'")
      .offer(device_kinds(request.method));
  options.add("--threads N", request.threads, "Threads of the cpu device; 0 = one per core");
  add_configuration_option(options, request.configuration);
  add_method_options(options, request.parameters);
}

}  // namespace parallax::tool
