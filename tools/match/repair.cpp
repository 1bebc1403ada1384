// SPDX-License-Identifier: Apache-2.0
#include "tools/match/repair.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "tools/command/json.h"
#include "tools/command/output_files.h"
#include "tools/files/calibration.h"
#include "tools/files/picture_rectifier.h"
#include "tools/match/check_report.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t max_frames_for_match = 30;

// A frame of a sequence, or the only pair.
struct Shot {
  std::string name, error;
  PicturePair pictures;
};

class Shots {
 public:
  Shots(const Input& pair, FrameSource* frames) : pair_(pair), frames_(frames) {}

  bool next(Shot& shot) {
    shot = {};
    if (frames_ == nullptr) {
      if (taken_++ > 0) return false;
      shot.name = pair_.left;
      shot.pictures = read_one_pair(pair_);
      return true;
    }
    Frame frame;
    if (!frames_->next(frame)) return false;
    ++taken_;
    shot.name = frame.stem;
    shot.error = frame.error;
    if (shot.error.empty()) {
      try {
        frames_->decode(frame);
        shot.pictures = std::move(frame.pictures);
      } catch (const Error& error) {
        shot.error = error.what();
      }
    }
    const auto all = static_cast<double>(frames_->count());
    show_progress("frame " + frame.stem,
                  all > 0 ? std::optional(static_cast<double>(taken_) / all) : std::nullopt);
    return true;
  }

 private:
  const Input& pair_;
  FrameSource* frames_;
  std::size_t taken_ = 0;
};

// A repair that is made for the first pictures, whose size may be needed for a guess.
class LazyRepairer {
 public:
  using Start = std::function<RigRepairer(const Shot&)>;
  explicit LazyRepairer(Start start) : start_(std::move(start)) {}

  FrameRepair add(const Shot& shot) {
    FrameRepair frame;
    frame.refused = shot.error;
    if (!shot.error.empty()) return frame;
    try {
      if (!repairer_) repairer_.emplace(start_(shot));
      return repairer_->add({shot.pictures.left.view(), shot.pictures.right.view()});
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("no rectangle was seen") != std::string_view::npos)
        throw Error(
            error.category(),
            "the rig cannot be repaired, because no rectangle was seen by both cameras: leave out --repair, "
            "and give --free-centres or --alpha 1");
      // The pictures are files.
      if (error.category() == ErrorCategory::argument)
        throw Error(ErrorCategory::file, shot.name + ": " + error.what());
      throw;
    }
  }
  bool has_converged() const { return repairer_ && repairer_->has_converged(); }
  RigRepair result() const {
    if (repairer_) return repairer_->result();
    RigRepair nothing;
    nothing.sentence = "Not repaired: no picture could be read.";
    return nothing;
  }

 private:
  Start start_;
  std::optional<RigRepairer> repairer_;
};

// The rig to repair, or without one, what is guessed.
struct RepairStart {
  const std::vector<std::string>& files;
  const RigChoices& choices;
  double focal;
  CheckParameters check;

  bool has_rig() const { return !files.empty(); }

  RigRepairer operator()(const Input& input, const Shot& shot, bool keep_left = false) const {
    const Size size = shot.pictures.left.size();
    RepairParameters parameters = has_rig() ? RepairParameters{} : RepairParameters::uncalibrated(size);
    parameters.check = check;
    parameters.keep_left = keep_left;
    return RigRepairer(has_rig() ? read_rig_for(files, choices, shot.pictures, input.left, input.right)
                                 : guessed_rig(size, focal),
                       parameters);
  }
};

std::string line(const std::string& what, const std::string& text) {
  return table_line(what, text, 16);
}

std::string value_text(const RepairedValue& value, int decimals, const std::string& unit) {
  return rounded(value.change, decimals) + unit + " ± " + with_decimals(value.uncertainty, decimals) +
         (value.held ? "" : " (these points do not determine it)");
}

std::string describe_repair(const RigRepair& repair, bool guessed) {
  std::string text = repair.sentence + "\n";
  if (repair.frames == 0) return text;
  text += "\n" + line("rows off", with_decimals(repair.rows_before, 2) + " px before, " +
                                      with_decimals(repair.rows_after, 2) +
                                      " px after, at 95 % of the points; uncertain by " +
                                      with_decimals(repair.uncertainty, 2) + " px at most");
  text += line("right camera", "turned about its axes");
  const char* const axes[] = {"  right", "  down", "  forward"};
  for (std::size_t i = 0; i < 3; ++i) text += line(axes[i], value_text(repair.rotation[i], 4, "°"));
  text += line("baseline", "turned");
  text += line("  down", value_text(repair.down, 4, "°"));
  text += line("  forward", value_text(repair.forward, 4, "°"));
  text +=
      line("focal lengths", "right over left changed by " +
                                value_text({100 * repair.focal_ratio.change,
                                            100 * repair.focal_ratio.uncertainty, repair.focal_ratio.held},
                                           4, " %"));
  text += line("principal row", "of the right camera moved by " + value_text(repair.principal_row, 2, " px"));
  if (guessed)
    text += "\nThe focal length is a guess and the baseline is 1: rows line up, but depth has no scale.\n";
  return text;
}

ordered_json value_json(const RepairedValue& value) {
  return {{"change", value.change}, {"uncertainty", value.uncertainty}, {"held", value.held}};
}

