// SPDX-License-Identifier: Apache-2.0
// The rigs of pairs with known faults, and a measure of how well a rig aligns the rows of such a pair.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "parallax/rectify.h"

#include "check/faulty_pair.h"
#include "geometry/lens.h"
#include "geometry/matrix.h"

namespace parallax {

inline Camera pinhole(Size size, double focal) {
  Camera camera;
  camera.size = size;
  camera.focal_x = camera.focal_y = focal;
  camera.centre_x = 0.5 * (size.width - 1);
  camera.centre_y = 0.5 * (size.height - 1);
  return camera;
}

// Two parallel cameras: a FaultyPair without faults.
inline Rig faultless_rig(Size size) {
  const Camera camera = pinhole(size, 1.2 * size.width);
  return {camera, camera, rotation_about({}), {-1, 0, 0}};
}

// The rig of a FaultyPair with these faults.
inline Rig faulty_rig(Size size, const Faults& faults) {
  Rig rig = faultless_rig(size);
  rig.right.focal_x = rig.right.focal_y = rig.left.focal_x * faults.scale;
  rig.right.centre_y += faults.rows;
  rig.right.distortion[0] = faults.distortion;
  rig.rotation = rotation_about({0, 0, faults.roll}) * rotation_about({-faults.pitch, 0, 0}) *
                 rotation_about({0, faults.yaw, 0});
  rig.translation = scaled(rig.rotation * Vector3{1, faults.higher, faults.forward}, -1);
  return rig;
}

// The row difference below which this share of the picture is, in pixels of the pair that the rig rectifies.
// Points that the right camera does not see do not count.
inline double true_rows_off(const FaultyPair& pair, const Rig& rig, const Rectification& rectification,
                            double share = 0.95) {
  const Lens left(rig.left), right(rig.right);
  std::vector<double> off;
  for (int y = 5; y < rig.left.size.height - 5; y += 10)
    for (int x = 5; x < rig.left.size.width - 5; x += 10) {
      const std::array<double, 2> at = pair.true_position(x, y);
      if (at[0] < 0 || at[1] < 0 || at[0] > rig.right.size.width - 1 || at[1] > rig.right.size.height - 1)
        continue;
      const auto l = left.ray({static_cast<double>(x), static_cast<double>(y)}), r = right.ray(at);
      if (!l || !r) continue;
      const Vector3 a = rectification.rotation_left * *l, b = rectification.rotation_right * *r;
      off.push_back(std::abs(rectification.focal * (a[1] / a[2] - b[1] / b[2])));
    }
  std::sort(off.begin(), off.end());
  return off[static_cast<std::size_t>(share * static_cast<double>(off.size() - 1))];
}

}  // namespace parallax
