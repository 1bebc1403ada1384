#include "tools/parallax/match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "parallax/formats.h"

#include "tools/parallax/method_options.h"
#include "tools/parallax/pictures.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

bool searches_rows(const MatchRequest& request) {
  const auto* block = std::get_if<BlockParameters>(&request.parameters);
  return block != nullptr && block->full_row;
}

int fewest_disparities(const MatchRequest& request) {
  return std::holds_alternative<BeliefPropagationParameters>(request.parameters) ? 2 : 1;
}

// What --method and --preset say: they decide the defaults of all other options, wherever they stand among
// them.
void read_method_and_preset(const Arguments& arguments, MatchRequest& request) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_option("--method", request.method);
  app.add_option("--preset", request.preset);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see 'parallax match --help'");
  }
  request.parameters = method_preset(request.method, request.preset);
}

void add_common_options(CLI::App& app, MatchRequest& request) {
  app.add_option("LEFT", request.left, "Left picture")->required();
  app.add_option("RIGHT", request.right, "Right picture, rectified with the left one")->required();
  app.add_option("-o,--output", request.output,
                 "Disparity map: .pfm, .png (16-bit, value/256, 0 = none) or .tiff");
  app.add_option("--image", request.image, "Coloured picture of the disparities (PNG), for people");
  app.add_option("--cloud", request.cloud, "Point cloud (PLY); needs --calib");
  app.add_option("--confidence", request.confidence, "Map of how sure the matcher is, 0 to 1: .pfm or .tiff");
  app.add_flag("--energy", request.energy, "Report the energy of the map in --json; method bp");
  app.add_option(
      "--calib", request.calibration,
      "Calibration: Middlebury calib.txt, or OpenCV .yml; its ndisp is the default of --disparities");
  app.add_option("--left-mask", request.left_mask, "Gray picture: 0 = this pixel of LEFT is not valid");
  app.add_option("--right-mask", request.right_mask, "Gray picture: 0 = this pixel of RIGHT is not valid");
  app.add_option("--method", request.method, "Algorithm: " + method_names());
  app.add_option("--preset", request.preset,
                 "Named set of parameters: " + preset_names(request.method) + "; options override it");
  app.add_option("--device", request.device, "auto, reference or cpu");
  app.add_option("--threads", request.threads, "CPU threads; 0 = all cores");
  app.add_option("--min-disparity", request.min_disparity(), "Lowest disparity searched, any sign");
  app.add_option("--disparities", request.disparities(), "Number of disparities searched");
  app.add_option("--max-memory", request.max_memory,
                 "Refuse to use more memory than this, such as 2G; 0 = what the machine has")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative());  // of two, the later is the first to run
  app.add_option("--repeat", request.repeat, "Match this often, report median times")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--json", request.json, "Report as JSON on standard output");
}

bool is_picture_for_people(const std::string& path) {
  return std::filesystem::path(path).extension() == ".png";
}

// No file may be asked to be two things.
void check_paths(const MatchRequest& request) {
  std::set<std::filesystem::path> taken;
  for (const std::string& path :
       {request.left, request.right, request.left_mask, request.right_mask, request.calibration})
    if (!path.empty()) taken.insert(std::filesystem::path(path).lexically_normal());
  for (const std::string& path : {request.output, request.image, request.cloud, request.confidence})
    if (!path.empty() && !taken.insert(std::filesystem::path(path).lexically_normal()).second)
      throw UsageError(path + " is named twice: give every file written a name of its own");
}

// What only a matcher with beliefs can tell.
void check_beliefs(const MatchRequest& request) {
  const bool has_beliefs = std::holds_alternative<BeliefPropagationParameters>(request.parameters);
  if (request.energy && (!has_beliefs || !request.json))
    throw UsageError("--energy is for --method bp with --json: give both");
  if (request.confidence.empty()) return;
  check_disparity_path(request.confidence);
  if (is_picture_for_people(request.confidence))
    throw UsageError("--confidence is " + request.confidence + ": name it .pfm or .tiff");
}

void check_request(const MatchRequest& request) {
  if (!request.cloud.empty() && request.calibration.empty())
    throw UsageError("--cloud needs the geometry of the cameras: give --calib");
  if (!request.output.empty()) check_disparity_path(request.output);
  if (!request.image.empty() && !is_picture_for_people(request.image))
    throw UsageError("--image is " + request.image + ": name it .png");
  check_beliefs(request);
  check_paths(request);
  std::visit([](const auto& parameters) { parameters.validate(); }, request.parameters);
  Device::parse(request.device);
}

