// SPDX-License-Identifier: Apache-2.0
// The parsed request of 'parallax match'.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallax/geometry.h"
#include "parallax/rectify.h"
#include "parallax/repair.h"
#include "parallax/tiles.h"

#include "tools/command/method_options.h"

namespace parallax::tool {

// What --repair found.
struct RepairedPair {
  RigRepair report;
  KeptLeft cameras;
  bool left_kept = false;
};

struct MatchRequest {
  std::string left, right, left_mask, right_mask;  // for a sequence: folders, patterns, videos
  bool side_by_side = false;                       // left contains both views
  std::vector<std::string> cameras;                // in place of files, for 'parallax view'
  std::vector<std::string> rig;                    // the cameras of pictures that are not rectified
  RectifyParameters rectify;
  bool repair = false;
  std::optional<RepairedPair> repaired;  // once --repair is done
  std::string output, image, depth, cloud, mesh, calibration, confidence, rows_off, video;
  double unit = 0;                                  // of the baseline, in metres; 0 = as the calibration says
  double max_depth = 0, max_depth_uncertainty = 0;  // in metres; 0 = no limit
  double disparity_uncertainty = DepthLimits().disparity_uncertainty;
  double mesh_step = MeshParameters().greatest_step;
  bool disparity_uncertainty_given = false, mesh_step_given = false;
  double frames_per_second = 0;  // for the video; 0 = as the input
  std::string method = default_method;
  std::string preset = "default";
  std::string device = "auto";  // the first one where there are several
  std::vector<Device> devices;  // of 'parallax match': frames and tiles go to whichever is free
  int threads = 0;
  std::size_t max_memory = 0;
  int repeat = 1;
  bool json = false;
  bool range_given = false;      // the search range was chosen by the user or by the preset
  bool automatic_range = false;  // --disparities auto: the range that check_pair() recommends
  MatcherParameters parameters;
  TunedValues configuration;
  std::string cost_file;  // data costs, instead of the matcher's own
  bool energy = false;    // report the energy of the map
  std::string truth;      // report the errors of the map
  double truth_scale = 0;
  // For pairs larger than memory.
  int padding = default_tile_padding;
  Size largest_tile;  // 0×0 = what memory allows
  bool resume = false;
  // For 'parallax plan'.
  std::string plan;      // the output
  std::string list;      // of many pairs, in place of left and right
  bool no_hash = false;  // of pictures
  bool skip = false;     // pairs that cannot be matched
};

// --rig, --alpha and --zoom.
void add_rectify_options(Options& options, MatchRequest& request);
// \throws UsageError for --alpha or --zoom without --rig
void check_rectify_options(const Options& options, const MatchRequest& request);

// Parses the arguments of a command that takes a pair: "match", "plan" or "view"; `add_more` adds options of its own.
// \throws UsageError, HelpRequest, Error (argument)
MatchRequest parse_match(const Arguments& arguments, const std::string& command = "match",
                         const std::function<void(Options& options)>& add_more = nullptr);

// Whether depths are known.
inline bool has_geometry(const MatchRequest& request) {
  return !request.calibration.empty() || !request.rig.empty();
}

// Whether the path names a folder, existing or to be created.
bool names_folder(const std::string& path);

class FrameSource;

// Does what --repair asks for, and says so. `frames` is null for a single pair. \throws Error (file) if it is refused
void repair(MatchRequest& request, FrameSource* frames);

// Exit statuses, as of any subcommand.
int match_pair(const MatchRequest& request);
int match_sequence(const MatchRequest& request, FrameSource& source);
int match_by_tiles(const MatchRequest& request);
// Runs 'parallax match --plan': matches tiles of an existing plan.
int match_planned_tiles(const Arguments& arguments);

}  // namespace parallax::tool
