// SPDX-License-Identifier: Apache-2.0
#include "tools/view/commands.h"

#include <algorithm>

#include "tools/command/json.h"
#include "tools/command/method_options.h"

namespace parallax::view {
namespace {

using Json = nlohmann::ordered_json;

// Names and values, as text, of the parameters that differ from a preset.
using Changes = std::vector<std::pair<std::string, std::string>>;

Changes changes_from(const MatcherParameters& preset, const MatcherParameters& parameters) {
  Changes changes;
  for (const ParameterInfo& parameter : list_parameters(method_name(parameters))) {
    const std::string value = get_parameter(parameters, parameter.name);
    if (value != get_parameter(preset, parameter.name)) changes.emplace_back(parameter.name, value);
  }
  return changes;
}

struct Nearest {
  std::string preset;
  Changes changes;
};

// The preset with the fewest changes.
Nearest nearest_preset(const MatcherParameters& parameters) {
  Nearest nearest;
  for (const std::string& name : list_presets(method_name(parameters))) {
    Changes changes = changes_from(preset(parameters, name), parameters);
    if (nearest.preset.empty() || changes.size() < nearest.changes.size())
      nearest = {name, std::move(changes)};
  }
  return nearest;
}

// As Python and C++ write it. Names of files may hold bytes that are no UTF-8.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(double number) {
  return Json(number).dump();
}

// Pictures of a camera have to be saved before another program can match them.
std::vector<std::string> inputs(const Scene& scene) {
  const tool::Input& input = scene.request().input;
  const bool is_camera = scene.is_live();
  if (input.layout) return {is_camera ? "both.png" : input.left, "--layout", tool::name(*input.layout)};
  if (is_camera) return {"left.png", "right.png"};
  if (input.holds_both_in_left()) return {input.left};
  return {input.left, input.right};
}

// The options that say how to rectify, and what the files of the rig do not say.
void add_rig_words(const tool::Input& input, std::vector<std::string>& words) {
  const auto add = [&](bool given, std::initializer_list<std::string> option) {
    if (given) words.insert(words.end(), option);
  };
  const auto size = [](Size size) { return std::to_string(size.width) + "x" + std::to_string(size.height); };
  const RectifyParameters& rectify = input.rectify;
  const tool::RigChoices& choices = input.choices;
  add(rectify.size != Size{}, {"--output-size", size(rectify.size)});
  add(!rectify.same_centres, {"--free-centres"});
  add(rectify.interpolation == Interpolation::lanczos3, {"--interpolation", "lanczos3"});
  add(choices.size != Size{}, {"--size", size(choices.size)});
  if (choices.cameras)
    add(true,
        {"--cameras", std::to_string((*choices.cameras)[0]) + "," + std::to_string((*choices.cameras)[1])});
  add(choices.fisheye, {"--fisheye"});
  add(choices.exchange, {"--exchange"});
}

// The rows that are compared, where those of a pair would be aligned unless this is said; empty elsewhere.
std::string rows_to_say(const Scene& scene, const Settings& settings, const Nearest& nearest) {
  const auto is_said = [](const auto& change) { return change.first == "rows"; };
  if (scene.is_sequence() || std::any_of(nearest.changes.begin(), nearest.changes.end(), is_said)) return "";
  for (const ParameterInfo& parameter : list_parameters(method_name(*settings.parameters)))
    if (parameter.name == "rows") return get_parameter(*settings.parameters, "rows");
  return "";
}

std::string command_line(const Scene& scene, const Settings& settings, const Nearest& nearest) {
  const tool::Input& input = scene.request().input;
  std::vector<std::string> words{"parallax", "match"};
  for (const std::string& word : inputs(scene)) words.push_back(word);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  for (const std::string& file : input.rig) add("--rig", file);
  if (input.rectify.alpha != 0) add("--alpha", text_of(input.rectify.alpha));
  if (input.rectify.zoom != 1) add("--zoom", text_of(input.rectify.zoom));
  add_rig_words(input, words);
  for (const std::string& file : input.calibration) add("--calib", file);
  add("--left-mask", input.left_mask);
  add("--right-mask", input.right_mask);
  add("--method", method_name(*settings.parameters));
  if (nearest.preset != "default") add("--preset", nearest.preset);
  add("--device", settings.device.text());
  if (settings.device.threads > 0) add("--threads", std::to_string(settings.device.threads));
  for (const auto& [name, value] : nearest.changes)
    for (const std::string& word :
         tool::option_words(describe_parameter(method_name(*settings.parameters), name), value))
      words.push_back(word);
  add("--rows", rows_to_say(scene, settings, nearest));
  const bool is_numbered = scene.is_sequence() && !scene.is_live();
  add("-o", is_numbered ? "disparity_%04d.pfm" : "disparity.pfm");
  if (settings.temporal && is_numbered) words.push_back("--temporal");
  if (settings.both_maps && !settings.temporal)
    add("--right-output", is_numbered ? "right_%04d.pfm" : "right.pfm");
  for (std::string& word : words) word = tool::quoted_for_shell(word);
  return tool::join(words, " ");
}

std::string python_value(const ParameterInfo& parameter, const std::string& value) {
  if (value == "none" && parameter.optional) return "None";
  if (parameter.kind == ParameterKind::flag) return value == "true" ? "True" : "False";
  return parameter.kind == ParameterKind::choice ? quoted(value) : value;
}

std::string python_read(const std::string& file) {
  return "px.read(" + quoted(file) + ")";
}

// Lines that make `left` and `right`.
std::string python_pictures(const Scene& scene) {
  const tool::Input& input = scene.request().input;
  if (scene.is_sequence()) return "# left, right: the pictures of one frame, as NumPy arrays\n";
  if (input.layout) {
    const bool beside =
        *input.layout == tool::Layout::side_by_side || *input.layout == tool::Layout::right_left;
    const bool left_first =
        *input.layout == tool::Layout::side_by_side || *input.layout == tool::Layout::top_bottom;
    return "both = " + python_read(input.left) + "\n" + (left_first ? "left, right" : "right, left") + " = " +
           (beside ? "both[:, : both.shape[1] // 2], both[:, both.shape[1] // 2 :]\n"
                   : "both[: both.shape[0] // 2], both[both.shape[0] // 2 :]\n");
  }
  if (input.holds_both_in_left()) return "# left, right: both views of " + input.left + ", as NumPy arrays\n";
  return "left, right = " + python_read(input.left) + ", " + python_read(input.right) + "\n";
}

std::string python_rectified(const tool::Input& input) {
  if (input.rig.empty()) return "";
  const bool is_own_format = input.rig.size() == 1 && input.rig.front().ends_with(".json");
  const std::string rig = is_own_format ? input.rig.front() : "rig.json";
  std::string text;
  if (!is_own_format) text = "# parallax rig convert " + tool::join(input.rig, " ") + " -o rig.json\n";
  text += "rectifier = px.Rectifier(px.Rig.read(" + quoted(rig) + "), dtype=left.dtype";
  if (input.rectify.alpha != 0) text += ", alpha=" + text_of(input.rectify.alpha);
  if (input.rectify.zoom != 1) text += ", zoom=" + text_of(input.rectify.zoom);
  return text + ")\nleft, right, left_mask, right_mask = rectifier(left, right)\n";
}

std::string python(const Scene& scene, const Settings& settings, const Nearest& nearest) {
  const tool::Input& input = scene.request().input;
  const std::string method = method_name(*settings.parameters);
  std::string text = "import parallax_stereo as px\n\n" + python_pictures(scene) + python_rectified(input) +
                     "result = px.match(\n    left,\n    right,\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    text += "    " + name + "=" + value + ",\n";
  };
  add("method", quoted(method));
  add("preset", quoted(nearest.preset));
  add("device", quoted(settings.device.text()));
  if (settings.device.threads > 0) add("threads", std::to_string(settings.device.threads));
  if (settings.both_maps) add("both_maps", "True");
  const auto add_mask = [&](const char* name, const std::string& file) {
    if (!input.rig.empty())
      add(name, name);
    else if (!file.empty())
      add(name, python_read(file));
  };
  add_mask("left_mask", input.left_mask);
  add_mask("right_mask", input.right_mask);
  if (const std::string rows = rows_to_say(scene, settings, nearest); !rows.empty())
    add("rows", quoted(rows));
  for (const auto& [name, value] : nearest.changes)
    add(name, python_value(describe_parameter(method, name), value));
  text += ")\n";
  if (settings.temporal && scene.is_sequence())
    text +=
        "# One filter for all frames: steady = px.TemporalFilter((width, height))\nsteady(left, right, "
        "result)\n";
  return text;
}

