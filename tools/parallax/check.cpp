// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>

#include <nlohmann/json.hpp>

#include "tools/parallax/check_report.h"
#include "tools/parallax/check_sequence.h"
#include "tools/parallax/command_files.h"
#include "tools/parallax/frames.h"
#include "tools/parallax/options.h"
#include "tools/parallax/output_files.h"
#include "tools/parallax/repair.h"

namespace parallax::tool {
namespace {

struct CheckRequest {
  MatchRequest pair;  // only its pictures count
  CheckParameters parameters;
  std::string image;
  bool json = false;
  RepairRequest repair;  // if it has an output
};

void add_repair_options(Options& options, RepairRequest& request) {
  options.group("Repair");
  options.add_files("--repair", request.output,
                    "Align the rows by points of the pictures, and write the rig that does it; two files for ROS");
  options.add_files("--rig", request.rig,
                    "Calibration of the two cameras that took the pictures, which are not rectified; without it, a rig is "
                    "guessed");
  options.add("--focal X", request.focal, "Focal length of a guessed rig, in pixels; 0 = 1.2 times the longer side")
      .range(0, 1e6);
}

void settle_repair(const Options& options, CheckRequest& request) {
  RepairRequest& repair = request.repair;
  if (repair.output.empty()) {
    for (const char* other : {"--rig", "--focal"})
      if (options.given(other)) throw UsageError(std::string(other) + " needs --repair: give both");
    return;
  }
  if (!request.image.empty()) throw UsageError("--image and --repair exclude each other: give one of them");
  if (!repair.rig.empty() && options.given("--focal"))
    throw UsageError("--focal is for a rig that is guessed: leave it out with --rig");
  repair.check = request.parameters;
  repair.json = request.json;
  check_repair_request(repair);
}

CheckRequest parse_check(const Arguments& arguments) {
  CheckRequest request;
  CheckParameters& parameters = request.parameters;
  Options options("check",
                  "Say whether a pair is fit to be matched, which range to search, and what is wrong.");
  options
      .add("LEFT", request.pair.left,
           "Left picture; for a sequence: a folder, a pattern such as left_%04d.png, or a video")
      .required();
  options.add("RIGHT", request.pair.right, "Right picture");
  options.add_flag("--side-by-side", request.pair.side_by_side,
                   "LEFT contains both views side by side; leave out RIGHT");
  options.add("--image FILE", request.image, "Picture of the rows off, as dots over the left picture (.png)");
  options.add_flag("--json", request.json, "Report as JSON");
  options
      .add("--max-rows-off X", parameters.max_rows_off,
           "Rows off, in pixels, that are accepted: at 95 % of the points")
      .range(0.01, 100);
  options
      .add("--search-rows X", parameters.search_rows,
           "Rows to search above and below, as a share of the height")
      .range(0.001, 0.5)
      .expert();
  options
      .add("--search-columns X", parameters.search_columns,
           "Largest disparity of either sign, as a share of the width")
      .range(0.01, 1)
      .expert();
  options.add("--threads N", parameters.threads, "Threads; 0 = one per core").range(0, 4096);
  add_repair_options(options, request.repair);
  options.footer("Exit status: 0 = fit to be matched, 1 = not.");
  options.read(arguments);
  if (request.pair.side_by_side != request.pair.right.empty())
    throw UsageError(request.pair.side_by_side ? "--side-by-side takes both views from LEFT: leave out RIGHT"
                                               : "RIGHT is required; see 'parallax check --help'");
  if (!request.image.empty() && !request.image.ends_with(".png"))
    throw UsageError("--image is " + request.image + ": name it .png");
  settle_repair(options, request);
  CommandFiles files;
  for (const std::string& path : request.repair.rig) files.reads(path);
  files.reads(request.pair.left);
  files.reads(request.pair.right);
  files.writes(request.image);
  for (const std::string& path : request.repair.output) files.writes(path);
  return request;
}

// Rows off at the ends of the scale of --image.
double full_scale(const CheckRequest& request, const PairReport& report) {
  return std::max(2 * request.parameters.max_rows_off, std::ceil(2 * report.rows_off_95) / 2);
}

int check_one_pair(const CheckRequest& request) {
  check_output(request.image);
  const PicturePair pictures = read_one_pair(request.pair);
  const PairReport report = check_pair({pictures.left.view(), pictures.right.view()}, request.parameters);
  if (!request.image.empty())
    write_output(request.image, draw_rows_off(pictures.left.view(), report, full_scale(request, report)));
  if (request.json)
    std::cout << check_json(report).dump(2) << "\n";
  else
    std::cout << describe_check(report);
  return report.fit() ? done : failed;
}

}  // namespace

int check_command(const Arguments& arguments) {
  const CheckRequest request = parse_check(arguments);
  const std::unique_ptr<FrameSource> frames = open_sequence(request.pair);
  if (!request.repair.output.empty()) return repair_and_report(request.repair, request.pair, frames.get());
  if (!frames) return check_one_pair(request);
  if (!request.image.empty()) throw UsageError("--image is for a single pair: give two pictures");
  return check_sequence(*frames, request.parameters, request.json);
}

}  // namespace parallax::tool
