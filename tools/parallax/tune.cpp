// SPDX-License-Identifier: Apache-2.0
#include "parallax/tune.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "parallax/belief_propagation.h"
#include "parallax/formats.h"
#include "parallax/synth.h"
#include "parallax/version.h"

#include "tools/command/command_files.h"
#include "tools/command/forced.h"
#include "tools/command/json.h"
#include "tools/command/method_options.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/parallax/papers_pairs.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

struct TuneRequest {
  std::string left, right;
  Search search;
  Size size{640, 480};
  TuningOptions options;
  bool lists = false, shows = false, forgets = false;
  bool method_given = false, device_given = false, disparities_given = false;
  std::string suite, data;
  std::string json_path;
};

void add_tune_options(Options& options, TuneRequest& request) {
  options.group("Input");
  options.add("LEFT", request.left, "Left picture; without pictures, a synthetic pair is used");
  options.add("RIGHT", request.right, "Right picture, rectified with the left one");
  options.add("--size", request.size, "Width x height of the synthetic pair");
  add_search_options(options, request.search);
  options.add_memory("--max-memory", request.options.plan.max_memory_bytes,
                     "Memory limit, such as 2G; 0 = all of the machine's memory");
  options.group("Tuning");
  options.add_choice<TuningSearch>(
      "--search", request.options.search,
      {{"occupancy", TuningSearch::occupancy}, {"exhaustive", TuningSearch::exhaustive}},
      "Try only the configuration that keeps the most data on chip at each occupancy, or all");
  options.add("--budget X", request.options.budget_seconds, "Seconds after which the search ends")
      .range(0.01, 1e6);
  options.add_flag("--list", request.lists, "List the tunables of --method on --device");
  options.add_flag("--show", request.shows, "List the remembered configurations");
  options.add_flag("--forget", request.forgets,
                   "Forget the remembered configurations: all, or those of --method and --device");
  options.add("--json FILE", request.json_path, "Also write the results to this file");
  options
      .add_choice<std::string>("--suite", request.suite, {{"papers", "papers"}},
                               "Compare both searches on the pairs of the papers on belief propagation")
      .expert();
  options.add("--data DIR", request.data, "Folder with papers/ for --suite; default: $PARALLAX_DATA")
      .expert();
}

void check_request(const TuneRequest& request, const Options& options) {
  const int tasks = request.lists + request.shows + request.forgets + !request.suite.empty();
  if (tasks > 1)
    throw UsageError("--list, --show, --forget and --suite exclude each other: give one of them");
  if (tasks > 0 && !request.left.empty())
    throw UsageError("--list, --show, --forget and --suite take no pictures: leave out " + request.left);
  if (!request.left.empty() && request.right.empty())
    throw UsageError("RIGHT is required with LEFT; see 'parallax tune --help'");
  if (!request.suite.empty() && options.given("--search"))
    throw UsageError("--suite papers searches both ways: leave out --search");
  if (!request.left.empty() || !request.suite.empty())
    options.refuse({"--size"}, " is for the synthetic pair: leave it out with pictures and --suite");
  CommandFiles files;
  files.reads(request.left);
  files.reads(request.right);
  if (!request.suite.empty() && !request.json_path.empty()) files.reads_pairs(request.data);
  files.writes(request.json_path);
  if (request.suite.empty()) options.refuse({"--data"}, " needs --suite papers: give both");
}

TuneRequest parse_tune(const Arguments& arguments) {
  TuneRequest request;
  // The suite measures belief propagation as published.
  const bool suite = std::any_of(arguments.begin(), arguments.end(),
                                 [](const std::string& a) { return a.starts_with("--suite"); });
  Search& search = request.search;
  if (suite) {
    search.method = "bp";
    search.preset = "grauer-gray-2019";
  }
  read_method_and_preset(arguments, "tune", search.method, search.preset);
  if (suite && search.method != "bp")
    throw UsageError("--suite papers is for --method bp: leave out --method " + search.method);
  search.parameters = method_preset(search.method, search.preset);
  Options options("tune", "Find the fastest configuration for this machine, and remember it.");
  add_tune_options(options, request);
  options.footer(footer_of("tune", search.method));
  options.read(arguments);
  settle_search(options, search);
  request.options.plan.configuration = search.configuration;
  request.method_given = options.given("--method");
  request.device_given = options.given("--device");
  request.disparities_given = options.given("--disparities");
  if (const char* folder = std::getenv("PARALLAX_DATA"); folder != nullptr && request.data.empty())
    request.data = folder;
  check_request(request, options);
  return request;
}

