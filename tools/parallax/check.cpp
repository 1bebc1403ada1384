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
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

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
  if (repair.output.empty()) return options.refuse({"--focal"}, " needs --repair: give both");
  if (!request.image.empty()) throw UsageError("--image and --repair exclude each other: give one of them");
  if (request.dense.wanted) throw UsageError("--dense and --repair exclude each other: give one of them");
  options.refuse({"--alpha", "--zoom", "--output-size", "--free-centres", "--interpolation"},
                 " is for the check of a rectified pair: leave it out with --repair");
  repair.rig = request.pair.rig;
  repair.choices = request.pair.choices;
  if (!repair.rig.empty())
    options.refuse({"--focal"}, " is for a rig that is guessed: leave it out with --rig");
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
  add_layout_options(options, request.pair);
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
  add_value_options(options, request.pair.pictures);
  add_dense_options(options, request.dense);
  add_repair_options(options, request.repair);
  options.footer("Exit status: 0 = fit to be matched, 1 = not.");
  options.read(arguments);
  check_rectify_options(options, request.pair);
  settle_layout(request.pair);
  check_views(request.pair, "check");
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

MatchPlan plan_of(const CheckRequest& request) {
  Search search;
  search.device = "cpu";
  search.threads = request.parameters.threads;
  return MatchPlan({request.pair, search, {}});
}

PairReport report_of(const PicturePair& pictures, const StereoPair& pair, const CheckRequest& request) {
  PairReport report = check_pair(pair, request.parameters);
  // Rectified pixels are means of their neighbours.
  if (request.pair.rig.empty() && looks_like_mosaic(pictures.left) && looks_like_mosaic(pictures.right))
    report.remarks.push_back(
        "The pictures look like raw mosaics of a colour sensor: give --bayer rggb, or grbg, "
        "gbrg or bggr, as the camera's data sheet says.");
  return report;
}

int check_one_pair(const CheckRequest& request) {
  check_output(request.image);
  MatchPlan plan = plan_of(request);
  const PicturePair pictures =
      plan.rectified(read_one_pair(request.pair), request.pair.left, request.pair.right);
  const StereoPair pair = plan.pair(pictures);
  const PairReport report = report_of(pictures, pair, request);
  std::optional<DenseCheck> dense;
  if (request.dense.wanted) dense = check_densely(pair, report, request.dense, request.parameters.threads);
  if (!request.image.empty())
    write_output(request.image,
                 draw_rows_off(pictures.left.view(), report, full_scale(request, report, dense), dense));
  if (request.json)
    std::cout << check_json(report, plan.rectified_calibration(), dense).dump(2) << "\n";
  else
    std::cout << describe_check(report, plan.rectified_calibration(), dense);
  return (report.fit() || report.will_be_aligned) && (!dense || dense->has_rows()) ? done : failed;
}

// Rows of synchronous cameras on a rigid rig stay where they are, but for noise. In pixels.
constexpr double steady = 0.25;

struct CheckedFrame {
  std::string name;
  PairReport report;                // without its points
  std::optional<DenseCheck> dense;  // without its map
  std::string error;                // why the frame was not checked
};

class SequenceReport {
 public:
  explicit SequenceReport(const MatchPlan& plan) : plan_(plan) {}

  void add(CheckedFrame frame) {
    frame.report.points.clear();
    if (frame.dense) frame.dense->row_offset = {};
    frames_.push_back(std::move(frame));
  }

  bool fit() const { return count(Verdict::fit) == frames_.size() && is_steady(); }
  // Whether every dense match that was wanted was made.
  bool is_complete() const {
    return std::all_of(frames_.begin(), frames_.end(),
                       [](const CheckedFrame& frame) { return !frame.dense || frame.dense->has_rows(); });
  }

  std::string text() const {
    std::string text = sentence() + "\n" + dense_sentence() + "\n";
    for (const CheckedFrame& frame : frames_) text += line_of(frame) + "\n";
    if (const DisparityRange range = common_range(); range.disparities > 0)
      text += "\n" + table_line("search", range_options(range)) +
              depth_lines(plan_.rectified_calibration(), range);
    return text;
  }

  ordered_json json() const {
    const DisparityRange range = common_range();
    ordered_json frames = ordered_json::array();
    for (const CheckedFrame& frame : frames_) {
      ordered_json entry{{"frame", frame.name}};
      if (!frame.error.empty())
        entry["error"] = frame.error;
      else
        entry.update(check_json(frame.report, plan_.rectified_calibration(), frame.dense));
      frames.push_back(entry);
    }
    ordered_json report = {
        {"fit", fit()},
        {"sentence", sentence()},
        {"steady", is_steady()},
        {"rows_off_change", change()},
        {"disparities", {{"min_disparity", range.min_disparity}, {"disparities", range.disparities}}},
        {"frames", frames}};
    add_depths(plan_.rectified_calibration(), range, report);
    return report;
  }

 private:
  static bool has_rows(const CheckedFrame& frame) {
    return frame.error.empty() &&
           (frame.report.verdict == Verdict::fit || frame.report.verdict == Verdict::rows_off);
  }

  std::size_t count(Verdict verdict) const {
    return static_cast<std::size_t>(std::count_if(
        frames_.begin(), frames_.end(),
        [&](const CheckedFrame& frame) { return frame.error.empty() && frame.report.verdict == verdict; }));
  }

