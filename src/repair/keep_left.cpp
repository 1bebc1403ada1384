// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"
#include "geometry/lens.h"
#include "geometry/matrix.h"
#include "parallax/repair.h"

namespace parallax {
namespace {

// The focal length and principal column with which columns of the right picture move least: a regression of the columns
// on the positions that the rotation and the lens give them.
void keep_columns(const Rectification& rectification, Camera& camera) {
  Camera plain = camera;
  plain.focal_x = 1;
  plain.centre_x = 0;
  const Lens lens(plain);
  const Matrix3 back = transposed(rectification.rotation_right);
  constexpr int steps = 16;
  double n = 0, sx = 0, su = 0, sxu = 0, suu = 0;
  for (int j = 0; j <= steps; ++j)
    for (int i = 0; i <= steps; ++i) {
      const double x = static_cast<double>(i) / steps * (camera.size.width - 1),
                   y = static_cast<double>(j) / steps * (camera.size.height - 1);
      const auto bent = lens.project(back * Vector3{(x - rectification.centre_right_x) / rectification.focal,
                                                    (y - rectification.centre_y) / rectification.focal, 1});
      if (!bent) continue;
      const double u = (*bent)[0];
      ++n, sx += x, su += u, sxu += x * u, suu += u * u;
    }
  const double variance = suu - su * su / n;
  if (!(variance > 0)) return;
  camera.focal_x = (sxu - sx * su / n) / variance;
  camera.centre_x = (sx - camera.focal_x * su) / n;
}

}  // namespace

Rig guessed_rig(Size size, double focal) {
  const DefaultFloatingPoint environment;
  check_size(size);
  check_not_negative("focal", focal);
  Camera camera;
  camera.size = size;
  camera.focal_x = camera.focal_y = focal > 0 ? focal : 1.2 * std::max(size.width, size.height);
  camera.centre_x = 0.5 * (size.width - 1);
  camera.centre_y = 0.5 * (size.height - 1);
  Rig rig;
  rig.left = rig.right = camera;
  rig.translation = {-1, 0, 0};
  return rig;
}

KeptLeft keep_left(const Rig& rig) {
  const DefaultFloatingPoint environment;
  validate(rig);
  const Camera& left = rig.left;
  constexpr double tolerance = 1e-6;
  if (left.distortion != Camera{}.distortion || left.model != LensModel::radial_tangential ||
      left.focal_x != left.focal_y)
    throw Error(ErrorCategory::argument,
                "the left picture cannot be kept, because its camera is no pinhole of equal focal lengths: rectify both");
  const Vector3 centre = exchanged(rig).translation;
  if (std::hypot(centre[1], centre[2]) > tolerance * centre[0])
    throw Error(ErrorCategory::argument,
                "the left picture cannot be kept, because the baseline is not parallel to its rows: rectify both");
  KeptLeft kept{rig, {}};
  kept.rectification = {.rotation_right = transposed(rig.rotation),
                        .focal = left.focal_x,
                        .centre_left_x = left.centre_x,
                        .centre_right_x = rig.right.centre_x,
                        .centre_y = left.centre_y,
                        .baseline = length(rig.translation),
                        .size = left.size};
  keep_columns(kept.rectification, kept.rig.right);
  return kept;
}

}  // namespace parallax
