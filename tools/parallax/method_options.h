// SPDX-License-Identifier: Apache-2.0
// What each method can be told on the command line.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/matcher.h"

#include "tools/parallax/options.h"

namespace parallax::tool {

// The method of a command that is told none: the most accurate one.
inline constexpr const char* default_method = "bp";

// A method's preset. \throws UsageError for an unknown method, Error (argument) for an unknown preset
MatcherParameters method_preset(const std::string& method, const std::string& preset);

// What --method and --preset say: they decide the defaults of all other options, wherever they stand among
// them. \throws UsageError
void read_method_and_preset(const Arguments& arguments, const std::string& command, std::string& method,
                            std::string& preset);

// "block, bp, census, tiled-bp", and "default, sad-full-row".
std::string method_names();
std::string preset_names(const std::string& method);
// For --help.
std::string method_help();
std::string footer_of(const std::string& command, const std::string& method);
// What --device takes for this method in this build: "auto, reference, cpu, cuda[:N], opencl[:P.D]".
std::string device_names(const std::string& method);

// Headings of what decides the parameters of a matcher.
inline constexpr const char* search_group = "Search";
inline constexpr const char* matching_group = "Matching";
inline constexpr const char* kernels_group = "CUDA kernels (never changes a result)";
inline constexpr const char* refinement_group = "Refinement";

// For each method's parameters:
//
// - add_options() makes options of its fields, whose values at this time are the defaults; not of the search
//   range, which all methods have;
// - settle_options(), to be called after parsing: what one option means for another;
// - fixes_range() says whether a preset chose the search range.
void add_options(Options& options, BlockParameters& parameters);
void add_options(Options& options, BeliefPropagationParameters& parameters);
void add_options(Options& options, CensusParameters& parameters);
void add_options(Options& options, TiledBeliefPropagationParameters& parameters);
void settle_options(const Options& options, BlockParameters& parameters);
void settle_options(const Options& options, BeliefPropagationParameters& parameters);
void settle_options(const Options& options, CensusParameters& parameters);
void settle_options(const Options& options, TiledBeliefPropagationParameters& parameters);
bool fixes_range(const BlockParameters& preset);
bool fixes_range(const BeliefPropagationParameters& preset);
bool fixes_range(const CensusParameters& preset);
bool fixes_range(const TiledBeliefPropagationParameters& preset);
nlohmann::ordered_json to_json(const BlockParameters& parameters);
nlohmann::ordered_json to_json(const BeliefPropagationParameters& parameters);
nlohmann::ordered_json to_json(const CensusParameters& parameters);
nlohmann::ordered_json to_json(const TiledBeliefPropagationParameters& parameters);

nlohmann::ordered_json describe_parameters(const MatcherParameters& parameters);

// What methods have in common.
const Choices<SubPixel>& sub_pixel_choices();
// Without the volume, which is no choice: a file of costs chooses it.
const Choices<DataCost>& data_cost_choices();
std::string name_of_cost(DataCost cost);

void add_refine_options(Options& options, RefineParameters& refine);
void add_to_json(nlohmann::ordered_json& json, const RefineParameters& refine);

// What is searched, by which method and where: the same for every command that matches.
template <class Request>
void add_search_options(Options& options, Request& request) {
  options.group(search_group);
  options.add("--method", request.method, method_help());
  options.add("--preset", request.preset,
              "Set of parameters, which other options override: " + preset_names(request.method));
  options.add("--min-disparity N", request.min_disparity(), "Lowest disparity, of either sign");
  options.add("--disparities N", request.disparities(), "Number of disparities");
  options.group("Device");
  options.add("--device", request.device, device_names(request.method) + "; see 'parallax devices'");
  options.add("--threads N", request.threads, "Threads of the cpu device; 0 = one a core");
}

}  // namespace parallax::tool
