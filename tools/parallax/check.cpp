// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"
#include "tools/match/check_report.h"
#include "tools/match/match_plan.h"
#include "tools/match/repair.h"
#include "tools/parallax/check_sequence.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

struct CheckRequest {
  Input pair;
  CheckParameters parameters;
  std::string image;
  bool json = false;
  RepairRequest repair;  // if it has an output
  DenseRequest dense;
};

void add_repair_options(Options& options, RepairRequest& request) {
  options.group("Repair");
  options.add_files(
      "--repair", request.output,
      "Align the rows by points of the pictures, and write the rig that does it; two files for ROS");
  options
      .add("--focal X", request.focal,
           "Focal length of a guessed rig, in pixels; 0 = 1.2 times the longer side")
      .range(0, 1e6);
}

void settle_repair(const Options& options, CheckRequest& request) {
  RepairRequest& repair = request.repair;
  if (repair.output.empty()) {
    if (options.given("--focal")) throw UsageError("--focal needs --repair: give both");
    return;
  }
  if (!request.image.empty()) throw UsageError("--image and --repair exclude each other: give one of them");
  if (request.dense.wanted) throw UsageError("--dense and --repair exclude each other: give one of them");
  for (const char* other : {"--alpha", "--zoom"})
    if (options.given(other))
      throw UsageError(std::string(other) +
                       " is for the check of a rectified pair: leave it out with --repair");
  repair.rig = request.pair.rig;
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
  options.add("--image FILE", request.image,
              "Picture of how far rows are off, as dots over the left picture (.png)");
  options.add_flag("--json", request.json, "Report as JSON");
  options
      .add("--max-rows-off X", parameters.max_rows_off,
           "Largest rows off, in pixels, that are accepted at 95 % of the points")
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
  add_rectify_options(options, request.pair);
  add_dense_options(options, request.dense);
  add_repair_options(options, request.repair);
  options.footer("Exit status: 0 = fit to be matched, 1 = not.");
  options.read(arguments);
  check_rectify_options(options, request.pair);
  if (request.pair.side_by_side != request.pair.right.empty())
    throw UsageError(request.pair.side_by_side ? "--side-by-side takes both views from LEFT: leave out RIGHT"
                                               : "RIGHT is required; see 'parallax check --help'");
  if (!request.image.empty() && !request.image.ends_with(".png"))
    throw UsageError("--image is " + request.image + ": name it .png");
  settle_dense_options(options, request.dense);
  settle_repair(options, request);
  CommandFiles files;
  files.reads(request.pair.left);
  files.reads(request.pair.right);
  for (const std::string& path : request.pair.rig) files.reads(path);
  files.writes(request.image);
  for (const std::string& path : request.repair.output) files.writes(path);
  return request;
}

// Rows off at the ends of the scale of --image.
double full_scale(const CheckRequest& request, const PairReport& report,
                  const std::optional<DenseCheck>& dense) {
  const double most = std::max(report.rows_off_95, dense ? dense->rows.rows_off_95 : 0);
  return std::max(2 * request.parameters.max_rows_off, std::ceil(2 * most) / 2);
}

// Rectifies what is checked.
MatchPlan plan_of(const CheckRequest& request) {
  Search search;
  search.device = "cpu";
  search.threads = request.parameters.threads;
  return MatchPlan({request.pair, search, {}});
}

int check_one_pair(const CheckRequest& request) {
  check_output(request.image);
  MatchPlan plan = plan_of(request);
  const PicturePair pictures =
      plan.rectified(read_one_pair(request.pair), request.pair.left, request.pair.right);
  const StereoPair pair = plan.pair(pictures);
  const PairReport report = check_pair(pair, request.parameters);
  std::optional<DenseCheck> dense;
  if (request.dense.wanted) dense = check_densely(pair, report, request.dense, request.parameters.threads);
  if (!request.image.empty())
    write_output(request.image,
                 draw_rows_off(pictures.left.view(), report, full_scale(request, report, dense), dense));
  if (request.json)
    std::cout << check_json(report, plan.rectified_calibration(), dense).dump(2) << "\n";
  else
    std::cout << describe_check(report, plan.rectified_calibration(), dense);
  return report.fit() && (!dense || dense->has_rows()) ? done : failed;
}

}  // namespace

int check_command(const Arguments& arguments) {
  const CheckRequest request = parse_check(arguments);
  const std::unique_ptr<FrameSource> frames = open_sequence(request.pair);
  if (!request.repair.output.empty()) return repair_and_report(request.repair, request.pair, frames.get());
  if (!frames) return check_one_pair(request);
  if (!request.image.empty()) throw UsageError("--image is for a single pair: give two pictures");
  MatchPlan plan = plan_of(request);
  return check_sequence(*frames, plan, request.parameters, request.dense, request.json);
}

}  // namespace parallax::tool
