// SPDX-License-Identifier: Apache-2.0
#include "tools/view/export.h"

#include <algorithm>

#include "tools/files/depth_files.h"
#include "tools/files/pictures.h"

namespace parallax::view {
namespace {

const std::string names[] = {"disparity.pfm", "disparity.png", "disparity.tiff", "colours.png", "depth.png",
                             "depth.tiff",    "cloud.ply",     "cloud.pcd",      "mesh.ply"};

}  // namespace

const std::string& checked_export(const std::string& name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Error(ErrorCategory::argument, "there is no export '" + name + "'");
  return *found;
}

std::vector<std::byte> export_map(const Scene& scene, const ViewedMap& map, const std::string& name) {
  // Files lie over the left picture as it is.
  const int back = (4 - scene.quarter_turns()) % 4;
  const Plane<float> upright = tool::turned(map.result.disparity, back);
  const View<const float> disparity = upright.view();
  if (name.starts_with("disparity")) return tool::encode_disparity(name, disparity);
  if (name.starts_with("colours")) return tool::encode_coloured(disparity);
  const std::optional<Calibration> calibration = scene.calibration();
  if (!calibration)
    throw Error(ErrorCategory::argument,
                "depths need the geometry of the cameras: start with --calib or --rig");
  const Calibration of_map = tool::turned(*calibration, back);
  const tool::Picture left = tool::turned(map.frame->pictures.left, back);
  const tool::DepthFiles files(of_map);
  if (name.starts_with("depth")) return files.depths(name, disparity);
  if (name.starts_with("cloud")) return files.cloud(name, disparity, left.view());
  return files.mesh(disparity, left.view());
}

}  // namespace parallax::view
