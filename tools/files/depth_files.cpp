// SPDX-License-Identifier: Apache-2.0
#include "tools/files/depth_files.h"

#include <sstream>
#include <utility>

#include "parallax/formats.h"

#include "tools/files/pictures.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/tiff.h"

namespace parallax::tool {
namespace {

void check_extension(const std::string& option, const std::string& path,
                     std::initializer_list<const char*> extensions, const std::string& names) {
  if (!path.empty() && !names_folder(path) && !has_extension(path, extensions))
    throw UsageError(option + " is " + path + ": name it " + names);
}

bool has_limits(const MatchRequest& request) {
  return request.max_depth > 0 || request.max_depth_uncertainty > 0;
}

}  // namespace

void check_depth_options(const MatchRequest& request) {
  const std::pair<bool, const char*> outputs[] = {{!request.depth.empty(), "--depth"},
                                                  {!request.cloud.empty(), "--cloud"},
                                                  {!request.mesh.empty(), "--mesh"}};
  bool any = false;
  for (const auto& [given, name] : outputs) {
    if (given && !has_geometry(request))
      throw UsageError(std::string(name) + " needs the geometry of the cameras: give --calib or --rig");
    any = any || given;
  }
  const std::pair<bool, const char*> limits[] = {
      {request.max_depth > 0, "--max-depth"}, {request.max_depth_uncertainty > 0, "--max-depth-uncertainty"}};
  for (const auto& [given, name] : limits)
    if (given && !any)
      throw UsageError(std::string(name) + " needs --depth, --cloud or --mesh: give one of them");
  if (request.disparity_uncertainty_given && !(request.max_depth_uncertainty > 0))
    throw UsageError("--disparity-uncertainty needs --max-depth-uncertainty: give both");
  if (request.mesh_step_given && request.mesh.empty())
    throw UsageError("--mesh-step needs --mesh: give both");
  if (request.unit > 0 && !has_geometry(request))
    throw UsageError("--unit needs --calib or --rig: give one of them");
  check_extension("--depth", request.depth, {".png", ".tif", ".tiff"}, ".png or .tiff");
  check_extension("--cloud", request.cloud, {".ply", ".pcd"}, ".ply or .pcd");
  check_extension("--mesh", request.mesh, {".ply"}, ".ply");
}

void settle_unit(const MatchRequest& request, Calibration& calibration) {
  if (request.unit > 0) calibration.metres_per_unit = request.unit;
  const bool needs_metres = !request.depth.empty() || has_limits(request);
  if (!needs_metres || calibration.metres_per_unit > 0 || calibration.baseline < unlikely_metres) return;
  std::ostringstream message;
  message << (request.rig.empty() ? request.calibration : request.rig.front())
          << " does not say the unit of its baseline, " << calibration.baseline
          << ", which is long for metres: give --unit mm, or --unit m";
  throw UsageError(message.str());
}

DepthLimits DepthFiles::limits(const Calibration& calibration) const {
  const double unit = calibration.metres_per_unit > 0 ? calibration.metres_per_unit : 1;
  DepthLimits limits;
  limits.disparity_uncertainty = request_.disparity_uncertainty;
  if (request_.max_depth > 0) limits.greatest = request_.max_depth / unit;
  if (request_.max_depth_uncertainty > 0) limits.uncertainty = request_.max_depth_uncertainty / unit;
  return limits;
}

std::vector<std::byte> DepthFiles::depths(const std::string& path, View<const float> disparity) const {
  const Calibration metric = in_metres(calibration_);
  Plane<float> metres(disparity.size);
  depth_map(metric, disparity, metres.view(), limits(metric));
  if (has_extension(path, {".png"})) return encode_png(encode_millimetres(metres.view()).view());
  return encode_tiff(metres.view());
}

std::vector<std::byte> DepthFiles::cloud(const std::string& path, View<const float> disparity,
                                         const ImageView& left) const {
  const std::vector<Point> points = point_cloud(calibration_, disparity, left, limits(calibration_));
  return has_extension(path, {".pcd"}) ? encode_pcd(points) : encode_ply(points);
}

std::vector<std::byte> DepthFiles::mesh(View<const float> disparity, const ImageView& left) const {
  return encode_mesh(
      parallax::mesh(calibration_, disparity, left, {limits(calibration_), request_.mesh_step}));
}

}  // namespace parallax::tool
