// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>

#include <nlohmann/json.hpp>

#include "tools/parallax/command_files.h"
#include "tools/parallax/options.h"
#include "tools/parallax/pictures.h"
#include "tools/parallax/truth.h"

namespace parallax::tool {
namespace {

void print_table(const ErrorMetrics& error) {
  const auto share = [](const char* name, double value, const char* meaning) {
    std::cout << std::left << std::setw(12) << name << std::right << std::setw(8) << std::fixed
              << std::setprecision(2) << 100 * value << " %   " << meaning << "\n";
  };
  const auto pixels = [](const char* name, double value, const char* meaning) {
    std::cout << std::left << std::setw(12) << name << std::right << std::setw(8) << std::fixed
              << std::setprecision(3) << value << " px  " << meaning << "\n";
  };
  const auto number = [](const char* name, std::size_t value, const char* meaning) {
    std::cout << std::left << std::setw(12) << name << std::right << std::setw(8) << value << "     "
              << meaning << "\n";
  };
  number("count", error.count, "pixels evaluated");
  share("bad0.5", error.bad05, "off by more than 0.5 px, or no value");
  share("bad1", error.bad1, "off by more than 1 px, or no value");
  share("bad2", error.bad2, "off by more than 2 px, or no value");
  share("bad4", error.bad4, "off by more than 4 px, or no value");
  share("d1", error.d1, "off by more than 3 px and 5 %, or no value");
  share("coverage", error.coverage, "pixels with a value");
  pixels("avgerr", error.average, "mean error");
  pixels("rms", error.rms, "root mean square error");
  pixels("a50", error.a50, "median error");
  pixels("a90", error.a90, "90 % quantile");
  pixels("a95", error.a95, "95 % quantile");
  pixels("a99", error.a99, "99 % quantile");
  number("mismatches", error.mismatches, "rounded disparities that differ");
}

}  // namespace

int eval_command(const Arguments& arguments) {
  std::string disparity_path, truth_path, mask_path;
  double scale = 0;
  bool json = false;
  Options options("eval", "Compare a disparity map with ground truth.");
  options.add("DISPARITY", disparity_path, "Disparity map: PFM, 16-bit PNG (KITTI) or 32-bit TIFF")
      .required();
  options.add("TRUTH", truth_path, "Ground truth: the same formats, or an 8-bit picture with --truth-scale")
      .required();
  options.add("--mask FILE", mask_path, "Gray picture: 255 = evaluate this pixel");
  options.add("--truth-scale X", scale, "Gray levels per pixel of disparity in an 8-bit TRUTH")
      .range(1e-6, 1e6);
  options.add_flag("--json", json, "Report as JSON");
  options.read(arguments);
  CommandFiles files;
  for (const std::string& path : {disparity_path, truth_path, mask_path}) files.reads(path);

  const Plane<float> disparity = read_disparity(disparity_path);
  Truth truth(truth_path, scale);
  truth.check_size(disparity_path, disparity.size());
  if (!mask_path.empty()) truth.evaluate_only(mask_path);
  const ErrorMetrics error = truth.compare(disparity.view());
  if (json)
    std::cout << to_json(error).dump(2) << "\n";
  else
    print_table(error);
  return done;
}

}  // namespace parallax::tool
