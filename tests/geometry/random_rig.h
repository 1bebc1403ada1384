// SPDX-License-Identifier: Apache-2.0
// Typical rigs of desks and cars: cameras side by side, almost parallel, with lenses of all models.
#pragma once

#include <algorithm>
#include <random>

#include "parallax/rig.h"

#include "geometry/matrix.h"

namespace parallax::test {

class RandomRig {
 public:
  explicit RandomRig(unsigned seed) : random_(seed) {}

  Rig rig() {
    const LensModel model = between(0, 1) < 0.5 ? LensModel::radial_tangential : LensModel::equidistant;
    const Size size = {static_cast<int>(between(200, 700)), static_cast<int>(between(150, 500))};
    return rig(camera(model, size), camera(model, size));
  }
  Rig rig(const Camera& left, const Camera& right) {
    Rig rig{left, right};
    rig.rotation = rotation_about({between(-0.06, 0.06), between(-0.08, 0.08), between(-0.06, 0.06)});
    const double baseline = between(0.05, 2);
    rig.translation = {-baseline, baseline * between(-0.1, 0.1), baseline * between(-0.1, 0.1)};
    return rig;
  }

  Camera camera(LensModel model, Size size) {
    Camera camera;
    camera.size = size;
    camera.model = model;
    camera.focal_x = std::max(size.width, size.height) * between(0.7, 1.1);
    camera.focal_y = camera.focal_x * between(0.98, 1.02);
    camera.centre_x = size.width * between(0.47, 0.53);
    camera.centre_y = size.height * between(0.47, 0.53);
    if (model == LensModel::omnidirectional)
      camera.distortion = {between(0.5, 1.5), between(-0.1, 0.1), between(-0.02, 0.02),
                           between(-0.003, 0.003), between(-0.003, 0.003)};
    else if (model == LensModel::double_sphere)
      camera.distortion = {between(-0.3, 0.3), between(0.3, 0.7)};
    else if (model == LensModel::extended_unified)
      camera.distortion = {between(0.3, 0.7), between(0.8, 1.3)};
    else if (model == LensModel::equidistant)
      for (std::size_t i = 0; i < 4; ++i) camera.distortion[i] = between(-0.02, 0.02);
    else
      bend(camera);
    return camera;
  }

  double between(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }

 private:
  void bend(Camera& camera) {
    const double largest[] = {0.12,  0.03,  0.003, 0.003, 0.01,  0.03, 0.01,
                              0.005, 0.002, 0.002, 0.002, 0.002, 0.02, 0.02};
    for (std::size_t i = 0; i < 14; ++i) camera.distortion[i] = between(-largest[i], largest[i]);
  }

  std::mt19937 random_;
};

// The cameras of opencv-doc's thirteen pairs of a chessboard, as stereoCalibrate finds them with the flags of
// OpenCV's sample stereo_calib.
inline Rig chessboard_rig() {
  Camera left;
  left.size = {640, 480};
  left.focal_x = 533.9879454508812, left.focal_y = 528.7108149149337;
  left.centre_x = 328.3864747039266, left.centre_y = 236.8427283724105;
  Camera right = left;
  left.distortion = {-0.2589657838456926, -0.1261853131879959, 0, 0, 0, 0, 0, -0.3996361443655808};
  right.centre_x = 313.7703354041877, right.centre_y = 241.8704534950236;
  right.distortion = {-0.2629623236465812, -0.01215372329938986, 0, 0, 0, 0, 0, -0.1951042559404161};
  const Matrix3 rotation = {0.9999714958704282,    0.004821013613892314, 0.005810789481027335,
                            -0.004886669004481243, 0.9999237805985666,   0.01133814180147064,
                            -0.005755685250150086, -0.01136621402245614, 0.9999188373393597};
  return {left, right, rotation, {-0.08356771645377636, 0.0011706485951976, 9.130578534180811e-05}};
}

// Wide images of long focal length and strong barrel distortion, like those of KITTI's gray cameras.
inline Rig car_rig() {
  Camera left;
  left.size = {1392, 512};
  left.focal_x = 984.2, left.focal_y = 980.8;
  left.centre_x = 690.0, left.centre_y = 233.2;
  left.distortion = {-0.37, 0.196, 0.0013, 0.0017, -0.066};
  Camera right = left;
  right.focal_x = 989.5, right.focal_y = 987.7;
  right.centre_x = 702.0, right.centre_y = 245.6;
  right.distortion = {-0.364, 0.179, 0.001, -0.00054, -0.0534};
  return {left, right, rotation_about({0.0106, -0.0201, 0.0098}), {-0.537, 0.0048, -0.0125}};
}

}  // namespace parallax::test
