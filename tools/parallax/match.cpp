#include "tools/parallax/match.h"

#include <algorithm>
#include <filesystem>

#include "tools/parallax/command_files.h"
#include "tools/parallax/command_line.h"
#include "tools/parallax/frames.h"
#include "tools/parallax/method_options.h"
#include "tools/parallax/pictures.h"
#include "tools/parallax/video.h"

namespace parallax::tool {

bool searches_rows(const MatchRequest& request) {
  const auto* block = std::get_if<BlockParameters>(&request.parameters);
  return block != nullptr && block->full_row;
}

int fewest_disparities(const MatchRequest& request) {
  return has_beliefs(request) ? 2 : 1;
}

bool has_beliefs(const MatchRequest& request) {
  return std::holds_alternative<BeliefPropagationParameters>(request.parameters) ||
         std::holds_alternative<TiledBeliefPropagationParameters>(request.parameters);
}

namespace {

// Those of the MEMOCODE 2013 design contest.
constexpr int labels_of_cost_files = 16;

void add_common_options(CLI::App& app, MatchRequest& request) {
  app.add_option("LEFT", request.left,
                 "Left picture; of a sequence: a folder, a pattern such as left_%04d.png, or a video")
      ->required();
  app.add_option("RIGHT", request.right, "Right picture, rectified with the left one, or sequence");
  app.add_flag("--side-by-side", request.side_by_side,
               "LEFT holds both views, the left one in its left half; there is no RIGHT");
  app.add_option("-o,--output", request.output,
                 "Disparity map: .pfm, .png (16-bit, value/256, 0 = none) or .tiff; of a sequence: a pattern "
                 "such as d_%04d.pfm, or a folder");
  app.add_option("--image", request.image, "Coloured picture of the disparities (PNG), for people");
  app.add_option("--video", request.video,
                 "Coloured video of a sequence, for people: .avi or .mp4; one scale, from the search range");
  app.add_option("--fps", request.frames_per_second,
                 "Frames per second of --video; 0 = those of the input, or 30")
      ->check(number_between(0, 1000));
  app.add_option("--cloud", request.cloud, "Point cloud (PLY); needs --calib");
  app.add_option("--confidence", request.confidence, "Map of how sure the matcher is, 0 to 1: .pfm or .tiff");
  app.add_flag("--energy", request.energy, "Report the energy of the map in --json; methods bp and tiled-bp");
  app.add_option("--cost-file", request.cost_file,
                 "Data costs as text: width and height, then a whole number for each label of each pixel, " +
                     std::to_string(labels_of_cost_files) +
                     " labels unless --disparities says how many; methods bp and tiled-bp");
  app.add_option("--truth", request.truth,
                 "Ground truth: report the errors of the map in --json, as 'parallax eval' does");
  app.add_option("--truth-scale", request.truth_scale,
                 "Value of one pixel of disparity in an 8-bit --truth, whose 0 is unknown")
      ->check(number_between(1e-6, 1e6));
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
  app.add_option(
         "--max-memory", request.max_memory,
         "Use no more memory than this, such as 2G: a pair that needs more goes in tiles; 0 = what the "
         "machine has")
      ->transform(CLI::AsSizeValue(false))
      ->transform(natural_number());  // of two, the later is the first to run
  app.add_option("--repeat", request.repeat, "Match this often, report median times")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--json", request.json, "Report as JSON on standard output");
}

void add_tile_options(CLI::App& app, MatchRequest& request, const std::string& command) {
  const std::string group = "Pairs larger than memory";
  app.add_option("--padding", request.padding,
                 "Pixels around a tile of bp and tiled-bp, on every side, which have an influence on it")
      ->check(CLI::Range(0, 1'000'000))
      ->group(group);
  app.add_option_function<std::string>(
         "--tile-size",
         [&request](const std::string& size) { request.largest_tile = parse_size(size, "--tile-size"); },
         "Largest tile with its margins, width x height; otherwise what memory allows")
      ->group(group);
  app.add_option("--tile-workers", request.tile_workers,
                 "Processes that match tiles, which share --max-memory; 0 = as many as pay")
      ->check(CLI::Range(0, 64))
      ->group(group);
  if (command == "match")
    app.add_flag("--resume", request.resume, "Go on with the tiles that an interrupted match left")
        ->group(group);
  else
    app.add_option("--plan", request.plan, "Where the plan goes (JSON)")->required()->group(group);
}

// What was given of the options from the one numbered `first` on, and of those that say what is searched.
Arguments given_options(const CLI::App& app, std::size_t first) {
  Arguments given;
  const std::vector<const CLI::Option*> options = app.get_options();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string name = options[i]->get_name();
    const bool searches =
        name == "--method" || name == "--preset" || name == "--min-disparity" || name == "--disparities";
    if (i < first && !searches) continue;
    for (const std::string& value : options[i]->results()) given.push_back(name + "=" + value);
  }
  return given;
}

// Costs from a file take the place of the matcher's own, and decide how many labels there are.
void settle_cost_file(const CLI::App& app, MatchRequest& request) {
  if (request.cost_file.empty()) return;
  if (!has_beliefs(request)) throw UsageError("--cost-file is for --method bp or tiled-bp: give one of them");
  if (app.count("--cost") > 0)
    throw UsageError("--cost and --cost-file exclude each other: give one of them");
  const auto take_volume = [](auto& parameters) {
    if constexpr (requires { parameters.cost = DataCost::volume; }) parameters.cost = DataCost::volume;
  };
  std::visit(take_volume, request.parameters);
  if (app.count("--disparities") == 0) request.disparities() = labels_of_cost_files;
  request.range_given = true;
}

bool is_picture_for_people(const std::string& path) {
  return std::filesystem::path(path).extension() == ".png";
}

// No file may be asked to be two things. What goes into a folder has the names of frames.
void check_paths(const MatchRequest& request) {
  CommandFiles files;
  for (const std::string& path : {request.left, request.right, request.left_mask, request.right_mask,
                                  request.calibration, request.truth})
    files.reads(path);
  files.reads_once(request.cost_file);
  for (const std::string& path :
       {request.output, request.image, request.cloud, request.confidence, request.video, request.plan})
    if (!names_folder(path)) files.writes(path);
}

// What only a matcher with beliefs can tell.
void check_beliefs(const MatchRequest& request) {
  if (request.energy && (!has_beliefs(request) || !request.json))
    throw UsageError("--energy is for --method bp or tiled-bp with --json: give both");
  if (request.confidence.empty() || names_folder(request.confidence)) return;
  check_disparity_path(request.confidence);
  if (is_picture_for_people(request.confidence))
    throw UsageError("--confidence is " + request.confidence + ": name it .pfm or .tiff");
}

void check_truth(const MatchRequest& request) {
  if (!request.truth.empty() && !request.json)
    throw UsageError("--truth is for what --json reports: give both");
  if (request.truth_scale > 0 && request.truth.empty())
    throw UsageError("--truth-scale is for --truth: give both");
}

void check_views(const MatchRequest& request) {
  if (request.side_by_side && !request.right.empty())
    throw UsageError("--side-by-side has both views in " + request.left + ": leave out " + request.right);
  if (!request.side_by_side && request.right.empty())
    throw UsageError("RIGHT is required; see 'parallax match --help'");
}

void check_video(const MatchRequest& request) {
  if (!request.video.empty()) check_video_path(request.video);
  if (request.frames_per_second > 0 && request.video.empty())
    throw UsageError("--fps is for --video: give both");
}

void check_request(const MatchRequest& request) {
  check_views(request);
  if (!request.cloud.empty() && request.calibration.empty())
    throw UsageError("--cloud needs the geometry of the cameras: give --calib");
  if (!request.output.empty() && !names_folder(request.output)) check_disparity_path(request.output);
  if (!request.image.empty() && !names_folder(request.image) && !is_picture_for_people(request.image))
    throw UsageError("--image is " + request.image + ": name it .png");
  check_video(request);
  check_beliefs(request);
  check_truth(request);
  check_paths(request);
  std::visit([](const auto& parameters) { parameters.validate(); }, request.parameters);
  Device::parse(request.device);
}

}  // namespace

