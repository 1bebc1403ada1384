// SPDX-License-Identifier: Apache-2.0
// Ground truth from files, and the errors of a map against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "parallax/evaluate.h"
#include "parallax/image.h"

namespace parallax::tool {

struct TruthFile {
  std::string path;  // empty = none
  double scale = 0;  // gray levels per pixel of disparity in an 8-bit picture; 0 = not given
};

class Truth {
 public:
  // Reads the file by read_disparity().
  // \throws Error (file)
  Truth(const std::string& path, double scale);

  // \throws Error (file) if the file at this path has another size
  void check_size(const std::string& path, Size size) const;
  // Evaluates only pixels where this picture is 255.
  // \throws Error (file)
  void evaluate_only(const std::string& mask_path);

  View<const float> disparity() const { return disparity_.view(); }
  // Number of pixels whose truth is known and whose mask is 255.
  std::size_t count(View<const std::uint8_t> mask) const;
  void multiply(int factor);

  // \throws Error (file) if no pixel can be evaluated
  ErrorMetrics compare(View<const float> disparity) const;
  // The same where `mask`, in place of the truth's own, is 255.
  ErrorMetrics compare(View<const float> disparity, View<const std::uint8_t> mask) const;

 private:
  std::string path_;
  Plane<float> disparity_;
  Plane<std::uint8_t> mask_;  // empty = everywhere
};

// The truth of pictures of this size, whose file is `left`; nothing where none is given.
// \throws Error (file)
std::optional<Truth> read_truth(const TruthFile& file, const std::string& left, Size size);

nlohmann::ordered_json to_json(const ErrorMetrics& error);

}  // namespace parallax::tool
