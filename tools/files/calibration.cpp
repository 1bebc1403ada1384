// SPDX-License-Identifier: Apache-2.0
#include "tools/files/calibration.h"

#include <array>
#include <cmath>

#include "parallax/error.h"
#include "parallax/formats.h"

#include "tools/command/output_files.h"
#include "tools/files/pictures.h"
#include "tools/files/stored_document.h"

namespace parallax::tool {
namespace {

// The projection matrix of a rectified camera, row by row: 3 rows of 4.
using ProjectionMatrix = std::array<double, 12>;

ProjectionMatrix projection_in(const StoredMatrix& matrix, const std::string& key, const std::string& name) {
  ProjectionMatrix projection;
  if (matrix.rows != 3 || matrix.columns != 4 || matrix.values.size() != projection.size())
    throw Error(
        ErrorCategory::file,
        name + " has no 3×4 matrices P1 and P2: give the stereo calibration that stereoRectify() computed");
  for (std::size_t i = 0; i < projection.size(); ++i) {
    projection[i] = matrix.values[i];
    if (!std::isfinite(projection[i])) fail_picture(name, key + " holds a value that is not finite");
  }
  return projection;
}

Calibration calibration_in(const StoredDocument& document, const std::string& name) {
  const ProjectionMatrix left = projection_in(document.entry("P1").matrix, "P1", name);
  const ProjectionMatrix right = projection_in(document.entry("P2").matrix, "P2", name);
  constexpr int fx = 0, cx = 2, shift = 3, cy = 6;
  Calibration calibration;
  calibration.focal = left[fx];
  calibration.centre_x = left[cx];
  calibration.centre_y = left[cy];
  calibration.doffs = right[cx] - calibration.centre_x;
  calibration.baseline = -right[shift] / right[fx];
  if (!(calibration.focal > 0) || !(calibration.baseline > 0) || !std::isfinite(calibration.baseline))
    throw Error(
        ErrorCategory::file,
        name + " does not describe a horizontal pair with the left camera first: calibrate the pair again");
  return calibration;
}

}  // namespace

Calibration parse_calibration(std::string_view text, const std::string& name) {
  if (!has_extension(name, {".yml", ".yaml", ".json", ".xml"}))
    return parse_middlebury_calibration(text, name);
  return calibration_in(
      *parse_stored(stored_format_of(name), text, name, "the calibration that cv::FileStorage wrote"), name);
}

Calibration read_calibration(const std::string& path) {
  return parse_calibration(read_text(path, 1 << 20), path);
}

}  // namespace parallax::tool