// Some pixel must be able to use every label: the user meant something else otherwise.
void check_range_fits(MatchRequest& request, Size size) {
  const int lowest = request.min_disparity(), highest = lowest + request.disparities() - 1;
  if (searches_rows(request) || (lowest > -size.width && highest < size.width)) return;
  throw UsageError("--disparities " + std::to_string(request.disparities()) + " from " +
                   std::to_string(lowest) + " reach to " + std::to_string(highest) + ": the images are " +
                   std::to_string(size.width) + " pixels wide, keep them between " +
                   std::to_string(1 - size.width) + " and " + std::to_string(size.width - 1));
}

void check_calibration_fits(const Calibration& calibration, const std::string& path, Size size) {
  const Size described{calibration.width, calibration.height};
  if (described.width == 0 || described.height == 0 || described == size) return;
  throw Error(ErrorCategory::file, path + " is for images of " + text(described) + ", these are " +
                                       text(size) + ": give the calibration of this size");
}

struct Inputs {
  Picture left, right;
  Plane<std::uint8_t> left_mask, right_mask;

  StereoPair pair() const {
    StereoPair pair{left.view(), right.view(), {}, {}};
    if (left_mask.width() > 0) pair.left_mask = left_mask.view();
    if (right_mask.width() > 0) pair.right_mask = right_mask.view();
    return pair;
  }
  const ImageFormat format() const { return left.view().format; }
};

std::string describe(const ImageFormat& format) {
  return text(format.size) + " with " + std::to_string(static_cast<int>(format.depth)) + " bits";
}

Plane<std::uint8_t> read_mask_of(const std::string& path, Size size) {
  if (path.empty()) return {};
  Plane<std::uint8_t> mask = read_mask(path);
  if (mask.size() != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.size()) + ", the pair is " + text(size) +
                                         ": give a mask of the size of the pair");
  return mask;
}

Inputs read_inputs(const MatchRequest& request) {
  Inputs inputs{read_picture(request.left), read_picture(request.right), {}, {}};
  if (inputs.left.view().format != inputs.right.view().format)
    throw Error(ErrorCategory::file, request.left + " is " + describe(inputs.left.view().format) + ", " +
                                         request.right + " is " + describe(inputs.right.view().format) +
                                         ": give a pair of one size and depth");
  inputs.left_mask = read_mask_of(request.left_mask, inputs.format().size);
  inputs.right_mask = read_mask_of(request.right_mask, inputs.format().size);
  return inputs;
}

// Median times over all runs, by stage.
class Stopwatch {
 public:
  void add(const std::vector<StageTime>& stages) {
    double total = 0;
    for (const StageTime& stage : stages) {
      at(stage.stage).push_back(stage.milliseconds);
      total += stage.milliseconds;
    }
    totals_.push_back(total);
  }

  double total() const { return median(totals_); }

  ordered_json to_json() const {
    // Nothing travels on the CPU.
    ordered_json json{{"total", total()}, {"match", total()}, {"upload", 0.0}, {"download", 0.0}};
    for (const auto& [stage, times] : stages_) json[stage] = median(times);
    return json;
  }

 private:
  std::vector<double>& at(const std::string& stage) {
    for (auto& [name, times] : stages_)
      if (name == stage) return times;
    return stages_.emplace_back(stage, std::vector<double>()).second;
  }

  std::vector<std::pair<std::string, std::vector<double>>> stages_;
  std::vector<double> totals_;
};

ordered_json status_shares(View<const std::uint8_t> status) {
  std::array<std::size_t, status_count> counts{};
  for (int y = 0; y < status.size.height; ++y)
    for (int x = 0; x < status.size.width; ++x) ++counts[status.at(x, y)];
  ordered_json json;
  for (int i = 0; i < status_count; ++i)
    json[name(static_cast<Status>(i))] =
        static_cast<double>(counts[static_cast<std::size_t>(i)]) / static_cast<double>(status.size.pixels());
  return json;
}

double valid_fraction(View<const float> disparity) {
  std::size_t valid = 0;
  for (int y = 0; y < disparity.size.height; ++y)
    valid += static_cast<std::size_t>(std::count_if(disparity.row(y), disparity.row(y) + disparity.size.width,
                                                    [](float d) { return std::isfinite(d); }));
  return static_cast<double>(valid) / static_cast<double>(disparity.size.pixels());
}

