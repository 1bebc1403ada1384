// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/match.h"

#include <algorithm>

#include "tools/command/command.h"
#include "tools/files/frames.h"
#include "tools/jobs/tiles/plan.h"
#include "tools/match/match_pair.h"
#include "tools/match/repair.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

void add_output_options(Options& options, MatchOptions& request) {
  Outputs& outputs = request.match.outputs;
  options.group("Output");
  options.add("-o,--output FILE", outputs.disparity,
              "Disparity map: .pfm, .png (16 bits: 256 times the disparity, 0 = none) or .tiff; for a "
              "sequence: a pattern such as d_%04d.pfm, or a folder");
  options.add(
      "--right-output FILE", outputs.right_disparity,
      "Disparity map of the right picture, like that of -o: right (x, y) shows the same point as left "
      "(x + disparity, y)");
  options.add("--image FILE", outputs.image, "Coloured picture of the disparities (.png)");
  add_video_options(options, request.video);
  options.add_flag(
      "--temporal", request.temporal,
      "Steady the maps of a video: the last map, moved as the camera moved, is averaged with the "
      "new one, and decides where it explains the pictures better");
  options.add("--confidence FILE", outputs.confidence, "Confidence of each pixel, 0 to 1: .pfm or .tiff");
  options.add(
      "--rows-off FILE", outputs.rows_off,
      "By how many rows each match is lower in the right picture: .pfm or .tiff; with --row-tolerance");
  options.add_flag("--json", request.report.json, "Report as JSON on standard output");
  add_truth_options(options, request.report.truth, "Ground truth: adds the errors of the map to --json");
  options.add("--repeat N", request.report.repeat, "Match N times, report median times").range(1, 1'000'000);
  options
      .add_flag("--energy", request.report.energy,
                "Add the energy of the map to --json (" + join(methods_with(&Capabilities::energy)) + ")")
      .expert();
}

