// SPDX-License-Identifier: Apache-2.0
// Reads calibrations of rectified pairs in common formats.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallax/geometry.h"

#include "tools/files/rigs/rig_files.h"

namespace parallax::tool {

// The calibration of a pair whose pictures have to be turned by so many quarter turns clockwise before they are
// matched, because the second camera is above or below the first. The principal points are those of the pictures
// as they are.
struct PairCalibration {
  Calibration calibration;
  int quarter_turns = 0;
};

// Reads Middlebury's calib.txt, OpenCV's P1 and P2 or Q, KITTI's projections, two files of ROS's camera_info,
// and every other calibration of a rectified pair that parse_rectified_rig() reads.
// \throws Error (file)
PairCalibration read_pair_calibration(const std::vector<std::string>& paths, const RigChoices& choices = {});
PairCalibration parse_pair_calibration(std::span<const RigFile> files, const RigChoices& choices = {});

// The same for pairs that are side by side.
// \throws Error (file) for cameras above each other
Calibration read_calibration(const std::vector<std::string>& paths, const RigChoices& choices = {});
Calibration parse_calibration(std::string_view text, const std::string& name);

// The calibration for pictures of this size: scaled, if the proportions are those of its own size. `notice` is
// then a sentence that says so. `files`: the calibration's, for messages.
// \throws Error (file) for other proportions
Calibration fitted(const Calibration& calibration, Size pictures, const std::string& files,
                   std::string& notice);

// The calibration of pictures that are turned by quarter turns clockwise.
Calibration turned(const Calibration& calibration, int quarter_turns);

}  // namespace parallax::tool