// Encodes all files before the first is written.
void write_outputs(const MatchRequest& request, const Inputs& inputs, const Calibration& calibration,
                   View<const float> disparity, View<const float> confidence) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> files;
  if (!request.output.empty())
    files.emplace_back(request.output, encode_disparity(request.output, disparity));
  if (!request.confidence.empty())
    files.emplace_back(request.confidence, encode_disparity(request.confidence, confidence));
  if (!request.image.empty()) files.emplace_back(request.image, encode_coloured(disparity));
  if (!request.cloud.empty())
    files.emplace_back(request.cloud, encode_ply(point_cloud(calibration, disparity, inputs.left.view())));
  for (const auto& [path, bytes] : files) write_file(path, bytes);
}

}  // namespace

int& MatchRequest::min_disparity() {
  return std::visit([](auto& p) -> int& { return p.min_disparity; }, parameters);
}

int& MatchRequest::disparities() {
  return std::visit([](auto& p) -> int& { return p.disparities; }, parameters);
}

MatchRequest parse_match(const Arguments& arguments) {
  MatchRequest request;
  read_method_and_preset(arguments, request);
  CommandLine app("match", "Match a rectified stereo pair");
  add_common_options(app, request);
  std::visit([&](auto& parameters) { add_options(app, parameters); }, request.parameters);
  request.range_given =
      std::visit([](const auto& preset) { return fixes_range(preset); }, request.parameters);
  app.read(arguments);
  std::visit([&](auto& parameters) { settle_options(app, parameters); }, request.parameters);
  request.range_given = request.range_given || app.count("--disparities") > 0 || searches_rows(request);
  check_request(request);
  return request;
}

int match_command(const Arguments& arguments) {
  MatchRequest request = parse_match(arguments);
  Calibration calibration;
  if (!request.calibration.empty()) calibration = read_calibration(request.calibration);
  const Inputs inputs = read_inputs(request);
  const Size size = inputs.format().size;
  if (!request.calibration.empty()) check_calibration_fits(calibration, request.calibration, size);
  if (!request.range_given) {
    if (calibration.disparities > 0) request.disparities() = calibration.disparities;
    const int reachable = size.width - request.min_disparity();
    request.disparities() = std::min(request.disparities(), std::max(reachable, fewest_disparities(request)));
  }
  check_range_fits(request, size);

  Device device = Device::parse(request.device);
  device.threads = request.threads;
  Matcher matcher(request.parameters, device, inputs.format(), {request.max_memory});
  Plane<float> disparity(size);
  Plane<std::uint8_t> status(size);
  Plane<float> confidence(request.confidence.empty() ? Size{} : size);
  DisparityMap map{disparity.view(), status.view()};
  if (!request.confidence.empty()) map.confidence = confidence.view();
  Stopwatch stopwatch;
  for (int i = 0; i < request.repeat; ++i) {
    if (request.repeat > 1)
      show_progress("run " + std::to_string(i + 1) + " of " + std::to_string(request.repeat));
    matcher.run(inputs.pair(), map);
    stopwatch.add(matcher.stage_times());
  }
  if (request.repeat > 1) show_progress("");
  write_outputs(request, inputs, calibration, disparity.view(), confidence.view());

  const double valid = valid_fraction(disparity.view());
  if (request.json) {
    ordered_json report{
        {"method", request.method},
        {"device", device.text()},
        {"size", {{"width", size.width}, {"height", size.height}}},
        {"disparities", searches_rows(request) ? 2 * size.width - 1 : request.disparities()},
        {"parameters", std::visit([](const auto& p) { return to_json(p); }, request.parameters)},
        {"milliseconds", stopwatch.to_json()},
        {"memory_bytes", matcher.memory_bytes()},
        {"valid", valid},
        {"status", status_shares(status.view())}};
    if (request.energy)
      report["energy"] = belief_propagation_energy(std::get<BeliefPropagationParameters>(request.parameters),
                                                   inputs.pair(), disparity.view());
    std::cout << report.dump(2) << "\n";
  } else {
    std::cerr << std::fixed << std::setprecision(1) << "matched " << size.width << "×" << size.height
              << " by " << request.method << " on " << device.text() << " in " << stopwatch.total() << " ms, "
              << 100 * valid << " % of pixels have a disparity\n";
  }
  return done;
}

}  // namespace parallax::tool