void add_live_options(Options& options, LiveOptions& live, double& max_skew) {
  options.group("Live");
  options.add(
      "--camera N[,N]", live.cameras.cameras,
      "Camera with both views, by number or path, or two cameras; leave out LEFT and RIGHT. A video is "
      "played again and again, at its own rate");
  options.add("--share NAME", live.share,
              "Write each map to shared memory of this name, for 'parallax watch' and other programs");
  options.add("--maps N", live.maps, "End after N maps; 0 = at Ctrl-C").range(0, 1'000'000'000);
  options
      .add("--max-skew", max_skew,
           "Largest difference between the times of both pictures of a pair, in milliseconds; 0 = half the "
           "time between pictures")
      .range(0, 10'000);
  options.add_flag("--wait", live.cameras.waits, "Wait for a camera that is gone, instead of ending");
}

// \throws UsageError unless the cameras are enough for two views, and the other options are for cameras, too
void check_live(const Options& options, const MatchOptions& request) {
  const Input& input = request.match.input;
  const LiveOptions& live = request.live;
  if (live.cameras.cameras.empty()) {
    options.refuse({"--share", "--maps", "--max-skew", "--wait"}, " is for cameras: give --camera");
    return check_views(input, "match");
  }
  check_cameras(live.cameras.cameras, input);
  if (live.cameras.cameras.size() == 1) options.refuse({"--max-skew"}, " is for two cameras: leave it out");
  for (const OutputKind& kind : output_kinds)
    options.refuse({kind.option}, " is for pictures in files: of cameras, --video and --share take the maps");
  options.refuse(
      {"--truth", "--energy", "--repeat", "--cost-file", "--repair", "--resume", "--tile-size", "--padding"},
      " is for pictures in files: leave it out with --camera");
}

void add_depth_options(Options& options, Outputs& outputs, DepthOptions& depth) {
  options.group("Depth, with --calib or --rig");
  options.add("--depth FILE", outputs.depth,
              "Depth of each pixel: .png (16 bits: millimetres) or .tiff (float: metres); 0 = none");
  options.add("--cloud FILE", outputs.cloud, "Point cloud: .ply or .pcd, in the unit of the baseline");
  options.add_flag("--organised", depth.organised,
                   "A point for every pixel in --cloud, row by row, NaN where there is no depth");
  options.add("--mesh FILE", outputs.mesh, "Surface of triangles: .ply, in the unit of the baseline");
  options.add_flag("--normals", depth.normals,
                   "Normals of the surface, towards the camera, in --cloud and --mesh");
  options.add("--max-depth", depth.max_depth, "Leave out what is farther away, in metres; 0 = no limit")
      .range(0, 1e9);
  options
      .add("--max-depth-uncertainty", depth.max_depth_uncertainty,
           "Leave out depths with a larger standard deviation, in metres; 0 = no limit")
      .range(0, 1e9);
  options
      .add("--disparity-uncertainty", depth.disparity_uncertainty,
           "Standard deviation of disparities in pixels, for --max-depth-uncertainty")
      .range(0, 1e6);
  options.add("--mesh-step", depth.mesh_step, "Cut the mesh between pixels whose disparities differ by more")
      .range(0, 1e6);
  add_unit_option(options, depth.unit);
}

// An option of depths, points or meshes needs another, or a name with a known extension.
void check_depth_options(const Options& options, const MatchRequest& request) {
  const Outputs& outputs = request.outputs;
  const DepthOptions& depth = request.depth;
  const bool has_geometry = request.input.has_geometry();
  const std::pair<bool, const char*> files[] = {{!outputs.depth.empty(), "--depth"},
                                                {!outputs.cloud.empty(), "--cloud"},
                                                {!outputs.mesh.empty(), "--mesh"}};
  bool any = false;
  for (const auto& [given, name] : files) {
    if (given && !has_geometry)
      throw UsageError(std::string(name) + " needs the geometry of the cameras: give --calib or --rig");
    any = any || given;
  }
  const std::pair<bool, const char*> limits[] = {
      {depth.max_depth > 0, "--max-depth"}, {depth.max_depth_uncertainty > 0, "--max-depth-uncertainty"}};
  for (const auto& [given, name] : limits)
    if (given && !any)
      throw UsageError(std::string(name) + " needs --depth, --cloud or --mesh: give one of them");
  if (!(depth.max_depth_uncertainty > 0))
    options.refuse({"--disparity-uncertainty"}, " needs --max-depth-uncertainty: give both");
  if (outputs.cloud.empty()) options.refuse({"--organised"}, " needs --cloud: give both");
  if (outputs.mesh.empty()) options.refuse({"--mesh-step"}, " needs --mesh: give both");
  if (outputs.cloud.empty() && outputs.mesh.empty())
    options.refuse({"--normals"}, " needs --cloud or --mesh: give one of them");
  if (depth.unit > 0 && !has_geometry) throw UsageError("--unit needs --calib or --rig: give one of them");
  check_extension("--depth", outputs.depth, {".png", ".tif", ".tiff"}, ".png or .tiff");
  check_extension("--cloud", outputs.cloud, {".ply", ".pcd"}, ".ply or .pcd");
  check_extension("--mesh", outputs.mesh, {".ply"}, ".ply");
}

void check_repair(const Options& options, bool repair) {
  if (!repair) return;
  options.refuse({"--left-mask", "--right-mask", "--cost-file"},
                 " is for pictures that stay as they are: leave it out with --repair");
  options.refuse({"--tile-size", "--resume", "--padding"},
                 " is for a match in tiles: leave out --repair, which tiles do not support");
}

void check_report(const ReportOptions& report, const std::string& method) {
  if (report.energy && (!capabilities(method).energy || !report.json))
    throw UsageError("--energy needs --json and one of these methods: " +
                     join(methods_with(&Capabilities::energy)));
  if (!report.truth.path.empty() && !report.json) throw UsageError("--truth needs --json: give both");
  check_truth(report.truth);
}

// No file may have two roles. Files in folders are named after frames and checked later.
void check_files(const MatchOptions& request) {
  CommandFiles files;
  register_inputs(request.match.input, files);
  for (const std::string& camera : request.live.cameras.cameras) files.reads(device_of_camera(camera));
  files.reads(request.report.truth.path);
  for (const std::string& path : request.match.outputs.all())
    if (!names_folder(path)) files.writes(path);
  files.writes(request.video.path);
}

void check_request(const Options& options, const MatchOptions& request) {
  const Outputs& outputs = request.match.outputs;
  const MatcherParameters& parameters = request.match.search.parameters;
  check_repair(options, request.repair);
  check_rectify_options(options, request.match.input);
  check_live(options, request);
  check_depth_options(options, request.match);
  if (!outputs.disparity.empty() && !names_folder(outputs.disparity)) check_disparity_path(outputs.disparity);
  if (!outputs.right_disparity.empty() && !names_folder(outputs.right_disparity))
    check_disparity_path(outputs.right_disparity);
  check_image_path(outputs.image);
  check_video(request.video);
  check_map_path("--confidence", outputs.confidence);
  check_map_path("--rows-off", outputs.rows_off);
  if (!outputs.rows_off.empty()) check_searches_rows(parameters);
  check_report(request.report, request.match.search.method);
  check_files(request);
  parameters.validate();
}

// Tiles and sequences are matched by the rows that they have, unless the user says otherwise.
MatchOptions with_rows_as_given(MatchOptions request) {
  Search& search = request.match.search;
  if (search.rows_by_default) set_parameter(search.parameters, "rows", "given");
  return request;
}

// What keeps a pair from being matched in tiles, as an advice; empty = nothing.
std::string obstacle_of(const MatchOptions& request) {
  const Outputs& outputs = request.match.outputs;
  const std::pair<bool, const char*> unsupported[] = {{request.match.input.holds_both_in_left(), "--layout"},
                                                      {!request.match.input.rig.empty(), "--rig"},
                                                      {request.repair, "--repair"},
                                                      {!outputs.right_disparity.empty(), "--right-output"},
                                                      {!outputs.confidence.empty(), "--confidence"},
                                                      {request.report.energy, "--energy"},
                                                      {!request.match.input.cost_file.empty(), "--cost-file"},
                                                      {!outputs.depth.empty(), "--depth"},
                                                      {!outputs.cloud.empty(), "--cloud"},
                                                      {!outputs.mesh.empty(), "--mesh"},
                                                      {request.report.repeat > 1, "--repeat"}};
  const std::string without = obstacle_to_tiles(request.match.search, outputs.disparity);
  if (outputs.disparity.empty()) return without;
  for (const auto& [given, name] : unsupported)
    if (given) return std::string("leave out ") + name + ", which tiles do not support";
  return without;
}

bool asks_for_tiles(const MatchOptions& request) {
  return request.resume || request.tiles.largest != Size{};
}

// Whether a pair of this format must be matched in tiles: on request, or because it does not fit.
// \throws Error (memory) if it neither fits nor can be matched in tiles
bool needs_tiles(const MatchOptions& request, const ImageFormat& format) {
  if (asks_for_tiles(request)) return true;
  MatchRequest settled = request.match;
  settle_range(settled.input, settled.search, format.size);
  const std::size_t needed = whole_match_bytes(settled, !request.report.truth.path.empty(), format);
  const std::size_t limit = memory_limit(settled.search.max_memory);
  if (needed <= limit) return false;
  const std::string obstacle = obstacle_of(request);
  if (obstacle.empty()) return true;
  // The machine's own limit is an estimate: without tiles, the match is tried anyway.
  if (settled.search.max_memory == 0) return false;
  throw Error(ErrorCategory::memory, "the match needs " + memory_text(needed) + ", and " +
                                         memory_text(limit) +
                                         " are allowed: raise the limit, or, to match in tiles, " + obstacle);
}

// Whether the format of the pictures is needed before they are read.
bool looks_first(const MatchOptions& request) {
  const Input& input = request.match.input;
  return !input.holds_both_in_left() && (request.match.search.max_memory > 0 || asks_for_tiles(request) ||
                                         open_picture_tiff(input.left).has_value());
}

int match_by_tiles(const MatchOptions& whole) {
  const MatchOptions request = with_rows_as_given(whole);
  const std::string obstacle = obstacle_of(request);
  if (!obstacle.empty()) throw UsageError("cannot match in tiles: " + obstacle);
  const auto& [input, search, outputs, depth, repaired] = request.match;
  return match_in_tiles({{input,
                          search,
                          outputs.disparity,
                          {request.tiles.padding, request.tiles.largest, !outputs.rows_off.empty()}},
                         outputs.rows_off,
                         outputs.image,
                         request.report.truth,
                         request.report.json,
                         request.resume});
}

// Whether the device has room for the match in one piece.
// \throws Error where tiles cannot help
bool plan_whole(const MatchOptions& request, PairMatch& pair) {
  try {
    pair.plan();
    return true;
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::memory || !obstacle_of(request).empty()) throw;
    return false;
  }
}

// Returns whether the pair was matched: it may not fit in one piece. `fits`: it is known to fit.
bool match_whole(const MatchOptions& request, bool fits) {
  PairMatch pair(request.match, request.report);
  if ((!fits && needs_tiles(request, pair.format())) || !plan_whole(request, pair)) return false;
  pair.run();
  return true;
}

int match_pair(MatchOptions request) {
  for (const std::string& path : request.match.outputs.all())
    if (names_folder(path))
      throw UsageError(path + " is a directory: give a file name, as for any single pair");
  if (!request.video.path.empty())
    throw UsageError("--video is for a sequence: give two folders, patterns or videos");
  if (request.temporal)
    throw UsageError("--temporal is for a sequence: give two folders, patterns or videos");
  if (request.repair) repair(request.match, nullptr);
  find_range(request.match);
  const bool first = looks_first(request);
  if (first && needs_tiles(request, PictureParts(request.match.input.left).format()))
    return match_by_tiles(request);
  return match_whole(request, first) ? done : match_by_tiles(request);
}

int match_frames(MatchOptions request, FrameSource& frames) {
  if (request.resume || request.tiles.largest != Size{} || request.tiles.padding != default_tile_padding)
    throw UsageError(
        "--resume, --tile-size and --padding are for a single pair: a sequence is not matched in tiles");
  if (request.temporal && !request.match.outputs.right_disparity.empty())
    throw UsageError("--temporal steadies the map of the left picture: leave out --right-output");
  // The repair reads the first frames of a source of its own.
  if (request.repair) repair(request.match, open_sequence(request.match.input).get());
  const std::pair<bool, const char*> of_one_pair[] = {{request.report.energy, "--energy"},
                                                      {!request.report.truth.path.empty(), "--truth"},
                                                      {!request.match.input.cost_file.empty(), "--cost-file"},
                                                      {request.report.repeat > 1, "--repeat"}};
  for (const auto& [given, name] : of_one_pair)
    if (given) throw UsageError(std::string(name) + " is for one pair: leave it out for a sequence");
  return match_sequence(request.match, {request.video, request.report.json, request.temporal}, frames);
}

int match_cameras(const MatchOptions& request) {
  if (request.match.search.devices.size() > 1)
    throw UsageError("--camera is matched on one device: give one");
  LiveOptions live = request.live;
  const Input& input = request.match.input;
  live.cameras.layout = input.layout.value_or(Layout::side_by_side);
  live.video = request.video;
  live.json = request.report.json;
  live.temporal = request.temporal;
  return match_live(request.match, live);
}

}  // namespace

