// SPDX-License-Identifier: Apache-2.0
#include "tools/files/calibration.h"

#include <array>
#include <cmath>
#include <vector>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "tools/files/pictures.h"
#include "tools/files/stored_document.h"

namespace parallax::tool {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::file, name + why);
}

// The projection matrix of a rectified camera, row by row: 3 rows of 4.
using ProjectionMatrix = std::array<double, 12>;

ProjectionMatrix projection_in(const StoredMatrix& matrix, const std::string& key, const std::string& name) {
  ProjectionMatrix projection;
  if (matrix.rows != 3 || matrix.columns != 4 || matrix.values.size() != projection.size())
    fail(name, " has no 3×4 matrices P1 and P2: give the stereo calibration that stereoRectify() computed");
  for (std::size_t i = 0; i < projection.size(); ++i) {
    projection[i] = matrix.values[i];
    if (!std::isfinite(projection[i])) fail(name, ": " + key + " holds a value that is not finite");
  }
  return projection;
}

Calibration calibration_in(const StoredDocument& document, const std::string& name) {
  const ProjectionMatrix left = projection_in(document.matrix("P1"), "P1", name);
  const ProjectionMatrix right = projection_in(document.matrix("P2"), "P2", name);
  constexpr int fx = 0, cx = 2, shift = 3, cy = 6;
  Calibration calibration;
  calibration.focal = left[fx];
  calibration.centre_x = left[cx];
  calibration.centre_y = left[cy];
  calibration.doffs = right[cx] - calibration.centre_x;
  calibration.baseline = -right[shift] / right[fx];
  if (!(calibration.focal > 0) || !(calibration.baseline > 0) || !std::isfinite(calibration.baseline))
    fail(name, " does not describe a horizontal pair with the left camera first: calibrate the pair again");
  return calibration;
}

Calibration parse_opencv(StoredFormat format, std::string_view text, const std::string& name) {
  return calibration_in(*parse_stored(format, text, name, "the calibration that cv::FileStorage wrote"),
                        name);
}

}  // namespace

Calibration parse_calibration(std::string_view text, const std::string& name) {
  if (has_extension(name, {".yml", ".yaml"})) return parse_opencv(StoredFormat::yaml, text, name);
  if (has_extension(name, {".json"})) return parse_opencv(StoredFormat::json, text, name);
  if (has_extension(name, {".xml"})) return parse_opencv(StoredFormat::xml, text, name);
  return parse_middlebury_calibration(text, name);
}

Calibration read_calibration(const std::string& path) {
  constexpr std::size_t most_bytes = 1 << 20;
  const std::vector<std::byte> bytes = read_file(path, most_bytes);
  return parse_calibration({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace parallax::tool
