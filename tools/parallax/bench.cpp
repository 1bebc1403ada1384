// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>

#include <unistd.h>

#include "parallax/evaluate.h"
#include "parallax/formats.h"
#include "parallax/matcher.h"
#include "parallax/synth.h"
#include "parallax/version.h"

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/method_options.h"
#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/parallax/scoreboards/scoreboard.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// A pair with ground truth and its loader: pairs are loaded one at a time.
struct BenchPair {
  std::string name;
  int disparities;
  struct Loaded {
    Picture left, right;
    Plane<float> truth;
    Plane<std::uint8_t> visible;  // 255 = seen by both cameras
  };
  std::function<Loaded()> load;
};

struct Table2003 {
  const char* name;
  int disparities;
  double scale;
};

BenchPair middlebury_2003(const fs::path& folder, const Table2003& entry) {
  return {entry.name, entry.disparities, [folder, entry] {
            const auto path = [&](const char* file) { return (folder / file).string(); };
            return BenchPair::Loaded{read_picture(path("left.png")), read_picture(path("right.png")),
                                     read_disparity(path("groundtruth.png"), entry.scale),
                                     read_mask(path("nonocc.png"))};
          }};
}

BenchPair middlebury_2014(const fs::path& folder) {
  const Calibration calibration = read_middlebury_calibration((folder / "calib.txt").string());
  return {folder.filename().string() + " (2014)", calibration.disparities, [folder] {
            const auto path = [&](const char* file) { return (folder / file).string(); };
            return BenchPair::Loaded{read_picture(path("left.png")), read_picture(path("right.png")),
                                     read_pfm(path("disp0GT.pfm")), read_mask(path("mask0nocc.png"))};
          }};
}

Picture picture_of(const ImageView& view) {
  Picture picture(view.format, view.channels);
  for (int y = 0; y < view.format.size.height; ++y)
    std::memcpy(picture.row(y), view.row(y), static_cast<std::size_t>(picture.view().stride_bytes));
  return picture;
}

BenchPair synthetic(const char* name, Scene scene, Size size, int disparities) {
  return {std::string(name) + " (synthetic)", disparities, [=] {
            SynthPair pair = synthesize({size, disparities, scene});
            return BenchPair::Loaded{picture_of(pair.left_view()), picture_of(pair.right_view()),
                                     std::move(pair.left_truth), std::move(pair.left_mask)};
          }};
}

// The standard suite: the real pairs found in `data`, and synthetic ones, which need no data.
std::vector<BenchPair> standard_suite(const fs::path& data) {
  std::vector<BenchPair> pairs;
  constexpr Table2003 entries[] = {{"tsukuba", 16, 16}, {"venus", 20, 8}, {"teddy", 60, 4}, {"cones", 60, 4}};
  for (const Table2003& entry : entries)
    if (fs::exists(data / "middlebury2003" / entry.name))
      pairs.push_back(middlebury_2003(data / "middlebury2003" / entry.name, entry));
  std::vector<fs::path> folders;
  if (fs::is_directory(data / "middlebury2014"))
    for (const auto& folder : fs::directory_iterator(data / "middlebury2014"))
      if (fs::exists(folder.path() / "calib.txt")) folders.push_back(folder.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) pairs.push_back(middlebury_2014(folder));
  pairs.push_back(synthetic("layers 640×480", Scene::layers, {640, 480}, 64));
  pairs.push_back(synthetic("planes 640×480", Scene::planes, {640, 480}, 64));
  pairs.push_back(synthetic("layers 1920×1080", Scene::layers, {1920, 1080}, 128));
  return pairs;
}

struct Trial {
  std::string name;
  MatcherParameters parameters;
  Device device;
};

// Motion between frames has other pairs and figures: benchmarks/motion.py.
std::vector<Trial> standard_trials(const Device& device) {
  std::vector<Trial> trials;
  for (const MatcherOnDevice& entry : list_matchers())
    if (entry.device == device.kind && entry.method != "motion")
      trials.push_back({entry.method, method_preset(entry.method, "default"), device});
  return trials;
}

