// SPDX-License-Identifier: Apache-2.0
// Calibrations of rectified pairs, in the formats that users have.
#pragma once

#include <string>
#include <string_view>

#include "parallax/geometry.h"

namespace parallax::tool {

// Reads Middlebury's calib.txt, or OpenCV's stereo calibration (.yml, .yaml, .xml, .json with P1 and P2).
// \throws Error (file)
Calibration read_calibration(const std::string& path);

// The text of a file of this name, whose extension says what it is.
Calibration parse_calibration(std::string_view text, const std::string& name);

}  // namespace parallax::tool
