// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/method_options.h"

#include <nlohmann/json.hpp>

namespace parallax::tool {
namespace {

const Choices<Fill> fills = {{"none", Fill::none}, {"row", Fill::row}};

struct Method {
  const char* name;
  std::vector<std::string_view> (*presets)();
  MatcherParameters (*preset)(std::string_view name);
};

const Method methods[] = {
    {"block", block_presets, [](std::string_view name) -> MatcherParameters { return block_preset(name); }},
    {"bp", belief_propagation_presets,
     [](std::string_view name) -> MatcherParameters { return belief_propagation_preset(name); }},
    {"census", census_presets,
     [](std::string_view name) -> MatcherParameters { return census_preset(name); }},
    {"tiled-bp", tiled_belief_propagation_presets,
     [](std::string_view name) -> MatcherParameters { return tiled_belief_propagation_preset(name); }},
};

const Method& find_method(const std::string& name) {
  for (const Method& method : methods)
    if (name == method.name) return method;
  throw UsageError("--method is '" + name + "': this version has " + method_names());
}

}  // namespace

MatcherParameters method_preset(const std::string& method, const std::string& preset) {
  return find_method(method).preset(preset);
}

void read_method_and_preset(const Arguments& arguments, const std::string& command, std::string& method,
                            std::string& preset) {
  Options options(command, "");
  options.add("--method", method, "");
  options.add("--preset", preset, "");
  options.read_known(arguments);
}

std::string method_names() {
  std::vector<std::string> names;
  for (const Method& method : methods) names.emplace_back(method.name);
  return join(names);
}

std::string preset_names(const std::string& method) {
  const std::vector<std::string_view> names = find_method(method).presets();
  return join({names.begin(), names.end()});
}

std::string method_help() {
  return "Algorithm; bp is the most accurate, census and block are faster: " + method_names();
}

std::string footer_of(const std::string& command, const std::string& method) {
  return "These are the options of --method " + method + "; 'parallax " + command +
         " --method NAME --help' lists those of another.";
}

std::string device_names(const std::string& method) {
  std::vector<std::string> names{"auto"};
  for (const MatcherOnDevice& entry : list_matchers())
    if (entry.method == method)
      names.push_back(name(entry.device) + std::string(entry.device == DeviceKind::cuda     ? "[:N]"
                                                       : entry.device == DeviceKind::opencl ? "[:P.D]"
                                                                                            : ""));
  return join(names);
}

nlohmann::ordered_json describe_parameters(const MatcherParameters& parameters) {
  return std::visit([](const auto& p) { return to_json(p); }, parameters);
}

const Choices<SubPixel>& sub_pixel_choices() {
  static const Choices<SubPixel> choices = {
      {"none", SubPixel::none}, {"parabola", SubPixel::parabola}, {"v-shape", SubPixel::v_shape}};
  return choices;
}

const Choices<DataCost>& data_cost_choices() {
  static const Choices<DataCost> choices = {
      {"absolute-difference", DataCost::absolute_difference},
      {"absolute-difference-colour", DataCost::absolute_difference_colour},
      {"census", DataCost::census},
      {"birchfield-tomasi", DataCost::birchfield_tomasi},
      {"mean-absolute-difference", DataCost::mean_absolute_difference}};
  return choices;
}

std::string name_of_cost(DataCost cost) {
  return cost == DataCost::volume ? "volume" : name_of(data_cost_choices(), cost);
}

void add_refine_options(Options& options, RefineParameters& refine) {
  options.group(refinement_group);
  options.add_switch("--left-right-check", refine.left_right_check,
                     "Reject pixels where the left and the right map disagree");
  options
      .add("--left-right-tolerance X", refine.left_right_tolerance, "Pixels by which the two maps may differ")
      .expert();
  options.add("--speckle-size N", refine.speckle_size, "Reject regions of fewer pixels; 0 = none");
  options.add("--speckle-range X", refine.speckle_range, "Pixels by which neighbours in a region may differ")
      .expert();
  options.add_choice("--fill", refine.fill, fills,
                     "What fills pixels without a value; row = a neighbour on the row");
  options.add("--median N", refine.median, "Median filter: window 0 (none), 3 or 5");
  options.add("--weighted-median N", refine.weighted_median,
              "Median weighted by the left image: window 0 (none) or odd, 3 to 15");
  options
      .add("--weighted-median-range N", refine.weighted_median_range,
           "Gray levels at which its weights fall to 1/e")
      .expert();
  options.add("--bilateral N", refine.bilateral,
              "Bilateral filter guided by the left image: window 0 (none) or odd, 3 to 15");
  options.add("--bilateral-range N", refine.bilateral_range, "Gray levels at which its weights fall to 1/e")
      .expert();
  options
      .add("--bilateral-step X", refine.bilateral_step,
           "Pixels of disparity by which neighbours that count may differ")
      .expert();
}

void add_to_json(nlohmann::ordered_json& json, const RefineParameters& refine) {
  json["left_right_check"] = refine.left_right_check;
  json["left_right_tolerance"] = refine.left_right_tolerance;
  json["speckle_size"] = refine.speckle_size;
  json["speckle_range"] = refine.speckle_range;
  json["fill"] = name_of(fills, refine.fill);
  json["median"] = refine.median;
  json["weighted_median"] = refine.weighted_median;
  json["weighted_median_range"] = refine.weighted_median_range;
  json["bilateral"] = refine.bilateral;
  json["bilateral_range"] = refine.bilateral_range;
  json["bilateral_step"] = refine.bilateral_step;
}

}  // namespace parallax::tool
