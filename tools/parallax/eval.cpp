#include <cmath>
#include <iostream>

#include <nlohmann/json.hpp>

#include "parallax/evaluate.h"

#include "tools/parallax/command_line.h"
#include "tools/parallax/pictures.h"

namespace parallax::tool {
namespace {

std::string text(Size size) {
  return std::to_string(size.width) + "×" + std::to_string(size.height);
}

void check_size(const std::string& path, Size size, const std::string& other_path, Size other) {
  if (size == other) return;
  throw Error(ErrorCategory::file, path + " is " + text(size) + ", " + other_path + " is " + text(other) +
                                       ": give files of one size");
}

nlohmann::ordered_json to_json(const ErrorMetrics& error) {
  // JSON has no NaN: what is unknown is null.
  return {{"count", error.count},       {"bad0.5", error.bad05},
          {"bad1", error.bad1},         {"bad2", error.bad2},
          {"bad4", error.bad4},         {"avgerr", error.average},
          {"rms", error.rms},           {"a50", error.a50},
          {"a90", error.a90},           {"a95", error.a95},
          {"a99", error.a99},           {"d1", error.d1},
          {"coverage", error.coverage}, {"mismatches", error.mismatches}};
}

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
  share("coverage", error.coverage, "have a value");
  pixels("avgerr", error.average, "mean error");
  pixels("rms", error.rms, "root mean square error");
  pixels("a50", error.a50, "median error");
  pixels("a90", error.a90, "90 % quantile");
  pixels("a95", error.a95, "95 % quantile");
  pixels("a99", error.a99, "99 % quantile");
  number("mismatches", error.mismatches, "whole disparities that differ");
}

}  // namespace

int eval_command(const Arguments& arguments) {
  std::string disparity_path, truth_path, mask_path;
  double scale = 0;
  bool json = false;
  CommandLine app("eval", "Compare a disparity map with ground truth");
  app.add_option("DISPARITY", disparity_path, "PFM, 16-bit PNG (KITTI) or 32-bit TIFF")->required();
  app.add_option("TRUTH", truth_path, "The same, or an 8-bit picture with --truth-scale")->required();
  app.add_option("--mask", mask_path, "Gray picture: 255 = evaluate this pixel");
  app.add_option("--truth-scale", scale,
                 "Value of one pixel of disparity in an 8-bit TRUTH, whose 0 is unknown")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_flag("--json", json, "Report as JSON");
  app.read(arguments);

  const Plane<float> disparity = read_disparity(disparity_path);
  const Plane<float> truth = read_disparity(truth_path, scale);
  check_size(truth_path, truth.size(), disparity_path, disparity.size());
  Plane<std::uint8_t> mask;
  if (!mask_path.empty()) {
    mask = read_mask(mask_path);
    check_size(mask_path, mask.size(), disparity_path, disparity.size());
  }
  const ErrorMetrics error = [&] {
    try {
      return evaluate(disparity.view(), truth.view(), std::as_const(mask).view());
    } catch (const Error& nothing) {
      throw Error(ErrorCategory::file, truth_path + ": " + nothing.what() + "; give another truth, or mask");
    }
  }();
  if (json)
    std::cout << to_json(error).dump(2) << "\n";
  else
    print_table(error);
  return done;
}

}  // namespace parallax::tool
