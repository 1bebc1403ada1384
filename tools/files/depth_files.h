// SPDX-License-Identifier: Apache-2.0
// Files that need the geometry of the cameras: depths in metres; points and meshes in the unit of the baseline.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parallax/geometry.h"

#include "tools/match/match.h"

namespace parallax::tool {

// A baseline of 10 or more is hardly in metres, a shorter one hardly in millimetres.
inline constexpr double unlikely_metres = 10;

// \throws UsageError for an option of depths, points or meshes without another that it needs, or a name without a
// known extension
void check_depth_options(const MatchRequest& request);

// Sets the unit that the user gave. \throws UsageError where metres are needed, and the unit is unknown and hardly metres
void settle_unit(const MatchRequest& request, Calibration& calibration);

class DepthFiles {
 public:
  DepthFiles(const Calibration& calibration, const MatchRequest& request)
      : calibration_(calibration), request_(request) {}

  // By the extension of the path: .png (16 bits, millimetres), .tif or .tiff (floats, metres); 0 = none.
  std::vector<std::byte> depths(const std::string& path, View<const float> disparity) const;
  // By the extension of the path: .ply or .pcd.
  std::vector<std::byte> cloud(const std::string& path, View<const float> disparity,
                               const ImageView& left) const;
  // A .ply.
  std::vector<std::byte> mesh(View<const float> disparity, const ImageView& left) const;

 private:
  // In the unit of this calibration.
  DepthLimits limits(const Calibration& calibration) const;

  const Calibration& calibration_;
  const MatchRequest& request_;
};

}  // namespace parallax::tool
