// SPDX-License-Identifier: Apache-2.0
// The command-line options of each method.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/matcher.h"
#include "parallax/parameters.h"

#include "tools/command/options.h"

namespace parallax::tool {

// A method's preset.
// \throws UsageError for an unknown method, Error (argument) for an unknown preset
MatcherParameters method_preset(const std::string& method, const std::string& preset);

// Reads --method and --preset, which decide the defaults of all other options.
// \throws UsageError
void read_method_and_preset(const Arguments& arguments, const std::string& command, std::string& method,
                            std::string& preset);

std::string footer_of(const std::string& command, const std::string& method);
// "auto, reference, cpu, cuda, opencl": kinds of devices for this method, or, without one, for any.
std::vector<std::string> device_kinds(const std::string& method);
// Values of --device for this method in this build: "auto, reference, cpu, cuda[:N], opencl[:P.D]".
std::string device_names(const std::string& method);

// The help of a parameter. It names the devices that have it, or its choices, where others lack them.
std::string parameter_help(const std::string& method, const ParameterInfo& parameter);

std::vector<std::string> methods_with(bool Capabilities::*capability);

// The words that set a parameter: "--levels", "4", or "--no-sub-pixel" for a value that is missing.
std::vector<std::string> option_words(const ParameterInfo& parameter, const std::string& value);

// Adds options for the parameters of a method but those named; their current values are the defaults.
void add_method_options(Options& options, MatcherParameters& parameters,
                        std::span<const std::string_view> without = {});
// Call after parsing: resolves options that affect each other.
// \throws UsageError
void settle_method_options(const Options& options, MatcherParameters& parameters);
// For a map of row offsets.
// \throws UsageError unless the parameters search rows
void check_searches_rows(const MatcherParameters& parameters);

nlohmann::ordered_json describe_parameters(const MatcherParameters& parameters);

void add_configuration_option(Options& options, TunedValues& configuration);

// Method, parameters and device of a command.
struct Search {
  std::string method = "bp", preset = "default";
  std::string device = "auto";  // the first one where there are several
  std::vector<Device> devices;  // devices of a command that takes several
  int threads = 0;
  std::size_t max_memory = 0;  // memory limit of the process; 0 = see memory_limit()
  MatcherParameters parameters;
  TunedValues configuration;
  bool range_given = false;      // the user or the preset chose the range of disparities
  bool rows_by_default = false;  // rows are aligned because the user did not say which ones to compare
  bool automatic_range = false;  // --disparities auto: the range that check_pair() recommends

  // The first device, with its threads.
  // \throws Error
  Device first_device() const;
};

// The presets of the method and preset that the arguments name.
// \throws UsageError, Error (argument)
Search read_search(const Arguments& arguments, const std::string& command);
void add_preset_option(Options& options, std::string& preset, const std::string& method);
void add_device_options(Options& options, std::string& device, int& threads, const std::string& method);
// Method, parameters and device: the same options for every command that matches.
void add_search_options(Options& options, Search& search);
// Call after parsing.
// \throws UsageError
void settle_search(const Options& options, Search& search);
// Lets the matcher align rows, unless another parameter excludes it; returns whether it does.
bool align_rows(MatcherParameters& parameters);
// Does so for single pairs, unless the user says which rows to compare. Presets of publications and of other
// libraries stay as they were published. Call after settle_search().
void align_rows_by_default(const Options& options, Search& search);

// Removes "--disparities auto", as that option takes numbers only; returns whether it was there.
bool take_automatic_range(Arguments& arguments);
// \throws UsageError for an option that contradicts --disparities auto
void check_automatic_range(const Options& options, const Search& search);

// Parses a --device that may name several.
// \throws Error (argument, device) as parse_devices() does
void settle_devices(Search& search);

}  // namespace parallax::tool
