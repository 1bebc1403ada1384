// SPDX-License-Identifier: Apache-2.0
// Groups of options that several commands have, and their checks.
#pragma once

#include <string>

#include "parallax/tiles.h"

#include "tools/command/command_files.h"
#include "tools/command/options.h"
#include "tools/jobs/tiles/job.h"
#include "tools/match/match.h"

namespace parallax::tool {

// LEFT and RIGHT of a pair or a sequence, and how LEFT may hold both. Returns LEFT.
Option& add_picture_options(Options& options, Input& input);
// --layout and --side-by-side.
void add_layout_options(Options& options, Input& input);
// \throws UsageError if both are given and differ
void settle_layout(Input& input);
// \throws UsageError for a missing LEFT or RIGHT, or a RIGHT too many
void check_views(const Input& input, const std::string& command);

// How the values of pictures are read: --bits, --value-range, --no-data, --ignore-orientation and --bayer.
void add_value_options(Options& options, PictureOptions& pictures);

// --calib, --left-mask and --right-mask.
void add_calibration_options(Options& options, Input& input);
// The arguments with --calib before each of two files, as --calib left.yaml right.yaml may be written: no picture
// is YAML.
Arguments with_both_calibrations(const Arguments& arguments);

void add_cost_file_option(Options& options, Input& input);
// Costs from a file replace the matcher's own and determine the number of labels.
// \throws UsageError
void settle_cost_file(const Options& options, const Input& input, Search& search);

// --rig, how to rectify, and what the files of a rig or a calibration do not say. Commands that write depths have
// a --unit of their own.
void add_rectify_options(Options& options, Input& input, bool with_unit = true);
// The same but for --rig, which 'rectify' needs.
void add_rectification_options(Options& options, RectifyParameters& parameters, RigChoices& choices,
                               bool with_unit);
// \throws UsageError for an option that needs --rig, or excludes it
void check_rectify_options(const Options& options, const Input& input);

// --truth-none
void add_unknown_option(Options& options, std::string& unknown);
// --truth, --truth-scale and --truth-none.
void add_truth_options(Options& options, TruthFile& truth, const std::string& help);
// \throws UsageError for --truth-scale or --truth-none without --truth
void check_truth(const TruthFile& truth);

void add_unit_option(Options& options, double& unit);

// --video and --fps.
void add_video_options(Options& options, VideoOptions& video);
void check_video(const VideoOptions& video);

// --max-memory, --tile-size and --padding.
void add_tile_options(Options& options, Search& search, TileOptions& tiles);

// Checks the extension of an output that may also be a folder.
// \throws UsageError
void check_extension(const std::string& option, const std::string& path,
                     std::initializer_list<const char*> extensions, const std::string& names);
void check_map_path(const std::string& option, const std::string& path);
void check_image_path(const std::string& path);

// Registers all files of an input.
// \throws Error (file)
void register_inputs(const Input& input, CommandFiles& files);

// The plan of a command that works on one.
struct PlanFile {
  std::string path;
  std::vector<std::string> maps;  // maps of --path-map

  // \throws UsageError, Error (file)
  JobFile open() const { return JobFile(path, parse_path_maps(maps)); }
};

void add_plan_argument(Options& options, PlanFile& plan);
void add_path_map_option(Options& options, PlanFile& plan);

}  // namespace parallax::tool