// Median milliseconds of a run, after one warm-up run: 3 to 100 runs, about a second in total. A match that
// takes many seconds is run only once more.
double measure(Matcher& matcher, const StereoPair& pair, const DisparityMap& map) {
  const auto run = [&] {
    const Clock::time_point start = Clock::now();
    matcher.run(pair, map);
    return milliseconds_since(start);
  };
  const double warm_up = run();
  constexpr double patience = 5000;
  const int runs = warm_up > patience ? 1 : std::clamp(static_cast<int>(1000 / (warm_up + 1e-3)), 3, 100);
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(run());
  return median(times);
}

struct Row {
  std::string pair, method, device;
  Size size;
  int disparities;
  double milliseconds;
  std::size_t memory_bytes;
  ErrorMetrics visible, all;
};

// The time is that of a matcher that takes rows as given, which streams do; the map is that of 'match'.
Row bench_one(const BenchPair& pair, const BenchPair::Loaded& loaded, const Trial& trial,
              const TunedValues& configuration) {
  MatcherParameters parameters = trial.parameters;
  parameters.disparities() = pair.disparities;
  const ImageFormat format = loaded.left.view().format;
  Matcher matcher(parameters, trial.device, format, {0, configuration});
  Result result(format.size);
  const StereoPair views{loaded.left.view(), loaded.right.view()};
  const double milliseconds = measure(matcher, views, result.map());
  if (align_rows(parameters))
    Matcher(parameters, trial.device, format, {0, configuration}).run(views, result.map());
  return {pair.name,
          trial.name,
          trial.device.text(),
          format.size,
          pair.disparities,
          milliseconds,
          matcher.memory_bytes(),
          evaluate(result.disparity.view(), loaded.truth.view(), loaded.visible.view()),
          evaluate(result.disparity.view(), loaded.truth.view())};
}

void print_header() {
  std::printf("%-28s %-20s %-10s %10s %7s %9s %8s %7s %7s %7s %7s\n", "pair", "method", "device", "size",
              "labels", "ms", "ns/l-px", "bad1", "bad2", "avgerr", "all bad1");
}

void print_row(const Row& row) {
  const double label_pixels = static_cast<double>(row.size.pixels()) * row.disparities;
  const std::string size = std::to_string(row.size.width) + "x" + std::to_string(row.size.height);
  // printf counts bytes, and a multiplication sign has two: such names need a wider column.
  const int name_width = 28 + static_cast<int>(std::count(row.pair.begin(), row.pair.end(), '\xC3'));
  std::printf("%-*s %-20s %-10s %10s %7d %9.2f %8.3f %7.2f %7.2f %7.2f %7.2f\n", name_width, row.pair.c_str(),
              row.method.c_str(), row.device.c_str(), size.c_str(), row.disparities, row.milliseconds,
              1e6 * row.milliseconds / label_pixels, 100 * row.visible.bad1, 100 * row.visible.bad2,
              row.visible.average, 100 * row.all.bad1);
  std::fflush(stdout);
}

ordered_json row_json(const Row& row) {
  const auto metrics = [](const ErrorMetrics& error) {
    return ordered_json{{"count", error.count},
                        {"bad1", error.bad1},
                        {"bad2", error.bad2},
                        {"avgerr", error.average},
                        {"coverage", error.coverage}};
  };
  return {{"pair", row.pair},
          {"method", row.method},
          {"device", row.device},
          {"size", {{"width", row.size.width}, {"height", row.size.height}}},
          {"disparities", row.disparities},
          {"milliseconds", row.milliseconds},
          {"memory_bytes", row.memory_bytes},
          {"nonocc", metrics(row.visible)},
          {"all", metrics(row.all)}};
}

