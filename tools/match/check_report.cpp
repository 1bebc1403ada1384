// SPDX-License-Identifier: Apache-2.0
#include "tools/match/check_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/command/command.h"
#include "tools/command/json.h"

namespace parallax::tool {
namespace {

using nlohmann::ordered_json;

struct Coefficient {
  const char* name;
  Estimate RowModel::*estimate;
};
constexpr Coefficient coefficients[] = {
    {"shift", &RowModel::shift},     {"rotation", &RowModel::rotation},    {"scale", &RowModel::scale},
    {"yaw", &RowModel::yaw},         {"pitch", &RowModel::pitch},          {"shear", &RowModel::shear},
    {"forward", &RowModel::forward}, {"distortion", &RowModel::distortion}};

std::string pixels(double value, int decimals = 2) {
  return rounded(value, decimals) + " px";
}

std::string rows_lines(const PairReport& report) {
  return table_line("rows off", "median " + pixels(report.rows_off) + ", 95 % " + pixels(report.rows_off_95) +
                                    " (" + std::to_string(report.rows_points) +
                                    " points), by the model 95 % " + pixels(report.rows_off_model));
}

std::string model_lines(const RowModel& model) {
  std::string text;
  for (const Coefficient& coefficient : coefficients) {
    const Estimate& estimate = model.*coefficient.estimate;
    std::string value = pixels(estimate.value) + " ± " + with_decimals(estimate.uncertainty, 2);
    if (coefficient.estimate == &RowModel::rotation)
      value += ", " + rounded(model.rotation_degrees(), 3) + "°";
    if (coefficient.estimate == &RowModel::scale) value += ", ratio " + with_decimals(model.scale_ratio(), 5);
    if (coefficient.estimate == &RowModel::shear) value += ", " + rounded(model.shear_degrees(), 3) + "°";
    if (!estimate.held) value += " (these points do not determine it)";
    text += table_line(std::string("  ") + coefficient.name, value);
  }
  return table_line("model", "of the row differences; pixels at the edge of the picture") + text +
         table_line("  residual", "median " + pixels(model.residual) + ", 95 % " + pixels(model.residual_95));
}

std::string histogram_bars(const DisparityRange& range) {
  const int most = *std::max_element(range.histogram.begin(), range.histogram.end());
  const char* const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const int count : range.histogram) text += bars[count == 0 ? 0 : 1 + 7 * count / most];
  return text;
}

std::string range_lines(const DisparityRange& range) {
  if (range.disparities == 0) return "";
  const double end =
      range.histogram_start + range.histogram_step * static_cast<double>(range.histogram.size());
  std::string quantiles;
  for (const double value : range.quantiles)
    quantiles += (quantiles.empty() ? "" : ", ") + with_decimals(value, 1);
  const std::string search = table_line("search", range_options(range)) +
                             (range.sentence.empty() ? "" : table_line("", range.sentence));
  if (range.points < 3) return search;
  return table_line("disparities", with_decimals(range.lowest, 1) + " to " + pixels(range.highest, 1) + " (" +
                                       std::to_string(range.points) +
                                       " points); 1, 5, 50, 95, 99 %: " + quantiles) +
         table_line("", with_decimals(range.histogram_start, 0) + " [" + histogram_bars(range) + "] " +
                            with_decimals(end, 0)) +
         search;
}

// In the unit of the baseline; infinite for points at infinity and beyond.
double depth_at(const Calibration& calibration, double disparity) {
  const double shift = disparity + calibration.doffs;
  return shift > 0 ? calibration.baseline * calibration.focal / shift
                   : std::numeric_limits<double>::infinity();
}

bool is_in_metres(const Calibration& calibration) {
  return calibration.metres_per_unit == 1;
}

// With three digits.
std::string length_text(double length) {
  if (!std::isfinite(length)) return "infinity";
  return with_decimals(length, length >= 100 ? 0 : length >= 10 ? 1 : length >= 1 ? 2 : 3);
}

std::string appearance_lines(const PairReport& report) {
  std::string gains;
  for (const Exposure& channel : report.colour)
    gains += (gains.empty() ? "" : ", ") + with_decimals(channel.gain, 2);
  return table_line("exposure", "right = " + with_decimals(report.exposure.gain, 2) + " · left " +
                                    (report.exposure.offset < 0 ? "− " : "+ ") +
                                    with_decimals(std::abs(report.exposure.offset), 1) +
                                    "; gains of R, G, B " + gains) +
         table_line("sharpness", with_decimals(report.sharpness, 2) + " (right over left)");
}

std::string dense_lines(const DenseCheck& dense) {
  if (!dense.has_rows()) return "";
  const RowOffsetSummary& rows = dense.rows;
  const std::string tolerance = get_parameter(dense.parameters, "row_tolerance");
  DisparityRange range;
  range.min_disparity = dense.parameters.min_disparity();
  range.disparities = dense.parameters.disparities();
  const std::string text =
      table_line("dense match", method_name(dense.parameters) + " on " + dense.device + ", --row-tolerance " +
                                    tolerance + " " + range_options(range)) +
      table_line("  rows off", "median " + pixels(rows.rows_off) + ", 95 % " + pixels(rows.rows_off_95) +
                                   " (" + std::to_string(rows.pixels) +
                                   " pixels); 5, 50, 95 %: " + rounded(rows.percentile_5, 2) + ", " +
                                   rounded(rows.median, 2) + ", " + pixels(rows.percentile_95)) +
      table_line("  model", "shift " + pixels(rows.shift) + ", rotation " + pixels(rows.rotation) +
                                ", scale " + pixels(rows.scale));
  if (!dense.is_compared()) return text;
  return text + table_line("  difference", "from the model of the corners: median " +
                                               pixels(dense.difference.rows_off) + ", 95 % " +
                                               pixels(dense.difference.rows_off_95));
}

}  // namespace

