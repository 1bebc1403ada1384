// SPDX-License-Identifier: Apache-2.0
// The pictures that a command matches, and the files that belong to them.
#pragma once

#include <string>
#include <vector>

#include "parallax/rectify.h"

namespace parallax::tool {

struct Input {
  std::string left, right;    // for a sequence: folders, patterns, videos
  bool side_by_side = false;  // left contains both views
  std::string calibration, left_mask, right_mask;
  std::string cost_file;         // data costs, in place of the matcher's own
  std::vector<std::string> rig;  // the cameras of pictures that are not rectified
  RectifyParameters rectify;

  // Whether depths are known.
  bool has_geometry() const { return !calibration.empty() || !rig.empty(); }
};

}  // namespace parallax::tool
