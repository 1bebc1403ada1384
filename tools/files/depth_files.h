// SPDX-License-Identifier: Apache-2.0
// Files of depths, in metres, and of points and meshes, in the unit of the baseline.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parallax/geometry.h"

namespace parallax::tool {

// A baseline of 10 or more is hardly in metres, a shorter one hardly in millimetres.
inline constexpr double unlikely_metres = 10;

struct DepthOptions {
  double unit = 0;  // unit of the baseline, in metres; 0 = as the calibration says
  double max_depth = 0, max_depth_uncertainty = 0;  // in metres; 0 = no limit
  double disparity_uncertainty = DepthLimits().disparity_uncertainty;
  double mesh_step = MeshParameters().greatest_step;
  bool organised = false;  // a point of the cloud for every pixel
  bool normals = false;    // normals of points and vertices

  bool has_limits() const { return max_depth > 0 || max_depth_uncertainty > 0; }
};

// Sets the unit that the user gave. `path`: the file of the calibration, for the message.
// \throws UsageError where metres are needed, and the unit is unknown and hardly metres
void settle_unit(double unit, bool needs_metres, const std::string& path, Calibration& calibration);

class DepthFiles {
 public:
  explicit DepthFiles(const Calibration& calibration, const DepthOptions& options = {})
      : calibration_(calibration), options_(options) {}

  // By the extension of the path: .png (16 bits, millimetres), .tif or .tiff (floats, metres); 0 = none.
  std::vector<std::byte> depths(const std::string& path, View<const float> disparity) const;
  // By the extension of the path: .ply or .pcd.
  std::vector<std::byte> cloud(const std::string& path, View<const float> disparity,
                               const ImageView& left) const;
  std::vector<std::byte> mesh(View<const float> disparity, const ImageView& left) const;

 private:
  // In the unit of this calibration.
  DepthLimits limits(const Calibration& calibration) const;

  const Calibration& calibration_;
  DepthOptions options_;
};

}  // namespace parallax::tool