std::string table_line(const std::string& what, const std::string& text, std::size_t column) {
  return what + std::string(what.size() < column ? column - what.size() : 1, ' ') + text + "\n";
}

std::string range_options(const DisparityRange& range) {
  return "--min-disparity " + std::to_string(range.min_disparity) + " --disparities " +
         std::to_string(range.disparities);
}

std::string depth_lines(const Calibration* calibration, const DisparityRange& range) {
  if (calibration == nullptr) return "";
  const char* const unit = is_in_metres(*calibration) ? " m" : " in the unit of the rig";
  const auto depth = [&](double disparity) { return length_text(depth_at(*calibration, disparity)); };
  const std::string rectified =
      table_line("rectified", "by the rig: focal length " + pixels(calibration->focal, 1) + ", baseline " +
                                  length_text(calibration->baseline) + unit);
  if (range.disparities == 0 || range.highest + calibration->doffs <= 0) return rectified;
  return rectified +
         table_line("depth", depth(range.highest) + " to " + depth(range.lowest) + unit +
                                 "; the search covers " + depth(range.min_disparity + range.disparities - 1) +
                                 " to " + depth(range.min_disparity));
}

void add_depths(const Calibration* calibration, const DisparityRange& range, ordered_json& json) {
  if (calibration == nullptr) return;
  // JSON has no infinity: null.
  const auto depth = [&](double disparity) {
    const double value = depth_at(*calibration, disparity);
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
  };
  json["rectified"] = {{"focal", calibration->focal},
                       {"baseline", calibration->baseline},
                       {"unit", is_in_metres(*calibration) ? ordered_json("m") : ordered_json()}};
  if (range.disparities > 0)
    json["depth"] = {{"nearest", depth(range.highest)},
                     {"farthest", depth(range.lowest)},
                     {"search_nearest", depth(range.min_disparity + range.disparities - 1)},
                     {"search_farthest", depth(range.min_disparity)}};
}

std::string describe_check(const PairReport& report, const Calibration* calibration,
                           const std::optional<DenseCheck>& dense) {
  std::string text = report.sentence + "\n";
  for (const std::string& remark : report.remarks) text += remark + "\n";
  if (dense) text += dense->sentence() + "\n";
  if (!report.points.empty())
    text += "\n" + rows_lines(report) + model_lines(report.model) + range_lines(report.range) +
            appearance_lines(report);
  else
    text += range_lines(report.range);
  if (dense) text += dense_lines(*dense);
  return text + depth_lines(calibration, report.range) +
         table_line("corners", std::to_string(report.left_corners) + " and " +
                                   std::to_string(report.right_corners) + ", " +
                                   std::to_string(report.matched) + " matched, " +
                                   std::to_string(report.points.size()) + " agree");
}

ordered_json check_json(const PairReport& report, const Calibration* calibration,
                        const std::optional<DenseCheck>& dense) {
  ordered_json json = parse_json_object(to_json(report));
  add_depths(calibration, report.range, json);
  if (dense) json["dense"] = dense_json(*dense);
  return json;
}

}  // namespace parallax::tool
