// SPDX-License-Identifier: Apache-2.0
#include "tools/command/method_options.h"

#include <algorithm>

#include "tools/command/json.h"

namespace parallax::tool {
namespace {

// "prefilter_cap" as "--prefilter-cap".
std::string option_name(const std::string& parameter) {
  std::string name = "--" + parameter;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string opposite(const std::string& option) {
  return "--no-" + option.substr(2);
}

// The choices of an option, without volume: a cost volume comes from a file.
std::vector<std::string> option_choices(const ParameterInfo& parameter) {
  std::vector<std::string> choices = parameter.choices;
  std::erase(choices, "volume");
  return choices;
}

std::string names_of(const std::vector<DeviceKind>& devices) {
  std::vector<std::string> names;
  for (const DeviceKind device : devices) names.emplace_back(name(device));
  return join(names);
}

// "fixed8, fixed16, float32 (reference, cpu, cuda)"
std::string choices_with_devices(const ParameterInfo& parameter) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
    const std::vector<DeviceKind>& devices = parameter.choice_devices[i];
    const bool everywhere = devices == parameter.devices;
    if (parameter.choices[i] != "volume")
      texts.push_back(parameter.choices[i] + (everywhere ? "" : " (" + names_of(devices) + ")"));
  }
  return join(texts);
}

bool try_to_set(MatcherParameters& parameters, const std::string& name, const std::string& text) {
  try {
    set_parameter(parameters, name, text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Option& add_parameter(Options& options, MatcherParameters& parameters, const ParameterInfo& parameter) {
  const std::string name = option_name(parameter.name), initial = get_parameter(parameters, parameter.name);
  const std::string help = parameter_help(method_name(parameters), parameter);
  const auto take = [&parameters, key = parameter.name](const std::string& text) {
    return try_to_set(parameters, key, text);
  };
  if (parameter.kind == ParameterKind::flag)
    return options.add_switch(
        name, initial == "true", [take](bool on) { take(on ? "true" : "false"); }, help);
  if (parameter.kind == ParameterKind::choice) {
    const std::vector<std::string> choices = option_choices(parameter);
    const auto take_choice = [take, choices](const std::string& text) {
      return std::find(choices.begin(), choices.end(), text) != choices.end() && take(text);
    };
    return options.add_text(name, "NAME", initial, "one of " + join(choices), take_choice, help)
        .offer(choices);
  }
  const char* value_name = parameter.kind == ParameterKind::integer ? "N" : "X";
  return options.add_text(name, value_name, initial, parameter.allowed, take, help);
}

}  // namespace

MatcherParameters method_preset(const std::string& method, const std::string& name) {
  const std::vector<std::string> names = list_methods();
  if (std::find(names.begin(), names.end(), method) == names.end())
    throw UsageError("--method is '" + method + "': choose one of " + join(names));
  return preset(method, name);
}

void read_method_and_preset(const Arguments& arguments, const std::string& command, std::string& method,
                            std::string& preset) {
  Options options(command, "");
  options.add("--method", method, "");
  options.add("--preset", preset, "");
  options.read_known(arguments);
}

std::vector<std::string> methods_with(bool Capabilities::*capability) {
  std::vector<std::string> names = list_methods();
  std::erase_if(names, [&](const std::string& name) { return !(capabilities(name).*capability); });
  return names;
}

std::string footer_of(const std::string& command, const std::string& method) {
  return "These are the options of --method " + method + "; 'parallax " + command +
         " --method NAME --help' lists those of another.";
}

std::vector<std::string> device_kinds(const std::string& method) {
  std::vector<std::string> names{"auto"};
  for (const MatcherOnDevice& entry : list_matchers())
    if ((method.empty() || entry.method == method) &&
        std::find(names.begin(), names.end(), name(entry.device)) == names.end())
      names.push_back(name(entry.device));
  return names;
}

std::string device_names(const std::string& method) {
  std::vector<std::string> names = device_kinds(method);
  for (std::string& each : names)
    each += each == name(DeviceKind::cuda) ? "[:N]" : each == name(DeviceKind::opencl) ? "[:P.D]" : "";
  return join(names);
}

std::string parameter_help(const std::string& method, const ParameterInfo& parameter) {
  const std::string choices =
      parameter.kind == ParameterKind::choice ? ": " + choices_with_devices(parameter) : "";
  const bool everywhere = parameter.devices.size() + 1 == device_kinds(method).size();
  return parameter.help + choices + (everywhere ? "" : "; only on device " + names_of(parameter.devices));
}

void add_configuration_option(Options& options, TunedValues& configuration) {
  const auto take = [&configuration](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) return false;
    configuration[text.substr(0, equals)] = text.substr(equals + 1);
    return true;
  };
  options
      .add_text("--configure", "NAME=VALUE", "", "NAME=VALUE, as listed by 'parallax tune --list'", take,
                "Set a tunable of the device, which never changes the result; may be repeated")
      .expert()
      .repeats();
}

std::vector<std::string> option_words(const ParameterInfo& parameter, const std::string& value) {
  const std::string name = option_name(parameter.name);
  if (parameter.kind == ParameterKind::flag) return {value == "true" ? name : opposite(name)};
  return {name, value};
}

void add_method_options(Options& options, MatcherParameters& parameters,
                        std::span<const std::string_view> without) {
  for (const ParameterInfo& parameter : list_parameters(method_name(parameters))) {
    if (std::find(without.begin(), without.end(), parameter.name) != without.end()) continue;
    options.group(parameter.group);
    Option& option = add_parameter(options, parameters, parameter);
    if (parameter.expert) option.expert();
    if (!parameter.optional) continue;
    const std::string name = option_name(parameter.name);
    options.add_flag(opposite(name), "Same as " + name + " none").expert();
  }
}

void settle_method_options(const Options& options, MatcherParameters& parameters) {
  for (const ParameterInfo& parameter : list_parameters(method_name(parameters))) {
    const std::string name = option_name(parameter.name);
    if (!parameter.optional || !options.given(opposite(name))) continue;
    if (options.given(name))
      throw UsageError(name + " and " + opposite(name) + " exclude each other: give one of them");
    set_parameter(parameters, parameter.name, "none");
  }
  const bool range = options.given("--disparities") || options.given("--min-disparity");
  if (!range || !searches_full_rows(parameters)) return;
  options.refuse({"--full-row"}, " searches every column: leave out --disparities and --min-disparity");
  // A range given after a preset that searches the full row.
  set_parameter(parameters, "full_row", "false");
}

void check_searches_rows(const MatcherParameters& parameters) {
  if (searches_rows(parameters)) return;
  if (capabilities(method_name(parameters)).row_tolerance)
    throw UsageError("--rows-off needs --row-tolerance: give both");
  throw UsageError("--rows-off works only with methods that search rows: choose another with --method");
}

Device Search::first_device() const {
  Device first = Device::parse(device);
  first.threads = threads;
  return first;
}

Search read_search(const Arguments& arguments, const std::string& command) {
  Search search;
  read_method_and_preset(arguments, command, search.method, search.preset);
  search.parameters = method_preset(search.method, search.preset);
  // A preset may set the range.
  const MatcherParameters usual = preset(search.parameters, "default");
  search.range_given =
      searches_full_rows(search.parameters) || search.parameters.disparities() != usual.disparities();
  return search;
}

void add_preset_option(Options& options, std::string& preset, const std::string& method) {
  const std::vector<std::string> presets = list_presets(method);
  options.add("--preset", preset, "Named set of parameters, which other options override: " + join(presets))
      .offer(presets);
}

void add_device_options(Options& options, std::string& device, int& threads, const std::string& method) {
  options.group("Device");
  options.add("--device", device, device_names(method) + "; see 'parallax devices'")
      .offer(device_kinds(method));
  options.add("--threads N", threads, "Threads of the cpu device; 0 = one per core");
}

void add_search_options(Options& options, Search& search) {
  options.group("Search");
  options
      .add("--method", search.method,
           "Algorithm; bp is the most accurate, census and block are faster: " + join(list_methods()))
      .offer(list_methods());
  add_preset_option(options, search.preset, search.method);
  add_device_options(options, search.device, search.threads, search.method);
  add_configuration_option(options, search.configuration);
  add_method_options(options, search.parameters);
}

void settle_search(const Options& options, Search& search) {
  settle_method_options(options, search.parameters);
  search.range_given =
      search.range_given || options.given("--disparities") || searches_full_rows(search.parameters);
}

bool align_rows(MatcherParameters& parameters) {
  MatcherParameters aligned = parameters;
  try {
    set_parameter(aligned, "rows", "auto");
    aligned.validate();
  } catch (const Error&) {
    return false;
  }
  parameters = aligned;
  return true;
}

void align_rows_by_default(const Options& options, Search& search) {
  const std::string own[] = {"default", "fast", "balanced", "accurate", "mgm", "video"};
  const bool is_own = std::find(std::begin(own), std::end(own), search.preset) != std::end(own);
  search.rows_by_default = is_own && !options.given("--rows") && align_rows(search.parameters);
}

bool take_automatic_range(Arguments& arguments) {
  const auto joined = std::find(arguments.begin(), arguments.end(), "--disparities=auto");
  if (joined != arguments.end()) {
    arguments.erase(joined);
    return true;
  }
  const std::string separate[] = {"--disparities", "auto"};
  const auto found = std::search(arguments.begin(), arguments.end(), separate, separate + 2);
  if (found == arguments.end()) return false;
  arguments.erase(found, found + 2);
  return true;
}

void check_automatic_range(const Options& options, const Search& search) {
  if (!search.automatic_range) return;
  options.refuse({"--disparities", "--min-disparity", "--cost-file"},
                 " and --disparities auto exclude each other: give one of them");
  if (searches_full_rows(search.parameters))
    throw UsageError("--full-row searches every column: leave out --disparities auto");
}

void settle_devices(Search& search) {
  search.devices = parse_devices(search.device);
  for (Device& device : search.devices) device.threads = search.threads;
  search.device = search.devices.front().text();
}

nlohmann::ordered_json describe_parameters(const MatcherParameters& parameters) {
  return parse_json_object(to_json(parameters));
}

}  // namespace parallax::tool
