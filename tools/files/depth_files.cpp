// SPDX-License-Identifier: Apache-2.0
#include "tools/files/depth_files.h"

#include <sstream>

#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/files/pictures.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/tiff.h"

namespace parallax::tool {

void settle_unit(double unit, bool needs_metres, const std::string& path, Calibration& calibration) {
  if (unit > 0) calibration.metres_per_unit = unit;
  if (!needs_metres || calibration.metres_per_unit > 0 || calibration.baseline < unlikely_metres) return;
  std::ostringstream message;
  message << path << " does not say the unit of its baseline, " << calibration.baseline
          << ", which is long for metres: give --unit mm, or --unit m";
  throw UsageError(message.str());
}

DepthLimits DepthFiles::limits(const Calibration& calibration) const {
  const double unit = calibration.metres_per_unit > 0 ? calibration.metres_per_unit : 1;
  DepthLimits limits;
  limits.disparity_uncertainty = options_.disparity_uncertainty;
  if (options_.max_depth > 0) limits.greatest = options_.max_depth / unit;
  if (options_.max_depth_uncertainty > 0) limits.uncertainty = options_.max_depth_uncertainty / unit;
  return limits;
}

std::vector<std::byte> DepthFiles::depths(const std::string& path, View<const float> disparity) const {
  const Calibration metric = in_metres(calibration_);
  Plane<float> metres(disparity.size);
  depth_map(metric, disparity, metres.view(), limits(metric));
  if (has_extension(path, {".png"})) {
    const Plane<std::uint16_t> millimetres = encode_millimetres(metres.view());
    std::size_t lost = 0, all = 0;
    for (int y = 0; y < metres.height(); ++y)
      for (int x = 0; x < metres.width(); ++x)
        if (metres.at(x, y) > 0) ++all, lost += millimetres.at(x, y) == 0;
    tell_lost(
        path, lost, all,
        "depths are left out, because a PNG of millimetres ends at 65.535 m: name it .tiff to keep them");
    return encode_png(millimetres.view());
  }
  return encode_tiff(metres.view());
}

std::vector<std::byte> DepthFiles::cloud(const std::string& path, View<const float> disparity,
                                         const ImageView& left) const {
  const Size grid = options_.organised ? disparity.size : Size{};
  const auto make = options_.organised ? organised_cloud : point_cloud;
  const std::vector<Point> points =
      make(calibration_, disparity, left, limits(calibration_), options_.normals);
  return has_extension(path, {".pcd"}) ? encode_pcd(points, grid) : encode_ply(points, grid);
}

std::vector<std::byte> DepthFiles::mesh(View<const float> disparity, const ImageView& left) const {
  return encode_mesh(parallax::mesh(calibration_, disparity, left,
                                    {limits(calibration_), options_.mesh_step, options_.normals}));
}

}  // namespace parallax::tool