  // The range of the shifts, without the twentieth that differs most. In pixels.
  double change() const {
    std::vector<double> shifts;
    for (const CheckedFrame& frame : frames_)
      if (has_rows(frame)) shifts.push_back(frame.report.model.shift.value);
    if (shifts.empty()) return 0;
    const double middle = median(shifts);
    for (double& shift : shifts) shift = std::abs(shift - middle);
    std::sort(shifts.begin(), shifts.end());
    return 2 * shifts[static_cast<std::size_t>(0.95 * static_cast<double>(shifts.size() - 1) + 0.5)];
  }
  bool is_steady() const { return change() <= steady; }

  std::string sentence() const {
    const std::string all = std::to_string(frames_.size());
    std::string text = count(Verdict::fit) == frames_.size() ? "All " + all + " frames are fit to be matched"
                                                             : std::to_string(count(Verdict::fit)) + " of " +
                                                                   all + " frames are fit to be matched";
    if (is_steady()) return text + "; their rows do not move.";
    return text + ", but the rows move by " + with_decimals(change(), 2) +
           " px from frame to frame: synchronise the cameras, and fix them to each other.";
  }

  std::string dense_sentence() const {
    std::size_t wanted = 0, agree = 0;
    for (const CheckedFrame& frame : frames_) {
      wanted += frame.dense.has_value();
      agree += frame.dense && frame.dense->agrees();
    }
    if (wanted == 0) return "";
    return "A dense match agrees with the corners in " + std::to_string(agree) + " of " +
           std::to_string(wanted) + " frames.\n";
  }

  static std::string line_of(const CheckedFrame& frame) {
    if (!frame.error.empty()) return frame.name + "  " + frame.error;
    return frame.name + "  " + name(frame.report.verdict) + rows_of(frame) + dense_of(frame);
  }

  static std::string rows_of(const CheckedFrame& frame) {
    if (!has_rows(frame)) return "";
    const PairReport& report = frame.report;
    return ", rows off median " + with_decimals(report.rows_off, 2) + " px, 95 % " +
           with_decimals(report.rows_off_95, 2) + " px, shift " + with_decimals(report.model.shift.value, 2) +
           " px, disparities " + with_decimals(report.range.lowest, 1) + " to " +
           with_decimals(report.range.highest, 1);
  }

  static std::string dense_of(const CheckedFrame& frame) {
    if (!frame.dense) return "";
    if (!frame.dense->has_rows()) return "; " + frame.dense->sentence();
    const RowOffsetSummary& rows = frame.dense->rows;
    return "; dense match: median " + with_decimals(rows.rows_off, 2) + " px, 95 % " +
           with_decimals(rows.rows_off_95, 2) + " px, shift " + with_decimals(rows.shift, 2) + " px" +
           (!frame.dense->is_compared() ? ""
            : frame.dense->agrees()     ? ", agrees"
                                        : ", does not agree");
  }

  DisparityRange common_range() const {
    DisparityRange common;
    for (const CheckedFrame& frame : frames_) {
      const DisparityRange& range = frame.report.range;
      if (!has_rows(frame) || range.disparities == 0) continue;
      if (common.disparities == 0) {
        common = range;
        continue;
      }
      const int first = std::min(common.min_disparity, range.min_disparity);
      const int end =
          std::max(common.min_disparity + common.disparities, range.min_disparity + range.disparities);
      common.lowest = std::min(common.lowest, range.lowest);
      common.highest = std::max(common.highest, range.highest);
      common.min_disparity = first;
      common.disparities = (end - first + 7) / 8 * 8;
    }
    return common;
  }

  const MatchPlan& plan_;
  std::vector<CheckedFrame> frames_;
};

CheckedFrame check_frame(const FrameSource& source, Frame& frame, MatchPlan& plan,
                         const CheckRequest& request) {
  CheckedFrame checked{frame.stem, {}, {}, frame.error};
  if (!checked.error.empty()) return checked;
  try {
    source.decode(frame);
    const PicturePair pictures = plan.rectified(std::move(frame.pictures), frame.left, frame.right);
    const StereoPair pair = plan.pair(pictures);
    checked.report = report_of(pictures, pair, request);
    if (request.dense.wanted)
      checked.dense = check_densely(pair, checked.report, request.dense, request.parameters.threads);
  } catch (const Error& error) {
    checked.error = error.what();
  }
  return checked;
}

// Prints the verdicts and the common range of disparities; returns the exit status.
int check_sequence(FrameSource& source, const CheckRequest& request) {
  MatchPlan plan = plan_of(request);
  SequenceReport report(plan);
  const auto all = static_cast<double>(source.count());
  double checked = 0;
  for (Frame frame; source.next(frame); frame = {}) {
    report.add(check_frame(source, frame, plan, request));
    ++checked;
    show_progress("frame " + frame.stem, all > 0 ? std::optional(checked / all) : std::nullopt);
  }
  show_progress("");
  if (request.json)
    std::cout << report.json().dump(2) << "\n";
  else
    std::cout << report.text();
  return report.fit() && report.is_complete() ? done : failed;
}

}  // namespace

int check_command(const Arguments& arguments) {
  const CheckRequest request = parse_check(arguments);
  const std::unique_ptr<FrameSource> frames = open_sequence(request.pair);
  if (!request.repair.output.empty()) return repair_and_report(request.repair, request.pair, frames.get());
  if (!frames) return check_one_pair(request);
  if (!request.image.empty()) throw UsageError("--image is for a single pair: give two pictures");
  return check_sequence(*frames, request);
}

}  // namespace parallax::tool
