// SPDX-License-Identifier: Apache-2.0
// The report in plain English.
#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "core/checks.h"

namespace parallax::check {
namespace {

// A remark is written beyond these limits, which all matchers tolerate.
constexpr double exposure_step = 0.1;    // change of the gain
constexpr double exposure_offset = 12;   // gray levels of 255
constexpr double colour_step = 0.08;     // change of a channel's gain relative to gray
constexpr double sharpness_step = 1.35;  // ratio
constexpr double texture_points = 150;   // per picture

std::string side_text(Side side) {
  return side == Side::neither ? "One picture" : std::string("The ") + name(side) + " picture";
}

std::string rows_text(const PairReport& report) {
  return "median " + with_decimals(report.rows_off, 2) + " px, 95 % " + with_decimals(report.rows_off_95, 2) +
         " px, " + std::to_string(report.rows_points) + " points";
}

// The part of the model that moves rows most, if the model explains the row differences.
std::string main_cause(const PairReport& report) {
  const RowModel& model = report.model;
  double u = 0, v = 0, w = 0, r = 0;
  for (const CheckedPoint& point : report.points) {
    const double x = std::abs(point.right_x - model.centre_x) / model.half_width;
    const double y = std::abs(point.left_y - model.centre_y) / model.half_width;
    u = std::max(u, x);
    v = std::max(v, y);
    r = std::max(r, y * (x * x + y * y));
    w = std::max(w, std::abs(point.disparity() - model.centre_disparity) / model.half_width);
  }
  const auto degrees = [](double angle) { return with_decimals(angle, 3) + "°"; };
  const std::pair<double, std::string> causes[] = {
      {model.shift.value, "the right picture is shifted by " + with_decimals(model.shift.value, 2) + " px"},
      {model.rotation.value * u, "the right picture is rotated by " + degrees(model.rotation_degrees())},
      {model.scale.value * v,
       "the right picture is " + with_decimals(model.scale_ratio(), 5) + " times as large"},
      {model.yaw.value * u * v, "the cameras are turned sideways against each other"},
      {model.pitch.value * v * v, "the cameras are turned up or down against each other"},
      {model.shear.value * w, "the baseline is at " + degrees(model.shear_degrees()) + " to the rows"},
      {model.forward.value * v * w, "one camera stands before the other"},
      {model.distortion.value * r, "lens distortion is left over"}};
  // Most unexplained differences are noise of the points, unless they exceed the explained ones.
  if (model.residual_95 > report.rows_off_model) return "they differ from place to place";
  const auto larger = [](const auto& a, const auto& b) { return std::abs(a.first) < std::abs(b.first); };
  return std::max_element(std::begin(causes), std::end(causes), larger)->second;
}

std::string sentence_of(const PairReport& report, const CheckParameters& parameters) {
  const std::string picture = side_text(report.side);
  switch (report.verdict) {
    case Verdict::fit:
      return "The pair is fit to be matched: its rows line up (" + rows_text(report) + ").";
    case Verdict::rows_off:
      return "The rows of the pair do not line up (" + rows_text(report) + "), above all because " +
             main_cause(report) +
             (report.will_be_aligned ? ": match aligns them by itself, to 95 % within " +
                                           with_decimals(report.rows_off_aligned, 2) + " px (--rows auto)."
                                     : ", and match cannot align them: rectify it with a new calibration.");
    case Verdict::exchanged:
      return "Left and right are exchanged, as most disparities are negative: give the right picture first. "
             "(Both "
             "pictures mirrored or upside down look the same.)";
    case Verdict::mirrored:
      return picture + " is mirrored left to right: mirror it back.";
    case Verdict::upside_down:
      return "One picture is mirrored top to bottom: mirror it back.";
    case Verdict::turned:
      return picture + " is turned by 180°: turn it back.";
    case Verdict::identical:
      return "Both pictures are the same, or taken from one place: give pictures of two cameras.";
    case Verdict::too_little_texture:
      return (report.side == Side::neither ? std::string("Both pictures have") : picture + " has") +
             " too little texture (" + std::to_string(report.left_corners) + " and " +
             std::to_string(report.right_corners) + " corners): light the scene, focus, or add a pattern.";
    case Verdict::unrelated:
      break;
  }
  return "The pictures do not show one scene, share less than half of their width, repeat a pattern, or have "
         "rows more than " +
         with_decimals(100 * wider_search_rows(parameters), 1) + " % of the height apart (" +
         std::to_string(report.matched) + " of " + std::to_string(report.left_corners) +
         " corners match, and these do not agree): give two pictures taken at once, side by side; "
         "disparities "
         "above half the width are matched, but not checked.";
}

void remark_on_light(PairReport& report) {
  const Exposure& e = report.exposure;
  const double middle = e.gain * 128 + e.offset;
  if (std::abs(e.gain - 1) > exposure_step || std::abs(middle - 128) > exposure_offset)
    report.remarks.push_back("Exposures differ: right = " + with_decimals(e.gain, 2) + " · left " +
                             (e.offset < 0 ? "− " : "+ ") + with_decimals(std::abs(e.offset), 1) +
                             ". Use a census cost, or equal exposures.");
  double most = 0;
  for (const Exposure& channel : report.colour)
    most = std::max(most, std::abs(channel.gain * 128 + channel.offset - middle) / std::max(1.0, middle));
  if (most > colour_step)
    report.remarks.push_back(
        "Colours differ: gains of red, green and blue are " + with_decimals(report.colour[0].gain, 2) + ", " +
        with_decimals(report.colour[1].gain, 2) + " and " + with_decimals(report.colour[2].gain, 2) +
        ". Set both cameras to one white balance.");
}

void remark_on_sharpness(PairReport& report) {
  if (report.sharpness < 1 / sharpness_step || report.sharpness > sharpness_step)
    report.remarks.push_back(std::string("The ") + (report.sharpness < 1 ? "right" : "left") +
                             " picture is blurred (fine detail of the right one is " +
                             with_decimals(report.sharpness, 2) + " times that of the left one): focus it.");
}

std::string sentence_of(const DisparityRange& range) {
  if (range.disparities == 0) return "";
  const std::string seen = with_decimals(100 * range.seen, 0) + " % of the picture";
  return range.sure ? "The range of disparities is sure: " + seen + " shows it."
                    : "The range of disparities is not sure: only " + seen +
                          " shows it, so nearer or farther things may lie outside.";
}

}  // namespace

void write_sentences(const CheckParameters& parameters, PairReport& report) {
  report.sentence = sentence_of(report, parameters);
  if (report.has_range()) report.range.sentence = sentence_of(report.range);
  if (report.points.empty()) return;
  if (report.verdict != Verdict::rows_off && report.rows_off_95 > parameters.max_rows_off)
    report.remarks.push_back("Besides, the rows do not line up (" + rows_text(report) +
                             "), above all because " + main_cause(report) + ".");
  remark_on_light(report);
  remark_on_sharpness(report);
  if (static_cast<double>(report.points.size()) < texture_points)
    report.remarks.push_back("Only " + std::to_string(report.points.size()) +
                             " points agree: large parts may have too little texture to be matched.");
}

}  // namespace parallax::check
