// SPDX-License-Identifier: Apache-2.0
#include "tools/files/calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "parallax/error.h"
#include "parallax/formats.h"

namespace parallax::tool {
namespace {

constexpr double nearly = 0.02;  // tolerated beside the baseline, as a share of it

// The parts of the translation along rows and along columns.
struct Baseline {
  double along, across, forward;
};

PairCalibration calibration_of(const Rig& rig, const std::string& name) {
  const auto [x, y, z] = rig.translation;
  const bool vertical = std::abs(y) > std::abs(x);
  const Baseline baseline = vertical ? Baseline{y, x, z} : Baseline{x, y, z};
  const double focal_ratio = rig.left.focal_x / rig.left.focal_y;
  if (std::sqrt(baseline.across * baseline.across + baseline.forward * baseline.forward) >
          nearly * std::abs(baseline.along) ||
      std::abs(focal_ratio - 1) > nearly)
    throw Error(ErrorCategory::file,
                name +
                    " has cameras that are not side by side or above each other, or focal "
                    "lengths that differ, so it is not of a rectified pair: give it with --rig");
  PairCalibration result;
  Calibration& calibration = result.calibration;
  calibration.focal = vertical ? rig.left.focal_y : rig.left.focal_x;
  calibration.centre_x = rig.left.centre_x;
  calibration.centre_y = rig.left.centre_y;
  calibration.baseline = std::abs(baseline.along);
  calibration.width = rig.left.size.width;
  calibration.height = rig.left.size.height;
  // The second camera is below the first where y is negative; then the lower side is turned to the right.
  result.quarter_turns = !vertical ? 0 : y < 0 ? 3 : 1;
  const double rows_apart = rig.right.centre_y - rig.left.centre_y;
  calibration.doffs = !vertical ? rig.right.centre_x - rig.left.centre_x : y < 0 ? rows_apart : -rows_apart;
  return result;
}

bool is_middlebury(std::span<const RigFile> files) {
  return files.size() == 1 && format_of_rig(files) == RigFormat::middlebury;
}

}  // namespace

PairCalibration parse_pair_calibration(std::span<const RigFile> files, const RigChoices& choices) {
  if (is_middlebury(files)) return {parse_middlebury_calibration(files[0].text, files[0].name), 0};
  RigChoices open = choices;
  open.size_of_pictures = true;
  PairCalibration result = calibration_of(parse_rectified_rig(files, open), files[0].name);
  if (is_in_metres(files, choices)) result.calibration.metres_per_unit = 1;
  return result;
}

PairCalibration read_pair_calibration(const std::vector<std::string>& paths, const RigChoices& choices) {
  return parse_pair_calibration(read_rig_files(paths), choices);
}

Calibration read_calibration(const std::vector<std::string>& paths, const RigChoices& choices) {
  const PairCalibration result = read_pair_calibration(paths, choices);
  if (result.quarter_turns != 0)
    throw Error(ErrorCategory::file,
                paths[0] +
                    " has cameras above each other, whose pictures are turned to be matched, "
                    "which tiles do not support: match the pair in one piece");
  return result.calibration;
}

Calibration parse_calibration(std::string_view text, const std::string& name) {
  const RigFile file{name, std::string(text)};
  return parse_pair_calibration({&file, 1}).calibration;
}

Calibration fitted(const Calibration& calibration, Size pictures, const std::string& files,
                   std::string& notice) {
  const Size described{calibration.width, calibration.height};
  Calibration result = calibration;
  result.width = pictures.width;
  result.height = pictures.height;
  if (described.width == 0 || described.height == 0 || described == pictures) return result;
  if (!same_proportions(pictures, described))
    throw Error(ErrorCategory::file,
                files + " is for images of " + text(described) + ", these are " + text(pictures) +
                    ": give the calibration of this size; cropped or binned pictures need one of "
                    "their own");
  const double scale = static_cast<double>(pictures.width) / described.width;
  result.focal *= scale;
  result.centre_x = (calibration.centre_x + 0.5) * scale - 0.5;
  result.centre_y = (calibration.centre_y + 0.5) * scale - 0.5;
  result.doffs *= scale;
  result.disparities = static_cast<int>(std::min(1e6, std::ceil(calibration.disparities * scale)));
  notice = "the pictures are " + text(pictures) + ", and " + files + " is for images of " + text(described) +
           ": the calibration is scaled";
  return result;
}

Calibration turned(const Calibration& calibration, int quarter_turns) {
  Calibration result = calibration;
  for (int turn = 0; turn < quarter_turns % 4; ++turn) {
    // Clockwise: the column is what was the distance from the last row.
    const double column = result.height - 1 - result.centre_y;
    result.centre_y = std::exchange(result.centre_x, column);
    std::swap(result.width, result.height);
  }
  return result;
}

}  // namespace parallax::tool
