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
  const View<const float> disparity = map.result.disparity.view();
  if (name.starts_with("disparity")) return tool::encode_disparity(name, disparity);
  if (name.starts_with("colours")) return tool::encode_coloured(disparity);
  const std::optional<Calibration> calibration = scene.calibration();
  if (!calibration)
    throw Error(ErrorCategory::argument,
                "depths need the geometry of the cameras: start with --calib or --rig");
  const tool::DepthFiles files(*calibration);
  if (name.starts_with("depth")) return files.depths(name, disparity);
  if (name.starts_with("cloud")) return files.cloud(name, disparity, map.frame->pictures.left.view());
  return files.mesh(disparity, map.frame->pictures.left.view());
}

}  // namespace parallax::view
