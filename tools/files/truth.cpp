// SPDX-License-Identifier: Apache-2.0
#include "tools/files/truth.h"

#include <cmath>

#include "parallax/error.h"

#include "tools/command/command.h"
#include "tools/command/json.h"
#include "tools/files/pictures.h"

namespace parallax::tool {

Truth::Truth(const std::string& path, double scale) : path_(path), disparity_(read_disparity(path, scale)) {}

void Truth::check_size(const std::string& path, Size size) const {
  if (size == disparity_.size()) return;
  throw Error(ErrorCategory::file, path_ + " is " + text(disparity_.size()) + ", " + path + " is " +
                                       text(size) + ": give files of one size");
}

void Truth::evaluate_only(const std::string& mask_path) {
  mask_ = read_mask(mask_path);
  check_size(mask_path, mask_.size());
}

std::size_t Truth::count(View<const std::uint8_t> mask) const {
  std::size_t pixels = 0;
  for (int y = 0; y < disparity_.height(); ++y)
    for (int x = 0; x < disparity_.width(); ++x)
      pixels += std::isfinite(disparity_.at(x, y)) && mask.at(x, y) == 255;
  return pixels;
}

void Truth::multiply(int factor) {
  for (int y = 0; y < disparity_.height(); ++y)
    for (int x = 0; x < disparity_.width(); ++x) disparity_.at(x, y) *= static_cast<float>(factor);
}

ErrorMetrics Truth::compare(View<const float> disparity) const {
  return compare(disparity, mask_.view());
}

ErrorMetrics Truth::compare(View<const float> disparity, View<const std::uint8_t> mask) const {
  try {
    return evaluate(disparity, disparity_.view(), mask);
  } catch (const Error& nothing) {
    throw Error(ErrorCategory::file, path_ + ": " + nothing.what() + "; give another truth, or mask");
  }
}

std::optional<Truth> read_truth(const TruthFile& file, const std::string& left, Size size) {
  if (file.path.empty()) return std::nullopt;
  Truth truth(file.path, file.scale);
  truth.check_size(left, size);
  return truth;
}

nlohmann::ordered_json to_json(const ErrorMetrics& error) {
  // JSON has no NaN: what is unknown is null.
  return {{"count", error.count},       {"bad0.5", error.bad05},
          {"bad1", error.bad1},         {"bad2", error.bad2},
          {"bad3", error.bad3},         {"bad4", error.bad4},
          {"bad5", error.bad5},         {"avgerr", error.average},
          {"rms", error.rms},           {"a50", error.a50},
          {"a90", error.a90},           {"a95", error.a95},
          {"a99", error.a99},           {"d1", error.d1},
          {"coverage", error.coverage}, {"mismatches", error.mismatches}};
}

}  // namespace parallax::tool
