// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/check_sequence.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tools/command/json.h"
#include "tools/match/check_report.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

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
  // The calibration is that of rectified frames, or null.
  explicit SequenceReport(const Calibration* calibration) : calibration_(calibration) {}

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
      text += "\n" + table_line("search", range_options(range)) + depth_lines(calibration_, range);
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
        entry.update(check_json(frame.report, calibration_, frame.dense));
      frames.push_back(entry);
    }
    ordered_json report = {
        {"fit", fit()},
        {"sentence", sentence()},
        {"steady", is_steady()},
        {"rows_off_change", change()},
        {"disparities", {{"min_disparity", range.min_disparity}, {"disparities", range.disparities}}},
        {"frames", frames}};
    add_depths(calibration_, range, report);
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
      common.disparities = (end - first + 15) / 16 * 16;
    }
    return common;
  }

  const Calibration* calibration_;
  std::vector<CheckedFrame> frames_;
};

CheckedFrame check_frame(const FrameSource& source, Frame& frame, MatchPlan& plan,
                         const CheckParameters& parameters, const DenseRequest& dense) {
  CheckedFrame checked{frame.stem, {}, {}, frame.error};
  if (!checked.error.empty()) return checked;
  try {
    source.decode(frame);
    const PicturePair pictures = plan.rectified(std::move(frame.pictures), frame.left, frame.right);
    const StereoPair pair = plan.pair(pictures);
    checked.report = check_pair(pair, parameters);
    if (dense.wanted) checked.dense = check_densely(pair, checked.report, dense, parameters.threads);
  } catch (const Error& error) {
    checked.error = error.what();
  }
  return checked;
}

}  // namespace

int check_sequence(FrameSource& source, MatchPlan& plan, const CheckParameters& parameters,
                   const DenseRequest& dense, bool json) {
  SequenceReport report(plan.rectified_calibration());
  const auto all = static_cast<double>(source.count());
  double checked = 0;
  for (Frame frame; source.next(frame); frame = {}) {
    report.add(check_frame(source, frame, plan, parameters, dense));
    ++checked;
    show_progress("frame " + frame.stem, all > 0 ? std::optional(checked / all) : std::nullopt);
  }
  show_progress("");
  if (json)
    std::cout << report.json().dump(2) << "\n";
  else
    std::cout << report.text();
  return report.fit() && report.is_complete() ? done : failed;
}

}  // namespace parallax::tool
