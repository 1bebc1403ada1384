// SPDX-License-Identifier: Apache-2.0
#include "tools/match/dense_check.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/command/method_options.h"
#include "tools/match/match_plan.h"

namespace parallax::tool {
namespace {

constexpr int min_rows = 2, max_rows = 16;

// The opinions agree if this share of the row offsets is this close to the corners' model, in pixels. Row
// offsets between two rows are drawn to the nearer one, by up to some 0.25 px.
constexpr double near_model = 0.5, agreeing_share = 0.8;

// Fewer pixels say nothing about a picture.
constexpr double min_share = 0.01;

// Filled pixels have the row offsets of others.
MatcherParameters parameters_of(const DenseRequest& request, int row_tolerance) {
  MatcherParameters parameters = method_preset(request.method, "default");
  set_parameter(parameters, "row_tolerance", std::to_string(row_tolerance));
  parameters.refine().fill = Fill::none;
  if (request.disparities > 0) {
    parameters.min_disparity() = request.min_disparity;
    parameters.disparities() = request.disparities;
  }
  return parameters;
}

[[noreturn]] void fail(const std::string& why) {
  throw Error(ErrorCategory::file, why);
}

// Half a row more, so that fractions can be interpolated.
int rows_needed(const PairReport& report) {
  const double needed = std::ceil(report.rows_off_95 + 0.5);
  if (report.has_range() && needed > max_rows)
    fail("rows are off by " + with_decimals(report.rows_off_95, 1) + " px, and a match searches at most " +
         std::to_string(max_rows) + " rows: give --row-tolerance " + std::to_string(max_rows) +
         ", or align the rows first, with --repair");
  return std::clamp(static_cast<int>(needed), min_rows, max_rows);
}

void settle_range_of(const DenseRequest& request, const PairReport& report, MatcherParameters& parameters) {
  if (request.disparities == 0) {
    if (!report.has_range())
      fail("no range of disparities was found: give it with --min-disparity and --disparities");
    parameters.min_disparity() = report.range.min_disparity;
    parameters.disparities() = report.range.disparities;
  }
  parameters.validate();
  check_range_fits(parameters, report.size);
}

// Row offsets less those of the corners' model.
Plane<float> residuals(View<const float> disparity, View<const float> row_offset, const RowModel& model) {
  Plane<float> difference(row_offset.size);
  for (int y = 0; y < difference.height(); ++y)
    for (int x = 0; x < difference.width(); ++x) {
      const double d = disparity.at(x, y);
      difference.at(x, y) = static_cast<float>(row_offset.at(x, y) - model.rows_off(x - d, y, d));
    }
  return difference;
}

double share_within(double limit, View<const float> differences, std::size_t pixels) {
  std::size_t within = 0;
  for (int y = 0; y < differences.size.height; ++y)
    for (int x = 0; x < differences.size.width; ++x)
      within += static_cast<double>(std::abs(differences.at(x, y))) <= limit;
  return static_cast<double>(within) / static_cast<double>(pixels);
}

void compare_with(const RowModel& model, View<const float> disparity, View<const float> row_offset,
                  DenseCheck& dense) {
  const Plane<float> differences = residuals(disparity, row_offset, model);
  dense.difference = summarise_row_offsets(disparity, differences.view());
  dense.share_close = share_within(near_model, differences.view(), dense.difference.pixels);
}

void match_rows(const StereoPair& pair, const PairReport& report, const DenseRequest& request, int threads,
                DenseCheck& dense) {
  dense.parameters =
      parameters_of(request, request.row_tolerance > 0 ? request.row_tolerance : rows_needed(report));
  settle_range_of(request, report, dense.parameters);
  Device device = Device::parse(request.device);
  device.threads = threads;
  dense.device = device.text();
  const Size size = report.size;
  Result result(size, false, true);
  Matcher(dense.parameters, device, pair.left.format, {.max_memory_bytes = memory_limit(0)})
      .run(pair, result.map());

  const View<const float> disparity = result.disparity.view(), row_offset = result.row_offset.view();
  dense.rows = summarise_row_offsets(disparity, row_offset);
  if (static_cast<double>(dense.rows.pixels) < min_share * static_cast<double>(size.pixels()))
    fail("only " + std::to_string(dense.rows.pixels) + " of " + std::to_string(size.pixels()) +
         " pixels have a row offset");
  if (!report.points.empty() && report.has_range()) compare_with(report.model, disparity, row_offset, dense);
  dense.row_offset = std::move(result.row_offset);
}

}  // namespace

void add_dense_options(Options& options, DenseRequest& request) {
  options.group("Second opinion");
  options.add_flag("--dense", request.wanted,
                   "Also match the pair densely, and compare its row offsets with the corners");
  const std::vector<std::string> methods = methods_with(&Capabilities::row_tolerance);
  options.add("--method", request.method, "Method of the dense match: " + join(methods)).offer(methods);
  options
      .add("--row-tolerance N", request.row_tolerance,
           "Rows to search above and below; 0 = as the corners need, at least " + std::to_string(min_rows))
      .range(0, max_rows);
  options.add("--min-disparity N", request.min_disparity, "Lowest disparity to search");
  options
      .add("--disparities N", request.disparities,
           "Number of disparities to search; 0 = the range that the check recommends")
      .range(0, 1'000'000);
  options.add("--device", request.device, "Device of the dense match").offer({"cpu", "reference"});
}

void settle_dense_options(const Options& options, const DenseRequest& request) {
  if (!request.wanted)
    return options.refuse({"--method", "--row-tolerance", "--min-disparity", "--disparities", "--device"},
                          " needs --dense: give both");
  if (request.disparities == 0) options.refuse({"--min-disparity"}, " needs --disparities: give both");
  if (!capabilities(request.method).row_tolerance)
    throw UsageError("--method is " + request.method + ", which does not search rows: choose one of " +
                     join(methods_with(&Capabilities::row_tolerance)));
  parameters_of(request, std::max(request.row_tolerance, min_rows)).validate();
  // Refuses a device before anything is read.
  Matcher(parameters_of({.method = request.method}, min_rows), Device::parse(request.device),
          {{64, 64}, BitDepth::bits8});
}

bool DenseCheck::agrees() const {
  return is_compared() && share_close >= agreeing_share;
}

std::string DenseCheck::sentence() const {
  if (!has_rows()) return "No dense match: " + error + ".";
  if (!is_compared()) return "The corners give no model of the rows to compare the dense match with.";
  return std::string("A dense match ") + (agrees() ? "agrees" : "does not agree") +
         " with the corners: " + with_decimals(100 * share_close, 0) + " % of its row offsets lie within " +
         with_decimals(near_model, 1) + " px of the corners' model.";
}

DenseCheck check_densely(const StereoPair& pair, const PairReport& report, const DenseRequest& request,
                         int threads) {
  DenseCheck dense;
  try {
    match_rows(pair, report, request, threads, dense);
  } catch (const std::runtime_error& error) {  // Error or UsageError
    dense.error = error.what();
  }
  return dense;
}

nlohmann::ordered_json dense_json(const DenseCheck& dense) {
  if (!dense.has_rows()) return {{"error", dense.error}};
  nlohmann::ordered_json json{{"method", method_name(dense.parameters)},
                              {"device", dense.device},
                              {"row_tolerance", std::stoi(get_parameter(dense.parameters, "row_tolerance"))},
                              {"min_disparity", dense.parameters.min_disparity()},
                              {"disparities", dense.parameters.disparities()},
                              {"rows_off", row_offsets_json(dense.rows)}};
  json["agrees"] = dense.is_compared() ? nlohmann::ordered_json(dense.agrees()) : nlohmann::ordered_json();
  json["sentence"] = dense.sentence();
  if (dense.is_compared())
    json["difference"] = {{"median", dense.difference.rows_off},
                          {"95", dense.difference.rows_off_95},
                          {"within_half_pixel", dense.share_close}};
  return json;
}

}  // namespace parallax::tool
