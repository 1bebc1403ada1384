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
  std::string path = {};  // empty = none
  double scale = 0;       // gray levels per pixel of disparity in an 8-bit picture; 0 = not given
  // The value, as the file has it, of pixels whose truth is unknown, besides those that the format has for
  // this: a number, or "none"; empty = recognised by the other values.
  std::string unknown = {};
};

// \throws UsageError for a text that is neither a number nor "none"
void check_unknown(const std::string& unknown);

class Truth {
 public:
  // Reads the file by read_disparity(). A notice says so if the value of unknown pixels was recognised.
  // \throws Error (file)
  explicit Truth(const TruthFile& file);

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