bool names_folder(const std::string& path) {
  std::error_code unknown;
  return path.ends_with('/') || std::filesystem::is_directory(path, unknown);
}

int& MatchRequest::min_disparity() {
  return std::visit([](auto& p) -> int& { return p.min_disparity; }, parameters);
}

int& MatchRequest::disparities() {
  return std::visit([](auto& p) -> int& { return p.disparities; }, parameters);
}

int MatchRequest::min_disparity() const {
  return std::visit([](const auto& p) { return p.min_disparity; }, parameters);
}

int MatchRequest::disparities() const {
  return std::visit([](const auto& p) { return p.disparities; }, parameters);
}

MatchRequest parse_match(const Arguments& arguments, const std::string& command) {
  MatchRequest request;
  read_method_and_preset(arguments, command, request.method, request.preset);
  request.parameters = method_preset(request.method, request.preset);
  CommandLine app(command, command == "match" ? "Match a rectified stereo pair, or a sequence of pairs"
                                              : "Cut a pair larger than memory into tiles");
  add_common_options(app, request);
  add_tile_options(app, request, command);
  if (command == "match")
    app.footer(
        "'parallax match --plan FILE --tile K' matches one tile of a plan; see 'parallax plan --help'");
  const std::size_t first_of_matcher = app.get_options().size();
  std::visit([&](auto& parameters) { add_options(app, parameters); }, request.parameters);
  request.range_given =
      std::visit([](const auto& preset) { return fixes_range(preset); }, request.parameters);
  app.read(arguments);
  request.matcher_options = given_options(app, first_of_matcher);
  std::visit([&](auto& parameters) { settle_options(app, parameters); }, request.parameters);
  request.range_given = request.range_given || app.count("--disparities") > 0 || searches_rows(request);
  settle_cost_file(app, request);
  check_request(request);
  return request;
}

int match_command(const Arguments& arguments) {
  const bool planned = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--plan" || argument.starts_with("--plan=");
  });
  if (planned) return match_planned_tiles(arguments);
  const MatchRequest request = parse_match(arguments);
  const std::unique_ptr<FrameSource> frames = open_sequence(request);
  if (!frames) return match_pair(request);
  if (request.resume || request.largest_tile != Size{} || request.tile_workers > 0 ||
      request.padding != default_tile_padding)
    throw UsageError(
        "--resume, --tile-size, --tile-workers and --padding are for a pair: a sequence does not go in "
        "tiles");
  return match_sequence(request, *frames);
}

}  // namespace parallax::tool
