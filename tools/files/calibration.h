// SPDX-License-Identifier: Apache-2.0
// Reads calibrations of rectified pairs in common formats.
#pragma once

#include <string>
#include <string_view>

#include "parallax/geometry.h"

namespace parallax::tool {

// Reads Middlebury's calib.txt or OpenCV's .yml, .yaml, .xml, .json with P1 and P2.
// \throws Error (file)
Calibration read_calibration(const std::string& path);

// Parses the text of a file; the extension of its name tells the format.
Calibration parse_calibration(std::string_view text, const std::string& name);

}  // namespace parallax::tool