void write_json(const std::string& path, const ordered_json& report) {
  if (path.empty()) return;
  write_output(path, report.dump(2) + "\n");
}

std::string text_of(const TunedValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + " " + value;
  return text.empty() ? "as by default" : text;
}

std::string text_of_labels(int labels) {
  return labels == 0 ? "full row" : std::to_string(labels) + " labels";
}

ordered_json to_json(const TunedConfiguration& entry) {
  return {{"device", entry.device},
          {"driver", entry.driver},
          {"method", entry.method},
          {"variant", entry.variant},
          {"size_class", entry.size_class},
          {"labels", entry.labels},
          {"configuration", entry.values},
          {"milliseconds", entry.milliseconds},
          {"default_milliseconds", entry.default_milliseconds},
          {"built_in", entry.built_in}};
}

ordered_json to_json(const TuningTrial& trial) {
  ordered_json json{{"configuration", trial.values}};
  if (trial.footprint) {
    json["occupancy"] = trial.footprint->occupancy;
    json["on_chip_bytes"] = trial.footprint->on_chip_bytes;
  }
  json["milliseconds"] = trial.milliseconds;
  json["relative"] = trial.relative;
  json["failure"] = trial.failure;
  return json;
}

ordered_json to_json(const TuningResult& result) {
  ordered_json trials = ordered_json::array();
  for (const TuningTrial& trial : result.trials) trials.push_back(to_json(trial));
  return {{"found", to_json(result.found)},    {"compared", result.compared},
          {"candidates", result.candidates},   {"seconds", result.seconds},
          {"ended_early", result.ended_early}, {"trials", trials}};
}

// A pair, and the owner of its pixels.
struct Pair {
  PicturePair pictures;
  SynthPair synthetic;

  StereoPair views() const {
    if (pictures.left.empty()) return {synthetic.left_view(), synthetic.right_view()};
    return {pictures.left.view(), pictures.right.view()};
  }
};

Pair pair_of(const TuneRequest& request) {
  Pair pair;
  if (!request.left.empty()) {
    pair.pictures = read_pair(request.left, request.right);
    return pair;
  }
  // A scene needs fewer disparities than columns.
  const int most = std::max(1, request.size.width / 2);
  pair.synthetic =
      synthesize({request.size, std::min(request.search.parameters.disparities(), most), Scene::layers});
  return pair;
}

TuningResult tune_pair(const TuneRequest& request, const StereoPair& pair, const std::string& what) {
  TuningOptions options = request.options;
  const Clock::time_point start = Clock::now();
  options.progress = [&](const std::string& progress) {
    show_progress(what + ": " + progress, milliseconds_since(start) / 1000 / options.budget_seconds);
  };
  const TuningResult result = tune(request.search.parameters, request.search.first_device(), pair, options);
  show_progress("");
  return result;
}

std::ptrdiff_t count_run(const TuningResult& result) {
  return std::count_if(result.trials.begin(), result.trials.end(),
                       [](const TuningTrial& trial) { return trial.milliseconds > 0; });
}

void print(const TuningResult& result, Size size) {
  const TunedConfiguration& found = result.found;
  const auto failed = std::count_if(result.trials.begin(), result.trials.end(),
                                    [](const TuningTrial& trial) { return !trial.failure.empty(); });
  std::cout << found.method << " (" << found.variant << ") on " << found.device << ", " << text(size) << ", "
            << text_of_labels(found.labels) << "\n"
            << "tried " << count_run(result) << " of " << result.candidates << " configurations in "
            << with_decimals(result.seconds, 1) << " s, " << failed << " failed\n";
  if (!result.ended_early.empty()) std::cout << "ended early: " << result.ended_early << "\n";
  for (const TuningTrial& trial : result.trials)
    if (!trial.failure.empty())
      std::cout << "out: " << text_of(trial.values) << ": " << trial.failure << "\n";
  if (!result.compared) return;
  std::cout << "best: " << text_of(found.values) << "\n"
            << with_decimals(found.milliseconds, 3) << " ms; the default takes "
            << with_decimals(found.default_milliseconds, 3) << " ms\n";
}