MatchOptions parse_match(const Arguments& given) {
  Arguments arguments = given;
  const bool automatic_range = take_automatic_range(arguments);
  MatchOptions request;
  auto& [input, search, outputs, depth, repaired] = request.match;
  search = read_search(arguments, "match");
  search.automatic_range = automatic_range;
  double max_skew = 0;
  Options options("match", "Match a rectified stereo pair, a sequence of pairs, or what cameras see.");
  add_picture_options(options, input);
  add_calibration_options(options, input);
  add_cost_file_option(options, input);
  add_rectify_options(options, input, false);
  options.add_flag(
      "--repair", request.repair,
      "Align the rows first, by points of the pair, or of the first frames: repairs the rig, or, without "
      "--rig, moves the right picture");
  add_value_options(options, input.pictures);
  add_output_options(options, request);
  add_live_options(options, request.live, max_skew);
  add_depth_options(options, outputs, depth);
  add_search_options(options, search);
  add_tile_options(options, search, request.tiles);
  options.add_flag("--resume", request.resume, "Continue an interrupted match in tiles");
  options.footer(
      "--disparities auto searches the range that 'parallax check' recommends; for a sequence, that of the "
      "first frame in which it is found. --device takes several, such as cuda:0,cuda:2 or cuda:all: frames "
      "and tiles go to whichever is free, and a single pair that is not cut into tiles to the first. "
      "'parallax match --plan PLAN --help' lists the options for the tiles of a plan. " +
      footer_of("match", search.method));
  options.read(with_both_calibrations(arguments));
  settle_search(options, search);
  settle_cost_file(options, input, search);
  check_automatic_range(options, search);
  settle_layout(request.match.input);
  request.live.cameras.max_skew = max_skew / 1000;
  if (!request.repair) align_rows_by_default(options, search);
  check_request(options, request);
  settle_devices(search);
  return request;
}

int match_command(const Arguments& arguments) {
  const bool planned = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--plan" || argument.starts_with("--plan=");
  });
  if (planned) return match_planned_tiles(arguments);
  const MatchOptions request = parse_match(arguments);
  if (!request.live.cameras.cameras.empty()) return match_cameras(with_rows_as_given(request));
  const std::unique_ptr<FrameSource> frames = open_sequence(request.match.input);
  return frames ? match_frames(with_rows_as_given(request), *frames) : match_pair(request);
}

}  // namespace parallax::tool
