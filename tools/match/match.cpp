// SPDX-License-Identifier: Apache-2.0
#include "tools/match/match.h"

#include <algorithm>
#include <filesystem>

#include "tools/command/command_files.h"
#include "tools/command/method_options.h"
#include "tools/files/depth_files.h"
#include "tools/files/frames.h"
#include "tools/files/pictures.h"
#include "tools/files/video.h"
#include "tools/match/repair.h"
#include "tools/match/several_devices.h"

namespace parallax::tool {

namespace {

// As in the MEMOCODE 2013 design contest.
constexpr int labels_of_cost_files = 16;

void add_input_options(Options& options, MatchRequest& request, const std::string& command) {
  options.group("Input");
  Option& left = options.add(
      "LEFT", request.left,
      command == "plan"
          ? "Left picture; for many pairs: a folder, or a pattern such as left_%04d.png or '*/left.png'"
          : "Left picture; for a sequence: a folder, a pattern such as left_%04d.png or '*/left.png', or a "
            "video");
  if (command == "match") left.required();
  options.add("RIGHT", request.right,
              command == "plan" ? "Right picture, rectified with the left one"
                                : "Right picture, rectified with the left one unless --rig is given");
  options.add_flag("--side-by-side", request.side_by_side,
                   "LEFT contains both views side by side; leave out RIGHT");
  options.add("--calib FILE", request.calibration,
              "Calibration: Middlebury calib.txt or OpenCV .yml; its ndisp is the default of --disparities");
  options.add("--left-mask FILE", request.left_mask, "Gray picture: 0 = this pixel of LEFT is not valid");
  options.add("--right-mask FILE", request.right_mask, "Gray picture: 0 = this pixel of RIGHT is not valid");
  options
      .add("--cost-file FILE", request.cost_file,
           "Text file of data costs to use instead of the matcher's own: width, height, then an integer for "
           "each label of each pixel; " +
               std::to_string(labels_of_cost_files) + " labels unless --disparities is given (" +
               methods_with(&Capabilities::volume) + ")")
      .expert();
}

void add_repair_option(Options& options, MatchRequest& request) {
  options.add_flag(
      "--repair", request.repair,
      "Align the rows first, by points of the pair, or of the first frames: repairs the rig, or, without "
      "--rig, moves the right picture");
}

void add_truth_options(Options& options, MatchRequest& request, const std::string& help) {
  options.add("--truth FILE", request.truth, help);
  options
      .add("--truth-scale X", request.truth_scale, "Gray levels per pixel of disparity in an 8-bit --truth")
      .range(1e-6, 1e6);
}

void add_unit_option(Options& options, MatchRequest& request) {
  options.add_choice<double>("--unit", request.unit, {{"m", 1}, {"cm", 0.01}, {"mm", 0.001}},
                             "Unit of the baseline; by default mm for calib.txt, m for other files");
}

void add_output_options(Options& options, MatchRequest& request, const std::string& command) {
  options.group("Output");
  const bool sequences = command == "match";
  options.add("-o,--output FILE", request.output,
              std::string("Disparity map: .pfm, .png (16 bits: 256 times the disparity, 0 = none) or .tiff") +
                  (sequences ? "; for a sequence: a pattern such as d_%04d.pfm, or a folder"
                             : "; for many pairs: a folder, or a pattern such as {folder}/{name}.pfm"));
  options.add("--image FILE", request.image, "Coloured picture of the disparities (.png)");
  options.add("--video FILE", request.video, "Coloured video of a sequence (.avi or .mp4)");
  options
      .add("--fps X", request.frames_per_second,
           "Frames per second of --video; 0 = as the input, or 30 if that is unknown")
      .range(0, 1000);
  options.add("--confidence FILE", request.confidence, "Confidence of each pixel, 0 to 1: .pfm or .tiff");
  options.add(
      "--rows-off FILE", request.rows_off,
      "By how many rows each match is lower in the right picture: .pfm or .tiff; with --row-tolerance");
  options.add_flag("--json", request.json, "Report as JSON on standard output");
  add_truth_options(options, request, "Ground truth: adds the errors of the map to --json");
  options.add("--repeat N", request.repeat, "Match N times, report median times").range(1, 1'000'000);
  options
      .add_flag("--energy", request.energy,
                "Add the energy of the map to --json (" + methods_with(&Capabilities::energy) + ")")
      .expert();
}

void add_depth_options(Options& options, MatchRequest& request) {
  options.group("Depth, with --calib or --rig");
  options.add("--depth FILE", request.depth,
              "Depth of each pixel: .png (16 bits: millimetres) or .tiff (float: metres); 0 = none");
  options.add("--cloud FILE", request.cloud, "Point cloud: .ply or .pcd, in the unit of the baseline");
  options.add("--mesh FILE", request.mesh, "Surface of triangles: .ply, in the unit of the baseline");
  options.add("--max-depth", request.max_depth, "Leave out what is farther away, in metres; 0 = no limit")
      .range(0, 1e9);
  options
      .add("--max-depth-uncertainty", request.max_depth_uncertainty,
           "Leave out depths with a larger standard deviation, in metres; 0 = no limit")
      .range(0, 1e9);
  options
      .add("--disparity-uncertainty", request.disparity_uncertainty,
           "Standard deviation of disparities in pixels, for --max-depth-uncertainty")
      .range(0, 1e6);
  options
      .add("--mesh-step", request.mesh_step, "Cut the mesh between pixels whose disparities differ by more")
      .range(0, 1e6);
  add_unit_option(options, request);
}

void add_tile_options(Options& options, MatchRequest& request, const std::string& command) {
  options.group("Larger than memory");
  options.add_memory("--max-memory", request.max_memory,
                     "Memory limit, such as 2G: a pair that needs more is matched in tiles; 0 = seven "
                     "eighths of the machine's memory");
  if (command == "match")
    options.add_flag("--resume", request.resume, "Continue an interrupted match in tiles");
  options
      .add("--tile-size", request.largest_tile, "Largest tile, overlap included; default: what memory allows")
      .expert();
  options
      .add("--padding N", request.padding,
           "Pixels of overlap around each tile (" + methods_with(&Capabilities::approximate_tiles) + ")")
      .range(0, 1'000'000)
      .expert();
}

// The page has what other commands write to files.
void add_view_options(Options& options, MatchRequest& request) {
  add_input_options(options, request, "view");
  options.add("--camera N[,N]", request.cameras,
              "Camera with both views, by number or path, or two cameras; leave out LEFT and RIGHT");
  add_truth_options(options, request, "Ground truth: shows the errors of the map");
  add_unit_option(options, request);
  add_rectify_options(options, request);
  add_search_options(options, request);
}

void add_plan_options(Options& options, MatchRequest& request) {
  options.group("Plan");
  options.add("--plan FILE", request.plan, "Write the plan to this file (JSON lines)").required();
  options.add("--list FILE", request.list,
              "Pairs, one a line: LEFT and RIGHT, or objects in a .jsonl file; - = standard input");
  options.add_flag("--skip", request.skip,
                   "Leave out pairs that are missing, unreadable or of different sizes");
  options.add_flag(
      "--no-hash", request.no_hash,
      "Do not read the pictures: only their size and modification time tell whether they have changed");
}

void add_match_options(Options& options, MatchRequest& request, const std::string& command) {
  add_input_options(options, request, command);
  if (command == "plan") add_plan_options(options, request);
  add_rectify_options(options, request);
  add_repair_option(options, request);
  add_output_options(options, request, command);
  add_depth_options(options, request);
  add_search_options(options, request);
  add_tile_options(options, request, command);
  // 'parallax plan' refuses these options, and says why.
  if (command == "plan")
    options.hide({"--side-by-side",
                  "--rig",
                  "--alpha",
                  "--zoom",
                  "--repair",
                  "--image",
                  "--video",
                  "--fps",
                  "--confidence",
                  "--rows-off",
                  "--json",
                  "--depth",
                  "--cloud",
                  "--mesh",
                  "--max-depth",
                  "--max-depth-uncertainty",
                  "--disparity-uncertainty",
                  "--mesh-step",
                  "--unit",
                  "--truth",
                  "--truth-scale",
                  "--repeat",
                  "--energy",
                  "--cost-file"});
}

// Costs from a file replace the matcher's own and determine the number of labels.
void settle_cost_file(const Options& options, MatchRequest& request) {
  if (request.cost_file.empty()) return;
  if (!capabilities(request.method).volume)
    throw UsageError("--cost-file works only with these methods: " + methods_with(&Capabilities::volume) +
                     "; choose one of them with --method");
  if (options.given("--cost"))
    throw UsageError("--cost and --cost-file exclude each other: give one of them");
  set_parameter(request.parameters, "cost", "volume");
  if (!options.given("--disparities")) request.parameters.disparities() = labels_of_cost_files;
  request.range_given = true;
}

// Removes "--disparities auto", as the option of a method takes numbers only.
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

void check_automatic_range(const Options& options, const MatchRequest& request, const std::string& command) {
  if (!request.automatic_range) return;
  if (command == "plan")
    throw UsageError(
        "--disparities auto is for 'parallax match': give the range that 'parallax check' prints");
  for (const char* other : {"--disparities", "--min-disparity", "--cost-file"})
    if (options.given(other))
      throw UsageError(std::string(other) + " and --disparities auto exclude each other: give one of them");
  if (searches_full_rows(request.parameters))
    throw UsageError("--full-row searches every column: leave out --disparities auto");
}

bool is_picture_for_people(const std::string& path) {
  return std::filesystem::path(path).extension() == ".png";
}

// No file may have two roles. Files in folders are named after frames and checked later.
void check_paths(const MatchRequest& request) {
  CommandFiles files;
  for (const std::string& path : {request.left, request.right, request.left_mask, request.right_mask,
                                  request.calibration, request.truth})
    files.reads(path);
  for (const std::string& path : request.rig) files.reads(path);
  files.reads_once(request.cost_file);
  if (request.list != "-") files.reads_once(request.list);
  for (const std::string& path : {request.output, request.image, request.depth, request.cloud, request.mesh,
                                  request.confidence, request.rows_off, request.video, request.plan})
    if (!names_folder(path)) files.writes(path);
}

const char* description_of(const std::string& command) {
  if (command == "view")
    return "Show a stereo pair and its disparity map in a browser, and match again as parameters change.";
  return command == "match"
             ? "Match a rectified stereo pair, or a sequence of pairs."
             : "Plan the match of many pairs, or of one larger than memory, as tiles for any scheduler.";
}

void check_energy(const MatchRequest& request) {
  if (request.energy && (!capabilities(request.method).energy || !request.json))
    throw UsageError("--energy needs --json and one of these methods: " +
                     methods_with(&Capabilities::energy));
}

void check_map_path(const std::string& option, const std::string& path) {
  if (path.empty() || names_folder(path)) return;
  check_disparity_path(path);
  if (is_picture_for_people(path)) throw UsageError(option + " is " + path + ": name it .pfm or .tiff");
}

void check_truth(const MatchRequest& request, const std::string& command) {
  if (!request.truth.empty() && !request.json && command != "view")
    throw UsageError("--truth needs --json: give both");
  if (request.truth_scale > 0 && request.truth.empty())
    throw UsageError("--truth-scale needs --truth: give both");
}

// Whether cameras or a list take the place of files.
bool check_cameras(const MatchRequest& request, const std::string& command) {
  if (!request.list.empty()) {
    if (!request.left.empty()) throw UsageError("--list names the pairs: leave out " + request.left);
    return true;
  }
  if (request.cameras.empty()) {
    if (request.left.empty()) throw UsageError("LEFT is required; see 'parallax " + command + " --help'");
    return false;
  }
  if (!request.left.empty())
    throw UsageError("--camera takes both views from cameras: leave out " + request.left);
  if (request.cameras.size() != (request.side_by_side ? 1 : 2))
    throw UsageError("--camera has " + std::to_string(request.cameras.size()) +
                     " names: give two cameras, or one that has both views, with --side-by-side");
  return true;
}

void check_views(const MatchRequest& request, const std::string& command) {
  if (request.side_by_side && !request.right.empty())
    throw UsageError("--side-by-side takes both views from " + request.left + ": leave out " + request.right);
  if (!request.side_by_side && request.right.empty())
    throw UsageError("RIGHT is required; see 'parallax " + command + " --help'");
}

void check_video(const MatchRequest& request) {
  if (!request.video.empty()) check_video_path(request.video);
  if (request.frames_per_second > 0 && request.video.empty())
    throw UsageError("--fps needs --video: give both");
}

void check_rig(const Options& options, const MatchRequest& request) {
  check_rectify_options(options, request);
  if (request.repair)
    for (const char* other : {"--left-mask", "--right-mask", "--cost-file"})
      if (options.given(other))
        throw UsageError(std::string(other) +
                         " is for pictures that stay as they are: leave it out with --repair");
  if (request.repair)
    for (const char* tiles : {"--tile-size", "--resume", "--padding"})
      if (options.given(tiles))
        throw UsageError(std::string(tiles) +
                         " is for a match in tiles: leave out --repair, which tiles do not support");
  if (request.rig.empty()) return;
  // Those of the rectified pair follow from the rig.
  for (const char* other : {"--calib", "--left-mask", "--right-mask", "--cost-file"})
    if (options.given(other))
      throw UsageError(std::string(other) + " is for rectified pictures: leave it out with --rig");
}

void check_request(const MatchRequest& request, const std::string& command) {
  if (!check_cameras(request, command)) check_views(request, command);
  check_depth_options(request);
  if (!request.output.empty() && !names_folder(request.output)) check_disparity_path(request.output);
  if (!request.image.empty() && !names_folder(request.image) && !is_picture_for_people(request.image))
    throw UsageError("--image is " + request.image + ": name it .png");
  check_video(request);
  check_energy(request);
  check_map_path("--confidence", request.confidence);
  check_map_path("--rows-off", request.rows_off);
  if (!request.rows_off.empty()) check_searches_rows(request.parameters);
  check_truth(request, command);
  check_paths(request);
  request.parameters.validate();
}

}  // namespace

void repair(MatchRequest& request, FrameSource* frames) {
  request.repaired = repair_for_match(request, frames);
  const RepairedPair& repaired = *request.repaired;
  std::string text = repaired.report.sentence;
  if (request.rig.empty())
    text += repaired.left_kept ? " The left picture stays as it is." : " Both pictures were moved.";
  write_message(text + "\n");
}

void add_rectify_options(Options& options, MatchRequest& request) {
  options.group("Pictures that are not rectified");
  options.add_files("--rig", request.rig,
                    "Calibration of the two cameras: rectifies the pictures; see 'parallax rig --help'");
  options
      .add("--alpha", request.rectify.alpha,
           "What to show: 0 = only what both cameras saw; 1 = all pixels of both, with the rest masked")
      .range(0, 1);
  options.add("--zoom", request.rectify.zoom, "Factor of the focal length of the rectified pictures")
      .range(1e-3, 1e3);
}

void check_rectify_options(const Options& options, const MatchRequest& request) {
  for (const char* rectifies : {"--alpha", "--zoom"})
    if (request.rig.empty() && options.given(rectifies))
      throw UsageError(std::string(rectifies) + " needs --rig: give both");
}

bool names_folder(const std::string& path) {
  std::error_code unknown;
  return path.ends_with('/') || std::filesystem::is_directory(path, unknown);
}

MatchRequest parse_match(const Arguments& given, const std::string& command,
                         const std::function<void(Options&)>& add_more) {
  MatchRequest request;
  Arguments arguments = given;
  request.automatic_range = take_automatic_range(arguments);
  read_method_and_preset(arguments, command, request.method, request.preset);
  request.parameters = method_preset(request.method, request.preset);
  Options options(command, description_of(command));
  if (command == "view")
    add_view_options(options, request);
  else
    add_match_options(options, request, command);
  if (add_more) add_more(options);
  options.footer(
      (command == "match"
           ? "--disparities auto searches the range that 'parallax check' recommends; for a "
             "sequence, that of the first frame in which it is found. --device takes several, such "
             "as cuda:0,cuda:2 or cuda:all: frames and tiles go to whichever is free, and a single "
             "pair that is not cut into tiles to the first. 'parallax match --plan PLAN --help' lists the "
             "options for the tiles of a plan. "
           : "") +
      footer_of(command, request.method));
  request.range_given = fixes_range(request.parameters);
  options.read(arguments);
  settle_method_options(options, request.parameters);
  request.range_given =
      request.range_given || options.given("--disparities") || searches_full_rows(request.parameters);
  if (command != "view") {
    request.disparity_uncertainty_given = options.given("--disparity-uncertainty");
    request.mesh_step_given = options.given("--mesh-step");
  }
  settle_cost_file(options, request);
  check_automatic_range(options, request, command);
  check_rig(options, request);
  check_request(request, command);
  if (command == "match")
    settle_devices(request);
  else
    Device::parse(request.device);
  return request;
}

int match_command(const Arguments& arguments) {
  const bool planned = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--plan" || argument.starts_with("--plan=");
  });
  if (planned) return match_planned_tiles(arguments);
  MatchRequest request = parse_match(arguments);
  const std::unique_ptr<FrameSource> frames = open_sequence(request);
  if (!frames) return match_pair(request);
  if (request.resume || request.largest_tile != Size{} || request.padding != default_tile_padding)
    throw UsageError(
        "--resume, --tile-size and --padding are for a single pair: a sequence is not matched in tiles");
  // The repair reads the first frames of a source of its own.
  if (request.repair) repair(request, open_sequence(request).get());
  return match_sequence(request, *frames);
}

}  // namespace parallax::tool
