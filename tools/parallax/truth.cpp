// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/truth.h"

#include <nlohmann/json.hpp>

#include "parallax/error.h"

#include "tools/parallax/command.h"
#include "tools/parallax/pictures.h"

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

ErrorMetrics Truth::compare(View<const float> disparity) const {
  try {
    return evaluate(disparity, disparity_.view(), mask_.view());
  } catch (const Error& nothing) {
    throw Error(ErrorCategory::file, path_ + ": " + nothing.what() + "; give another truth, or mask");
  }
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

}  // namespace parallax::tool
