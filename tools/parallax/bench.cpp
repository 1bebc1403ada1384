#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "parallax/evaluate.h"
#include "parallax/formats.h"
#include "parallax/matcher.h"
#include "parallax/synth.h"
#include "parallax/version.h"

#include "tools/parallax/command_line.h"
#include "tools/parallax/method_options.h"
#include "tools/parallax/papers_pairs.h"
#include "tools/parallax/pictures.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// A pair with truth, and how to get it: pairs are loaded one at a time.
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

// All pixels with truth are evaluated.
BenchPair papers_pair(const fs::path& folder, const PapersPair& entry) {
  return {entry.name, entry.disparities, [folder, entry] {
            const auto path = [&](const char* file) { return (folder / file).string(); };
            Plane<float> truth = read_disparity(path("truth.png"), entry.truth_scale);
            Plane<std::uint8_t> everything(truth.size(), 255);
            return BenchPair::Loaded{read_picture(path("left.png")), read_picture(path("right.png")),
                                     std::move(truth), std::move(everything)};
          }};
}

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

Picture picture_of(const Plane<std::uint8_t>& rgb) {
  Picture picture;
  picture.pixels.create(rgb.height(), rgb.width() / 3, CV_8UC3);
  for (int y = 0; y < rgb.height(); ++y)
    std::copy_n(rgb.row(y), rgb.width(), picture.pixels.ptr<std::uint8_t>(y));
  return picture;
}

BenchPair synthetic(const char* name, Scene scene, Size size, int disparities) {
  return {std::string(name) + " (synthetic)", disparities, [=] {
            SynthParameters parameters;
            parameters.scene = scene;
            parameters.size = size;
            parameters.disparities = disparities;
            SynthPair pair = synthesize(parameters);
            return BenchPair::Loaded{picture_of(pair.left), picture_of(pair.right),
                                     std::move(pair.left_truth), std::move(pair.left_mask)};
          }};
}

// The standard suite: real pairs as far as `data` has them, and synthetic ones that everybody has.
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

std::vector<BenchPair> papers_suite(const fs::path& data) {
  std::vector<BenchPair> pairs;
  for (const PapersPair& entry : papers_pairs())
    if (fs::exists(data / "papers" / entry.name))
      pairs.push_back(papers_pair(data / "papers" / entry.name, entry));
  return pairs;
}

// One way to match a pair.
struct Trial {
  std::string name;
  MatcherParameters parameters;
  Device device;
  std::string cpu_target = {};  // empty = the best
};

void set_disparities(MatcherParameters& parameters, int disparities) {
  std::visit([&](auto& p) { p.disparities = disparities; }, parameters);
}

std::vector<Trial> standard_trials(const Device& device) {
  std::vector<Trial> trials;
  for (const MatcherOnDevice& entry : list_matchers())
    if (entry.device == device.kind)
      trials.push_back({entry.method, method_preset(entry.method, "default"), device});
  return trials;
}

// What the papers on GPUs measure: the order of values and where a message is kept (Grauer-Gray & Cavazos
// 2010); 16-bit storage and alignment (Grauer-Gray 2019); and then bytes.
std::vector<Trial> papers_trials_on_gpu(const Device& device) {
  BeliefPropagationParameters parameters = belief_propagation_preset("grauer-gray-2019");
  parameters.arithmetic = Arithmetic::float32;
  parameters.aligned = false;
  parameters.cuda = {0, IndexOrder::naive, MessageValues::local_memory};
  std::vector<Trial> trials;
  const auto add = [&](const char* name) { trials.push_back({name, parameters, device}); };
  add("bp float32, local");
  parameters.cuda.index_order = IndexOrder::coalesced;
  add("+ coalesced order");
  parameters.cuda.message_values = MessageValues::shared_memory;
  add("shared memory");
  parameters.cuda.message_values = MessageValues::registers;
  add("registers");
  parameters.cuda.message_values = MessageValues::automatic;
  add("whatever is best");
  parameters.aligned = true;
  add("+ alignment");
  parameters.arithmetic = Arithmetic::float16;
  add("+ float16");
  parameters.arithmetic = Arithmetic::bfloat16;
  add("bfloat16 instead");
  parameters.arithmetic = Arithmetic::fixed16;
  add("fixed16 instead");
  parameters.arithmetic = Arithmetic::fixed8;
  add("fixed8 instead");
  return trials;
}

// Grauer-Gray 2019, section 6, on this machine: what threads, vectors, 16-bit storage and alignment are
// worth; and then bytes.
std::vector<Trial> papers_trials(const Device& device) {
  const auto published = [](Arithmetic arithmetic, bool aligned) {
    BeliefPropagationParameters parameters = belief_propagation_preset("grauer-gray-2019");
    parameters.arithmetic = arithmetic;
    parameters.aligned = aligned;
    return parameters;
  };
  if (device.kind == DeviceKind::cuda) return papers_trials_on_gpu(device);
  if (device.kind != DeviceKind::cpu)
    return {{"bp float32", published(Arithmetic::float32, true), device},
            {"bp fixed8", published(Arithmetic::fixed8, true), device}};
  Device single = device;
  single.threads = 1;
  const std::string scalar = cpu_targets().back();
  return {{"bp float32, 1 thread", published(Arithmetic::float32, false), single, scalar},
          {"+ threads", published(Arithmetic::float32, false), device, scalar},
          {"+ vectors", published(Arithmetic::float32, false), device},
          {"+ float16", published(Arithmetic::float16, false), device},
          {"+ alignment", published(Arithmetic::float16, true), device},
          {"fixed8 instead", published(Arithmetic::fixed8, true), device},
          {"float32, aligned", published(Arithmetic::float32, true), device},
          {"bfloat16, aligned", published(Arithmetic::bfloat16, true), device},
          {"fixed8, 1 thread", published(Arithmetic::fixed8, true), single}};
}

