// SPDX-License-Identifier: Apache-2.0
// Ground truth from files, and the errors of a map against it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "parallax/evaluate.h"
#include "parallax/image.h"

namespace parallax::tool {

class Truth {
 public:
  // Reads the file by read_disparity(). \throws Error (file)
  Truth(const std::string& path, double scale);

  // \throws Error (file) if the file at this path has another size
  void check_size(const std::string& path, Size size) const;
  // Evaluates only pixels where this picture is 255. \throws Error (file)
  void evaluate_only(const std::string& mask_path);

  // \throws Error (file) if no pixel can be evaluated
  ErrorMetrics compare(View<const float> disparity) const;

 private:
  std::string path_;
  Plane<float> disparity_;
  Plane<std::uint8_t> mask_;  // empty = everywhere
};

nlohmann::ordered_json to_json(const ErrorMetrics& error);

}  // namespace parallax::tool