void run_standard_suite(const std::string& data, const std::vector<Device>& devices, int threads,
                        const TunedValues& configuration, const std::string& json_path) {
  if (data.empty()) std::cerr << "parallax: no --data and no PARALLAX_DATA: synthetic pairs only\n";
  print_header();
  ordered_json rows = ordered_json::array();
  const std::vector<BenchPair> pairs = standard_suite(data);
  std::size_t trials = 0;
  for (const Device& device : devices) trials += pairs.size() * standard_trials(device).size();
  for (const BenchPair& pair : pairs) {
    const BenchPair::Loaded loaded = pair.load();
    for (Device device : devices) {
      device.threads = threads;
      for (const Trial& trial : standard_trials(device)) {
        show_progress(pair.name + ", " + trial.name,
                      static_cast<double>(rows.size()) / static_cast<double>(trials));
        const Row row = bench_one(pair, loaded, trial, configuration);
        show_progress("");
        print_row(row);
        rows.push_back(row_json(row));
      }
    }
  }
  if (json_path.empty()) return;
  const ordered_json report{
      {"version", PARALLAX_VERSION}, {"suite", "standard"}, {"threads", threads}, {"results", rows}};
  write_output(json_path, report.dump(2) + "\n");
}

// The last --suite of the arguments decides which options there are.
std::string suite_of(const Arguments& arguments) {
  std::string suite;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--suite=")) suite = arguments[i].substr(8);
    if (arguments[i] == "--suite" && i + 1 < arguments.size()) suite = arguments[i + 1];
  }
  return suite;
}

// Replaces this process by the program parallax-papers, which is built beside this one.
[[noreturn]] void run_papers(const Arguments& arguments) {
  const fs::path own = fs::read_symlink("/proc/self/exe"), program = own.parent_path() / "parallax-papers";
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  throw Error(ErrorCategory::file,
              "cannot start " + program.string() + " (" + std::strerror(errno) +
                  "), which runs --suite papers: build it with 'cmake --build FOLDER --target "
                  "parallax-papers', and keep it in the same folder as parallax");
}

}  // namespace

int bench_command(const Arguments& arguments) {
  const std::string asked = suite_of(arguments);
  // That program does not list its options for completion.
  if (asked == "papers" && arguments.front() != list_options) run_papers(arguments);
  const std::vector<std::string> scoreboards = scoreboard_suites();
  if (std::find(scoreboards.begin(), scoreboards.end(), asked) != scoreboards.end())
    return bench_scoreboard(arguments, asked);
  std::string suite = "standard", data, json;
  std::vector<std::string> devices;
  int threads = 0;
  TunedValues configuration;
  Options options("bench", "Measure time and error on standard pairs: medians of many runs after a warm-up.");
  Choices<std::string> suites{{"standard", "standard"}, {"papers", "papers"}};
  for (const std::string& name : scoreboards) suites.emplace_back(name, name);
  options.add_choice<std::string>("--suite", suite, suites,
                                  "Every method with its default preset, the tables of five papers, or one "
                                  "method in the figures of a public benchmark; see --suite NAME --help");
  options.add("--data DIR", data,
              "Folder with middlebury2003/, middlebury2014/ and papers/; default: $PARALLAX_DATA");
  options.add("--device", devices, "Devices; cuda:all = every GPU; default: cpu");
  options.add("--threads N", threads, "Threads of the cpu device; 0 = one per core").range(0, 4096);
  add_configuration_option(options, configuration);
  options.add("--json FILE", json, "Also write the results to this file");
  options.read(arguments);
  if (const char* folder = std::getenv("PARALLAX_DATA"); folder != nullptr && !options.given("--data"))
    data = folder;
  if (!data.empty() && !fs::is_directory(data))
    throw Error(ErrorCategory::file, "no folder " + data + ": give --data");
  check_output(json);
  CommandFiles files;
  if (!json.empty()) files.reads_pairs(data);
  files.writes(json);
  if (devices.empty()) devices = {"cpu"};
  run_standard_suite(data, parse_devices(join(devices, ",")), threads, configuration, json);
  return done;
}

}  // namespace parallax::tool