// Uses what the program has: the views left, right, disparity, status, and masks, a rig or a right map where
// the match has them.
std::string cpp(const tool::Input& input, const Settings& settings, const Nearest& nearest) {
  std::string text = "parallax::MatcherParameters parameters = parallax::preset(" +
                     quoted(method_name(*settings.parameters)) + ", " + quoted(nearest.preset) + ");\n";
  for (const auto& [name, value] : nearest.changes)
    text += "parallax::set_parameter(parameters, " + quoted(name) + ", " + quoted(value) + ");\n";
  text += "parallax::Device device = parallax::Device::parse(" + quoted(settings.device.text()) + ");\n";
  if (settings.device.threads > 0)
    text += "device.threads = " + std::to_string(settings.device.threads) + ";\n";
  const std::string planned = settings.both_maps ? ", {.both_maps = true}" : "";
  const std::string outputs = settings.both_maps
                                  ? "{.disparity = disparity, .status = status, .right = right_map}"
                                  : "{disparity, status}";
  if (!input.rig.empty())
    return text + "const parallax::RectifyParameters rectify{.alpha = " + text_of(input.rectify.alpha) +
           ", .zoom = " + text_of(input.rectify.zoom) +
           "};\nparallax::RectifiedMatcher matcher(parameters, device, rig, rectify, left.format.depth" +
           planned + ");\nmatcher.run(left, right, " + outputs + ");\n";
  text +=
      "parallax::Matcher matcher(parameters, device, left.format" + planned + ");\nmatcher.run({left, right";
  if (!input.left_mask.empty() || !input.right_mask.empty())
    text += input.left_mask.empty() ? ", {}" : ", left_mask";
  if (!input.right_mask.empty()) text += ", right_mask";
  return text + "}, " + outputs + ");\n";
}

}  // namespace

Json describe_commands(const Scene& scene, const Settings& settings) {
  const Nearest nearest = nearest_preset(*settings.parameters);
  return {{"command_line", command_line(scene, settings, nearest)},
          {"python", python(scene, settings, nearest)},
          {"cpp", cpp(scene.request().input, settings, nearest) +
                      (settings.temporal && scene.is_sequence()
                           ? "// One for all frames: parallax::TemporalFilter filter(left.format);\n"
                             "filter.run({left, right}, {disparity, status});\n"
                           : "")}};
}

}  // namespace parallax::view
