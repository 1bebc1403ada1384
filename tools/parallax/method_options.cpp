#include "tools/parallax/method_options.h"

#include "tools/parallax/command_line.h"

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
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_option("--method", method);
  app.add_option("--preset", preset);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see 'parallax " + command + " --help'");
  }
}

std::string method_names() {
  std::vector<std::string> names;
  for (const Method& method : methods) names.emplace_back(method.name);
  return CLI::detail::join(names, ", ");
}

std::string preset_names(const std::string& method) {
  return CLI::detail::join(find_method(method).presets(), ", ");
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

void check_outside_cost(const CLI::App& app) {
  if (app.count("--outside-cost") > 0 && app.count("--no-outside-cost") > 0)
    throw UsageError("--outside-cost and --no-outside-cost exclude each other: give one of them");
}

void add_refine_options(CLI::App& app, RefineParameters& refine) {
  const std::string group = "Refinement";
  app.add_flag("--left-right-check,!--no-left-right-check", refine.left_right_check,
               "Reject pixels on which the left and the right map disagree")
      ->group(group);
  app.add_option("--left-right-tolerance", refine.left_right_tolerance, "Pixels by which they may differ")
      ->group(group);
  app.add_option("--speckle-size", refine.speckle_size, "Reject regions of fewer pixels; 0 = none")
      ->group(group);
  app.add_option("--speckle-range", refine.speckle_range, "Pixels by which neighbours of a region may differ")
      ->group(group);
  add_choice(app, "--fill", refine.fill, fills,
             "What pixels without a value get: row = the lower neighbour on the row")
      ->group(group);
  app.add_option("--median", refine.median, "Window of the median filter: 0 (none), 3 or 5")->group(group);
  app.add_option("--weighted-median", refine.weighted_median,
                 "Window of the median weighted by the left image: 0 (none), or odd, 3 to 15")
      ->group(group);
  app.add_option("--weighted-median-range", refine.weighted_median_range,
                 "Gray levels by which its weights fall to 1/e")
      ->group(group);
  app.add_option("--bilateral", refine.bilateral,
                 "Window of the bilateral filter, joint with the left image: 0 (none), or odd, 3 to 15")
      ->group(group);
  app.add_option("--bilateral-range", refine.bilateral_range, "Gray levels by which its weights fall to 1/e")
      ->group(group);
  app.add_option("--bilateral-step", refine.bilateral_step,
                 "Pixels of disparity by which neighbours that count may differ")
      ->group(group);
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