std::string frame_line(const Shot& shot, const FrameRepair& frame) {
  std::string text = shot.name + "  ";
  if (frame.points == 0 || (!frame.refused.empty() && frame.agrees)) return text + frame.refused + "\n";
  text +=
      std::to_string(frame.points) + " points, rows off 95 % " + with_decimals(frame.rows_off, 2) + " px, ";
  if (!frame.agrees)
    return text + "differs from the frames before by " + with_decimals(frame.disagreement, 2) + " px\n";
  return text + "moved rows by " + with_decimals(frame.moved, 2) + " px, uncertain by " +
         with_decimals(frame.uncertainty, 2) + " px\n";
}

ordered_json frame_json(const Shot& shot, const FrameRepair& frame) {
  ordered_json json{{"frame", shot.name}, {"points", frame.points}};
  if (!frame.refused.empty()) json["refused"] = frame.refused;
  json["rows_off_95"] = frame.rows_off;
  json["moved"] = frame.moved;
  json["uncertainty"] = std::isfinite(frame.uncertainty) ? ordered_json(frame.uncertainty) : ordered_json();
  json["agrees"] = frame.agrees;
  json["disagreement"] = frame.disagreement;
  return json;
}

}  // namespace

ordered_json repair_json(const RigRepair& repair) {
  ordered_json drifts = ordered_json::array();
  for (const Drift& drift : repair.drifts) drifts.push_back({{"frame", drift.frame}, {"rows", drift.rows}});
  return {
      {"verdict", name(repair.verdict)},
      {"repaired", repair.repaired()},
      {"sentence", repair.sentence},
      {"frames", repair.frames},
      {"points", repair.points},
      {"rows_off_95", {{"before", repair.rows_before}, {"after", repair.rows_after}}},
      {"uncertainty", std::isfinite(repair.uncertainty) ? ordered_json(repair.uncertainty) : ordered_json()},
      {"rotation",
       {{"right", value_json(repair.rotation[0])},
        {"down", value_json(repair.rotation[1])},
        {"forward", value_json(repair.rotation[2])}}},
      {"baseline", {{"down", value_json(repair.down)}, {"forward", value_json(repair.forward)}}},
      {"focal_ratio", value_json(repair.focal_ratio)},
      {"principal_row", value_json(repair.principal_row)},
      {"distortion", value_json(repair.distortion)},
      {"converged", repair.converged < 0 ? ordered_json() : ordered_json(repair.converged)},
      {"drifts", drifts}};
}

void check_repair_request(const RepairRequest& request) {
  format_of_outputs(request.output);
  for (const std::string& path : request.output) check_output(path);
}

int repair_and_report(const RepairRequest& request, const Input& pair, FrameSource* frames) {
  const RepairStart start{request.rig, request.choices, request.focal, request.check};
  LazyRepairer repairer([&](const Shot& shot) { return start(pair, shot); });
  Shots shots(pair, frames);
  std::string lines;
  ordered_json list = ordered_json::array();
  for (Shot shot; shots.next(shot);) {
    const FrameRepair frame = repairer.add(shot);
    if (frames == nullptr) continue;
    lines += frame_line(shot, frame);
    list.push_back(frame_json(shot, frame));
  }
  show_progress("");
  const RigRepair repair = repairer.result();
  if (repair.repaired()) write_rig(repair.rig, format_of_outputs(request.output), request.output);
  if (request.json) {
    ordered_json json = repair_json(repair);
    json["guessed"] = !start.has_rig();
    if (frames != nullptr) json["list"] = list;
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << describe_repair(repair, !start.has_rig()) << (lines.empty() ? "" : "\n" + lines);
  }
  return repair.repaired() ? done : failed;
}

namespace {

// Without a rig, the left picture is kept if moving the right one is nearly as good as moving both: then the
// map is in the frame of the left picture as it is, and a calibration still holds.
RepairedPair repair_for_match(const Input& input, int threads, FrameSource* frames) {
  constexpr double nearly = 1.5;
  const CheckParameters check{.threads = threads};
  const double focal =
      input.calibration.empty() ? 0 : read_calibration(input.calibration, input.choices).focal;
  const RepairStart start{input.rig, input.choices, focal, check};
  const bool rig = start.has_rig();
  LazyRepairer of_both([&](const Shot&shot) { return start(input, shot); }),
      of_right([&](const Shot&shot) { return start(input, shot, true); });
  Shots shots(input, frames);
  std::size_t count = 0;
  for (Shot shot; count < max_frames_for_match && shots.next(shot); ++count) {
    if (!shot.error.empty() && frames == nullptr) throw Error(ErrorCategory::file, shot.error);
    of_both.add(shot);
    if (!rig) of_right.add(shot);
    if (of_both.has_converged() && (rig || of_right.has_converged())) break;
  }
  show_progress("");
  const RigRepair both = of_both.result(), right = rig ? RigRepair{} : of_right.result();
  const double enough = std::max(check.max_rows_off, both.repaired() ? nearly * both.rows_after : 1e9);
  if (right.repaired() && right.rows_after <= enough) return {right, keep_left(right.rig), true};
  if (!both.repaired()) throw Error(ErrorCategory::file, both.sentence);
  if (!input.calibration.empty())
    throw Error(ErrorCategory::file,
                join(input.calibration, " and ") +
                    " does not hold once both pictures are moved, which they need: give --rig, or "
                    "leave it out");
  return {both, {both.rig, rectify_as_asked(both.rig, input.rectify)}, false};
}

}  // namespace

void repair(MatchRequest& request, FrameSource* frames) {
  const RepairedPair& repaired =
      request.repaired.emplace(repair_for_match(request.input, request.search.threads, frames));
  std::string text = repaired.report.sentence;
  if (request.input.rig.empty())
    text += repaired.left_kept ? " The left picture stays as it is." : " Both pictures were moved.";
  write_message(text + "\n");
}

}  // namespace parallax::tool