// Remembers the result; returns why it could not, or an empty string.
std::string remember(const TuningResult& result) {
  if (!result.compared)
    return "nothing was saved, because nothing could be compared with the default: " +
           (result.ended_early.empty() ? "all others failed" : result.ended_early) +
           ": give a larger --budget, or use the default";
  try {
    remember_tuning(result.found);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

int tune_one(const TuneRequest& request) {
  const Pair pair = pair_of(request);
  check_output(request.json_path);
  check_tuning_file();
  const TuningResult result = tune_pair(request, pair.views(), request.search.method);
  print(result, pair.views().left.format.size);
  // The result is printed even if it cannot be remembered.
  std::cout.flush();
  const std::string trouble = remember(result);
  if (trouble.empty()) std::cout << "remembered in " << printable(tuning_file()) << "\n" << std::flush;
  write_json(request.json_path, {{"version", PARALLAX_VERSION}, {"results", {to_json(result)}}});
  if (!trouble.empty()) throw Error(ErrorCategory::file, trouble);
  return done;
}

int list(const TuneRequest& request) {
  ordered_json entries = ordered_json::array();
  for (const TunableInfo& tunable :
       list_tunables(request.search.parameters, request.search.first_device(), {request.size})) {
    entries.push_back({{"name", tunable.name},
                       {"help", tunable.help},
                       {"searched", tunable.searched},
                       {"selectable", tunable.selectable}});
    std::cout << tunable.name << ": " << tunable.help << "\n    "
              << (tunable.searched.empty() ? "never searched" : tunable.searched)
              << (tunable.selectable.empty() ? "" : "; --configure also takes " + tunable.selectable) << "\n";
  }
  write_json(request.json_path, {{"version", PARALLAX_VERSION}, {"tunables", entries}});
  return done;
}

// The name of --device in entries; empty = any.
std::string wanted_device(const TuneRequest& request) {
  if (!request.device_given) return "";
  const std::string name = tuned_device_name(request.search.first_device());
  if (name.empty())
    throw Error(ErrorCategory::device,
                "device " + request.search.device + " is not tunable here: see 'parallax devices'");
  return name;
}

int show(const TuneRequest& request) {
  const std::string device = wanted_device(request);
  ordered_json list = ordered_json::array();
  for (const TunedConfiguration& entry : remembered_tuning()) {
    if (request.method_given && entry.method != request.search.method) continue;
    if (!device.empty() && entry.device != device) continue;
    list.push_back(to_json(entry));
    std::cout << entry.method << " (" << entry.variant << ") on " << entry.device
              << (entry.driver.empty() ? "" : ", driver " + entry.driver) << ", from "
              << (1ull << entry.size_class) << " pixels, " << text_of_labels(entry.labels) << ": "
              << text_of(entry.values) << "; " << with_decimals(entry.milliseconds, 3) << " ms instead of "
              << with_decimals(entry.default_milliseconds, 3) << (entry.built_in ? " (built in)" : "")
              << "\n";
  }
  write_json(request.json_path, {{"version", PARALLAX_VERSION}, {"file", tuning_file()}, {"entries", list}});
  return done;
}

int forget(const TuneRequest& request) {
  const std::size_t count =
      forget_tuning(request.method_given ? request.search.method : "", wanted_device(request));
  std::cout << "forgot " << count << (count == 1 ? " entry" : " entries") << "\n";
  return done;
}

// The first version of the papers: on a processor, one thread without vectors; on a GPU, all messages in
// local memory with the labels of a pixel adjacent.
TunedValues plain_configuration(DeviceKind device) {
  if (device != DeviceKind::cuda) return {{"aligned", "false"}};
  return {{"aligned", "false"},
          {"index_order", "naive"},
          {"values_in_registers", "0"},
          {"values_in_shared_memory", "0"}};
}

double run_milliseconds(Matcher& matcher, const StereoPair& pair, const DisparityMap& map) {
  matcher.run(pair, map);
  double sum = 0;
  for (const StageTime& stage : matcher.stage_times())
    if (!is_copy(stage.stage)) sum += stage.milliseconds;
  return sum;
}

double time_plain(const TuneRequest& request, const StereoPair& pair) {
  Device device = request.search.first_device();
  const bool on_processor = device.kind == DeviceKind::cpu;
  if (on_processor) device.threads = 1;
  const ForcedTuning untuned(false);
  const ForcedTarget target(on_processor ? cpu_targets().back() : "");
  auto parameters = *request.search.parameters.get_if<BeliefPropagationParameters>();
  parameters.arithmetic = Arithmetic::float32;
  Matcher matcher(parameters, device, pair.left.format, {0, plain_configuration(device.kind)});
  Result result(pair.left.format.size);
  const DisparityMap map = result.map();
  // A match that takes many seconds is repeated less often.
  constexpr double patience = 5000;
  const double warm_up = run_milliseconds(matcher, pair, map);
  std::vector<double> times;
  for (int i = 0; i < (warm_up > patience ? 1 : 9); ++i)
    times.push_back(run_milliseconds(matcher, pair, map));
  return median(times);
}

double gain(const TunedConfiguration& found) {
  return found.default_milliseconds / found.milliseconds;
}

void print_row(const std::string& pair, TuningSearch search, const TuningResult& result, double plain) {
  const TunedConfiguration& found = result.found;
  std::cout << "| " << pair << " | " << (search == TuningSearch::occupancy ? "occupancy" : "exhaustive")
            << " | " << (result.compared ? text_of(found.values) : "nothing was compared") << " | "
            << count_run(result) << " of " << result.candidates << " | " << with_decimals(result.seconds, 1);
  if (result.compared)
    std::cout << " | " << with_decimals(found.default_milliseconds, 3) << " | "
              << with_decimals(found.milliseconds, 3) << " | " << with_decimals(gain(found), 2) << "× | "
              << with_decimals(plain / found.milliseconds, 1) << "× |\n";
  else
    std::cout << " | — | — | — | — |\n";
  std::cout.flush();
}

int tune_papers(TuneRequest request) {
  const fs::path folder = fs::path(request.data) / "papers";
  std::vector<PapersPair> pairs;
  for (const PapersPair& entry : papers_pairs)
    if (fs::exists(folder / entry.name)) pairs.push_back(entry);
  if (pairs.empty())
    throw Error(ErrorCategory::file,
                "no pairs in " + folder.string() + ": --suite papers needs them, give --data");
  check_output(request.json_path);
  // Without a tuning file, results are only measured.
  const bool remembers = !tuning_file().empty();
  if (remembers) check_tuning_file();
  ordered_json results = ordered_json::array();
  std::string trouble;
  std::cout << "| pair | search | found | tried | s | ms by default | ms tuned | over the default | over the "
               "plain first version |\n|---|---|---|--:|--:|--:|--:|--:|--:|\n";
  for (const PapersPair& entry : pairs) {
    const PicturePair pictures =
        read_pair((folder / entry.name / "left.png").string(), (folder / entry.name / "right.png").string());
    const StereoPair pair{pictures.left.view(), pictures.right.view()};
    if (!request.disparities_given) request.search.parameters.disparities() = entry.disparities;
    const double plain_milliseconds = time_plain(request, pair);
    TuningResult best;
    for (const TuningSearch search : {TuningSearch::occupancy, TuningSearch::exhaustive}) {
      request.options.search = search;
      const TuningResult result = tune_pair(request, pair, entry.name);
      print_row(entry.name, search, result, plain_milliseconds);
      ordered_json json = to_json(result);
      json["pair"] = entry.name;
      json["search"] = search == TuningSearch::occupancy ? "occupancy" : "exhaustive";
      json["plain_milliseconds"] = plain_milliseconds;
      results.push_back(std::move(json));
      if (!best.compared || (result.compared && gain(result.found) > gain(best.found))) best = result;
    }
    const std::string own_trouble = remembers ? remember(best) : "";
    if (trouble.empty() && !own_trouble.empty()) trouble = std::string(entry.name) + ": " + own_trouble;
  }
  write_json(request.json_path, {{"version", PARALLAX_VERSION}, {"results", results}});
  if (!trouble.empty()) throw Error(ErrorCategory::file, trouble);
  return done;
}

}  // namespace

int tune_command(const Arguments& arguments) {
  const TuneRequest request = parse_tune(arguments);
  if (request.lists) return list(request);
  if (request.shows) return show(request);
  if (request.forgets) return forget(request);
  if (!request.suite.empty()) return tune_papers(request);
  return tune_one(request);
}

}  // namespace parallax::tool