// Median milliseconds of a run, after one to warm up; about a second's worth, but from 3 to 100 runs. What
// takes many seconds is run only once more.
double measure(Matcher& matcher, const StereoPair& pair, const DisparityMap& map) {
  const auto run = [&] {
    const auto start = std::chrono::steady_clock::now();
    matcher.run(pair, map);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
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

Row bench_one(const BenchPair& pair, const BenchPair::Loaded& loaded, const Trial& trial) {
  MatcherParameters parameters = trial.parameters;
  set_disparities(parameters, pair.disparities);
  const ImageFormat format = loaded.left.view().format;
  force_cpu_target(trial.cpu_target);
  Matcher matcher(parameters, trial.device, format);
  Plane<float> disparity(format.size);
  Plane<std::uint8_t> status(format.size);
  const StereoPair views{loaded.left.view(), loaded.right.view(), {}, {}};
  const double milliseconds = measure(matcher, views, {disparity.view(), status.view()});
  force_cpu_target("");
  return {pair.name,
          trial.name,
          trial.device.text(),
          format.size,
          pair.disparities,
          milliseconds,
          matcher.memory_bytes(),
          evaluate(disparity.view(), loaded.truth.view(), loaded.visible.view()),
          evaluate(disparity.view(), loaded.truth.view())};
}

void print_header() {
  std::printf("%-28s %-20s %-10s %10s %7s %9s %8s %7s %7s %7s %7s\n", "pair", "method", "device", "size",
              "labels", "ms", "ns/l-px", "bad1", "bad2", "avgerr", "all bad1");
}

void print_row(const Row& row) {
  const double label_pixels = static_cast<double>(row.size.pixels()) * row.disparities;
  const std::string size = std::to_string(row.size.width) + "x" + std::to_string(row.size.height);
  // Columns are counted in bytes by printf: names with a multiplication sign need one more.
  const int name_width = 28 + static_cast<int>(std::count(row.pair.begin(), row.pair.end(), '\xC3'));
  std::printf("%-*s %-20s %-10s %10s %7d %9.2f %8.3f %7.2f %7.2f %7.2f %7.2f\n", name_width, row.pair.c_str(),
              row.method.c_str(), row.device.c_str(), size.c_str(), row.disparities, row.milliseconds,
              1e6 * row.milliseconds / label_pixels, 100 * row.visible.bad1, 100 * row.visible.bad2,
              row.visible.average, 100 * row.all.bad1);
  std::fflush(stdout);
}

ordered_json to_json(const Row& row) {
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

std::vector<Device> parse_devices(const std::string& list) {
  std::vector<Device> devices;
  for (const std::string& text : CLI::detail::split(list, ',')) devices.push_back(Device::parse(text));
  return devices;
}

}  // namespace

int bench_command(const Arguments& arguments) {
  std::string suite = "standard", data, device_list = "cpu", json_path;
  int threads = 0;
  if (const char* folder = std::getenv("PARALLAX_DATA")) data = folder;
  CommandLine app("bench", "Measure time and error on standard pairs: medians of many runs after a warm-up");
  app.add_option("--suite", suite,
                 "standard: every method with its default preset; papers: what the papers on belief "
                 "propagation report, step by step")
      ->check(CLI::IsMember({"standard", "papers"}));
  app.add_option("--data", data,
                 "Folder with middlebury2003/, middlebury2014/ and papers/; default: PARALLAX_DATA");
  app.add_option("--device", device_list, "Devices, separated by commas");
  app.add_option("--threads", threads, "CPU threads; 0 = all cores");
  app.add_option("--json", json_path, "Also write the results to this file");
  app.read(arguments);
  const std::vector<Device> devices = parse_devices(device_list);
  if (!data.empty() && !fs::is_directory(data))
    throw Error(ErrorCategory::file, "no folder " + data + ": give --data");
  const bool papers = suite == "papers";
  if (papers && papers_suite(data).empty())
    throw Error(ErrorCategory::file, "no pairs in " + (data.empty() ? "papers/" : data + "/papers") +
                                         ": --suite papers needs them, give --data");
  if (data.empty()) std::cerr << "parallax: no --data and no PARALLAX_DATA: synthetic pairs only\n";

  print_header();
  ordered_json rows = ordered_json::array();
  for (const BenchPair& pair : papers ? papers_suite(data) : standard_suite(data)) {
    const BenchPair::Loaded loaded = pair.load();
    for (Device device : devices) {
      device.threads = threads;
      for (const Trial& trial : papers ? papers_trials(device) : standard_trials(device)) {
        show_progress(pair.name + ", " + trial.name);
        const Row row = bench_one(pair, loaded, trial);
        show_progress("");
        print_row(row);
        rows.push_back(to_json(row));
      }
    }
  }
  if (json_path.empty()) return done;
  const ordered_json report{
      {"version", PARALLAX_VERSION}, {"suite", suite}, {"threads", threads}, {"results", rows}};
  const std::string text = report.dump(2) + "\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  write_file(json_path, {bytes, text.size()});
  return done;
}

}  // namespace parallax::tool
