// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "parallax/check.h"

namespace parallax {
namespace {

using nlohmann::ordered_json;

ordered_json exposure_json(const Exposure& exposure) {
  return {{"gain", exposure.gain}, {"offset", exposure.offset}};
}

ordered_json estimate_json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"uncertainty", estimate.uncertainty}, {"held", estimate.held}};
}

ordered_json model_json(const RowModel& model) {
  return {{"shift", estimate_json(model.shift)},
          {"rotation", estimate_json(model.rotation)},
          {"scale", estimate_json(model.scale)},
          {"yaw", estimate_json(model.yaw)},
          {"pitch", estimate_json(model.pitch)},
          {"shear", estimate_json(model.shear)},
          {"forward", estimate_json(model.forward)},
          {"distortion", estimate_json(model.distortion)},
          {"rotation_degrees", model.rotation_degrees()},
          {"scale_ratio", model.scale_ratio()},
          {"shear_degrees", model.shear_degrees()},
          {"centre", {model.centre_x, model.centre_y}},
          {"half_width", model.half_width},
          {"centre_disparity", model.centre_disparity},
          {"residual", model.residual},
          {"residual_95", model.residual_95}};
}

ordered_json range_json(const PairReport& report) {
  const DisparityRange& range = report.range;
  return {{"found", report.has_range()},
          {"points", range.points},
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
          {"disparities", range.disparities},
          {"seen", range.seen},
          {"sure", range.sure},
          {"sentence", range.sentence}};
}

}  // namespace

std::string to_json(const PairReport& report) {
  const ordered_json json{
      {"verdict", name(report.verdict)},
      {"will_be_aligned", report.will_be_aligned},
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
        {"aligned_95", report.rows_off_aligned},
        {"model_95", report.rows_off_model}}},
      {"model", model_json(report.model)},
      {"disparities", range_json(report)},
      {"exposure", exposure_json(report.exposure)},
      {"colour",
       {{"red", exposure_json(report.colour[0])},
        {"green", exposure_json(report.colour[1])},
        {"blue", exposure_json(report.colour[2])}}},
      {"sharpness", report.sharpness}};
  return json.dump();
}

}  // namespace parallax
