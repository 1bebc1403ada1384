// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/check_report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "tools/parallax/command.h"

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

// Without the sign of a rounded zero.
std::string rounded(double value, int decimals) {
  const double half = 0.5 * std::pow(10.0, -decimals);
  return with_decimals(std::abs(value) < half ? 0 : value, decimals);
}

std::string pixels(double value, int decimals = 2) {
  return rounded(value, decimals) + " px";
}

std::string line(const std::string& what, const std::string& text) {
  return what + std::string(what.size() < 14 ? 14 - what.size() : 1, ' ') + text + "\n";
}

std::string rows_lines(const PairReport& report) {
  return line("rows off", "median " + pixels(report.rows_off) + ", 95 % " + pixels(report.rows_off_95) +
                              " (" + std::to_string(report.rows_points) + " points), by the model 95 % " +
                              pixels(report.rows_off_model));
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
    if (!estimate.held) value += " (the points do not hold it)";
    text += line(std::string("  ") + coefficient.name, value);
  }
  return line("model", "of the row differences; pixels at the edge of the picture") + text +
         line("  residual", "median " + pixels(model.residual) + ", 95 % " + pixels(model.residual_95));
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
  return line("disparities", with_decimals(range.lowest, 1) + " to " + pixels(range.highest, 1) + " (" +
                                 std::to_string(range.points) +
                                 " points); 1, 5, 50, 95, 99 %: " + quantiles) +
         line("", with_decimals(range.histogram_start, 0) + " [" + histogram_bars(range) + "] " +
                      with_decimals(end, 0)) +
         line("search", range_options(range));
}

std::string appearance_lines(const PairReport& report) {
  std::string gains;
  for (const Exposure& channel : report.colour)
    gains += (gains.empty() ? "" : ", ") + with_decimals(channel.gain, 2);
  return line("exposure", "right = " + with_decimals(report.exposure.gain, 2) + " · left " +
                              (report.exposure.offset < 0 ? "− " : "+ ") +
                              with_decimals(std::abs(report.exposure.offset), 1) + "; gains of R, G, B " +
                              gains) +
         line("sharpness", with_decimals(report.sharpness, 2) + " (right over left)");
}

ordered_json exposure_json(const Exposure& exposure) {
  return {{"gain", exposure.gain}, {"offset", exposure.offset}};
}

ordered_json model_json(const RowModel& model) {
  ordered_json json;
  for (const Coefficient& coefficient : coefficients) {
    const Estimate& estimate = model.*coefficient.estimate;
    json[coefficient.name] = {
        {"value", estimate.value}, {"uncertainty", estimate.uncertainty}, {"held", estimate.held}};
  }
  json["rotation_degrees"] = model.rotation_degrees();
  json["scale_ratio"] = model.scale_ratio();
  json["shear_degrees"] = model.shear_degrees();
  json["centre"] = {model.centre_x, model.centre_y};
  json["half_width"] = model.half_width;
  json["centre_disparity"] = model.centre_disparity;
  json["residual"] = model.residual;
  json["residual_95"] = model.residual_95;
  return json;
}

ordered_json range_json(const DisparityRange& range) {
  return {{"points", range.points},
          {"lowest", range.lowest},
          {"highest", range.highest},
          {"quantiles",
           {{"1", range.quantiles[0]},
            {"5", range.quantiles[1]},
            {"50", range.quantiles[2]},
            {"95", range.quantiles[3]},
            {"99", range.quantiles[4]}}},
          {"histogram",
           {{"start", range.histogram_start}, {"step", range.histogram_step}, {"points", range.histogram}}},
          {"min_disparity", range.min_disparity},
          {"disparities", range.disparities}};
}

}  // namespace

std::string range_options(const DisparityRange& range) {
  return "--min-disparity " + std::to_string(range.min_disparity) + " --disparities " +
         std::to_string(range.disparities);
}

std::string describe_check(const PairReport& report) {
  std::string text = report.sentence + "\n";
  for (const std::string& remark : report.remarks) text += remark + "\n";
  if (!report.points.empty())
    text += "\n" + rows_lines(report) + model_lines(report.model) + range_lines(report.range) +
            appearance_lines(report);
  return text +
         line("corners", std::to_string(report.left_corners) + " and " +
                             std::to_string(report.right_corners) + ", " + std::to_string(report.matched) +
                             " matched, " + std::to_string(report.points.size()) + " agree");
}

ordered_json check_json(const PairReport& report) {
  return {{"verdict", name(report.verdict)},
          {"fit", report.fit()},
          {"side", name(report.side)},
          {"sentence", report.sentence},
          {"remarks", report.remarks},
          {"size", {{"width", report.size.width}, {"height", report.size.height}}},
          {"corners",
           {{"left", report.left_corners}, {"right", report.right_corners}, {"matched", report.matched}}},
          {"points", report.points.size()},
          {"rows_off",
           {{"points", report.rows_points},
            {"median", report.rows_off},
            {"95", report.rows_off_95},
            {"model_95", report.rows_off_model}}},
          {"model", model_json(report.model)},
          {"disparities", range_json(report.range)},
          {"exposure", exposure_json(report.exposure)},
          {"colour",
           {{"red", exposure_json(report.colour[0])},
            {"green", exposure_json(report.colour[1])},
            {"blue", exposure_json(report.colour[2])}}},
          {"sharpness", report.sharpness}};
}

}  // namespace parallax::tool
