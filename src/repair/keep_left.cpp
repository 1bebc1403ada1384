// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "parallax/repair.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/length.h"
#include "geometry/matrix.h"

namespace parallax {
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
    refuse(
        "the left picture cannot be kept, because its camera is no pinhole of equal focal lengths: "
        "rectify both");
  const Vector3 centre = exchanged(rig).translation;
  if (detail::length_of(centre[1], centre[2]) > tolerance * centre[0])
    refuse("the left picture cannot be kept, because the baseline is not parallel to its rows: rectify both");
  KeptLeft kept{rig, {}};
  kept.rectification = {.rotation_right = transposed(rig.rotation),
                        .focal = left.focal_x,
                        .centre_left_x = left.centre_x,
                        .centre_right_x = rig.right.centre_x,
                        .centre_y = left.centre_y,
                        .baseline = length(rig.translation),
                        .size = left.size,
                        .keep_columns = true};
  return kept;
}

}  // namespace parallax
