// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>

#include "tools/command/command_files.h"
#include "tools/command/json.h"
#include "tools/command/options.h"
#include "tools/files/flow_files.h"
#include "tools/files/pictures.h"
#include "tools/files/truth.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {
namespace {

void print_row(const char* name, const std::string& value, const char* unit, const char* meaning) {
  std::cout << std::left << std::setw(12) << name << std::right << std::setw(8) << value << unit << meaning
            << "\n";
}

void print_share(const char* name, double value, const char* meaning) {
  print_row(name, with_decimals(100 * value, 2), " %   ", meaning);
}

void print_pixels(const char* name, double value, const char* meaning) {
  print_row(name, with_decimals(value, 3), " px  ", meaning);
}

template <class Metrics>
void print_quantiles(const Metrics& error) {
  print_pixels("a90", error.a90, "90 % quantile");
  print_pixels("a95", error.a95, "95 % quantile");
  print_pixels("a99", error.a99, "99 % quantile");
}

void print_table(const ErrorMetrics& error) {
  print_row("count", std::to_string(error.count), "     ", "pixels evaluated");
  print_share("bad0.5", error.bad05, "off by more than 0.5 px, or no value");
  print_share("bad1", error.bad1, "off by more than 1 px, or no value");
  print_share("bad2", error.bad2, "off by more than 2 px, or no value");
  print_share("bad4", error.bad4, "off by more than 4 px, or no value");
  print_share("d1", error.d1, "off by more than 3 px and 5 %, or no value");
  print_share("coverage", error.coverage, "pixels with a value");
  print_pixels("avgerr", error.average, "mean error");
  print_pixels("rms", error.rms, "root mean square error");
  print_pixels("a50", error.a50, "median error");
  print_quantiles(error);
  print_row("mismatches", std::to_string(error.mismatches), "     ", "rounded disparities that differ");
}

void print_table(const FlowMetrics& error) {
  print_row("count", std::to_string(error.count), "     ", "pixels evaluated");
  print_share("bad0.5", error.bad05, "off by more than 0.5 px, or no motion");
  print_share("bad1", error.bad1, "off by more than 1 px, or no motion");
  print_share("bad2", error.bad2, "off by more than 2 px, or no motion");
  print_share("bad3", error.bad3, "off by more than 3 px, or no motion");
  print_share("fl", error.fl, "off by more than 3 px and 5 %, or no motion");
  print_share("coverage", error.coverage, "pixels with a motion");
  print_pixels("avgerr", error.average, "mean end-point error");
  print_row("angular", with_decimals(error.angular, 3), " °   ", "mean angular error");
  print_pixels("rms", error.rms, "root mean square end-point error");
  print_pixels("a50", error.a50, "median end-point error");
  print_quantiles(error);
}

nlohmann::ordered_json to_json(const FlowMetrics& error) {
  return {{"count", error.count},     {"bad0.5", error.bad05},      {"bad1", error.bad1},
          {"bad2", error.bad2},       {"bad3", error.bad3},         {"bad5", error.bad5},
          {"fl", error.fl},           {"coverage", error.coverage}, {"avgerr", error.average},
          {"angular", error.angular}, {"rms", error.rms},           {"a50", error.a50},
          {"a90", error.a90},         {"a95", error.a95},           {"a99", error.a99}};
}

template <class Metrics>
int report(const Metrics& error, const nlohmann::ordered_json& metrics, bool json) {
  if (json)
    std::cout << metrics.dump(2) << "\n";
  else
    print_table(error);
  return done;
}

int evaluate_motions(const std::string& flow_path, const std::string& truth_path,
                     const std::string& mask_path, bool json) {
  const Flow flow = read_flow(flow_path), truth = read_flow(truth_path);
  const auto check_size = [&](const std::string& path, Size size) {
    if (size != flow.size())
      throw Error(ErrorCategory::file, path + " is " + text(size) + ", " + flow_path + " is " +
                                           text(flow.size()) + ": give files of one size");
  };
  check_size(truth_path, truth.size());
  Plane<std::uint8_t> mask;
  if (!mask_path.empty()) {
    mask = read_mask(mask_path);
    check_size(mask_path, mask.size());
  }
  const FlowMetrics error = evaluate_flow(flow.view(), truth.view(), mask.view());
  return report(error, to_json(error), json);
}

}  // namespace

int eval_command(const Arguments& arguments) {
  std::string disparity_path, mask_path;
  TruthFile truth_file;
  bool json = false, motions = false;
  Options options("eval", "Compare a disparity map, or motions, with ground truth.");
  options
      .add("DISPARITY", disparity_path,
           "Disparity map: PFM, 16-bit PNG (KITTI) or 32-bit TIFF; motions: .flo or PNG (KITTI)")
      .required();
  options
      .add("TRUTH", truth_file.path, "Ground truth: the same formats, or an 8-bit picture with --truth-scale")
      .required();
  options.add("--mask FILE", mask_path, "Gray picture: 255 = evaluate this pixel");
  options.add("--truth-scale X", truth_file.scale, "Gray levels per pixel of disparity in an 8-bit TRUTH")
      .range(1e-6, 1e6);
  add_unknown_option(options, truth_file.unknown);
  options.add_flag("--flow", motions, "The files are motions, such as 'parallax flow' writes");
  options.add_flag("--json", json, "Report as JSON");
  options.read(arguments);
  CommandFiles files;
  for (const std::string& path : {disparity_path, truth_file.path, mask_path}) files.reads(path);
  if (motions) {
    options.refuse({"--truth-scale", "--truth-none"}, " is for disparities: leave it out with --flow");
    return evaluate_motions(disparity_path, truth_file.path, mask_path, json);
  }
  check_unknown(truth_file.unknown);

  const Plane<float> disparity = read_disparity(disparity_path);
  Truth truth(truth_file);
  truth.check_size(disparity_path, disparity.size());
  if (!mask_path.empty()) truth.evaluate_only(mask_path);
  const ErrorMetrics error = truth.compare(disparity.view());
  return report(error, to_json(error), json);
}

}  // namespace parallax::tool
