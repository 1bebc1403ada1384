// SPDX-License-Identifier: Apache-2.0
// One rig in every format, with numbers computed from each format's definition.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "parallax/rig.h"

#include "tools/files/rigs/rig_files.h"

namespace parallax::test {

// The right camera is 0.12 m to the right and turned about y by 0.02 rad: T = R · (−0.12, 0, 0).
inline Rig turned_rig() {
  Rig rig;
  rig.left = {{1280, 720}, 700, 701, 640, 360, LensModel::radial_tangential, {-0.17, 0.03, 5e-4, -7e-4}};
  rig.right = {{1280, 720}, 710, 711, 650, 350, LensModel::radial_tangential, {-0.16, 0.02, 4e-4, 6e-4}};
  const double cosine = std::cos(0.02), sine = std::sin(0.02);
  rig.rotation = {cosine, 0, sine, 0, 1, 0, -sine, 0, cosine};
  rig.translation = {-0.12 * cosine, 0, 0.12 * sine};
  return rig;
}

// The rig of rectified pictures: 0.12 m, and an offset of disparity of 10 px.
inline Rig parallel_rig() {
  Rig rig;
  rig.left = {{1280, 720}, 700, 700, 640, 360, LensModel::radial_tangential, {}};
  rig.right = {{1280, 720}, 700, 700, 650, 360, LensModel::radial_tangential, {}};
  rig.translation = {-0.12, 0, 0};
  return rig;
}

#define PARALLAX_C "0.99980000666657776"
#define PARALLAX_S "0.019998666693333079"
#define PARALLAX_TX "-0.11997600079998933"
#define PARALLAX_TZ "0.0023998400031999696"

inline const tool::RigFile opencv_intrinsics{"intrinsics.yml", R"(%YAML:1.0
---
image_width: 1280
image_height: 720
M1: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 7.0e+02, 0., 640., 0., 701., 360., 0., 0., 1. ]
D1: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ -0.17, 0.03, 5.0e-04, -7.0e-04, 0. ]
M2: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 710., 0., 650., 0., 711., 350.,
       0., 0., 1. ]
D2: !!opencv-matrix
   rows: 4
   cols: 1
   dt: d
   data: [ -0.16, 0.02, 4.0e-04, 6.0e-04 ]
)"};

inline const tool::RigFile opencv_extrinsics{"extrinsics.yml", R"(%YAML:1.0
---
R: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ )" PARALLAX_C ", 0., " PARALLAX_S ", 0., 1., 0., -" PARALLAX_S ", 0., " PARALLAX_C R"( ]
T: !!opencv-matrix
   rows: 3
   cols: 1
   dt: d
   data: [ )" PARALLAX_TX ", 0., " PARALLAX_TZ R"( ]
)"};

// P2[3] = f · T[0].
inline const tool::RigFile opencv_rectified{"rectified.yml", R"(%YAML:1.0
---
Size: [ 1280, 720 ]
P1: !!opencv-matrix
   rows: 3
   cols: 4
   dt: d
   data: [ 700., 0., 640., 0., 0., 700., 360., 0., 0., 0., 1., 0. ]
P2: !!opencv-matrix
   rows: 3
   cols: 4
   dt: d
   data: [ 700., 0., 650., -84., 0., 700., 360., 0., 0., 0., 1., 0. ]
)"};

// The left camera looks straight ahead, and the right one is turned back: R2 = Rᵀ. P[3] = −f · baseline =
// −690 · 0.12.
inline const tool::RigFile ros_left{"left.yaml", R"(image_width: 1280
image_height: 720
camera_name: left
camera_matrix:
  rows: 3
  cols: 3
  data: [700, 0, 640, 0, 701, 360, 0, 0, 1]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.17, 0.03, 0.0005, -0.0007, 0]
rectification_matrix:
  rows: 3
  cols: 3
  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]
projection_matrix:
  rows: 3
  cols: 4
  data: [690, 0, 645, 0, 0, 690, 355, 0, 0, 0, 1, 0]
)"};
inline const tool::RigFile ros_right{"right.yaml", R"(image_width: 1280
image_height: 720
camera_name: right
camera_matrix:
  rows: 3
  cols: 3
  data: [710, 0, 650, 0, 711, 350, 0, 0, 1]
distortion_model: plumb_bob
distortion_coefficients: {rows: 1, cols: 5, data: [-0.16, 0.02, 0.0004, 0.0006, 0]}
rectification_matrix:
  rows: 3
  cols: 3
  data: [)" PARALLAX_C ", 0, -" PARALLAX_S ", 0, 1, 0, " PARALLAX_S ", 0, " PARALLAX_C R"(]
projection_matrix:
  rows: 3
  cols: 4
  data: [690, 0, 645, -82.8, 0, 690, 355, 0, 0, 0, 1, 0]
)"};

inline const tool::RigFile kalibr{"camchain.yaml", R"(cam0:
  cam_overlaps: [1]
  camera_model: pinhole
  distortion_coeffs: [-0.17, 0.03, 0.0005, -0.0007]
  distortion_model: radtan
  intrinsics: [700.0, 701.0, 640.0, 360.0]
  resolution: [1280, 720]
  rostopic: /left
cam1:
  T_cn_cnm1:
  - [)" PARALLAX_C ", 0.0, " PARALLAX_S ", " PARALLAX_TX R"(]
  - [0.0, 1.0, 0.0, 0.0]
  - [-)" PARALLAX_S ", 0.0, " PARALLAX_C ", " PARALLAX_TZ R"(]
  - [0.0, 0.0, 0.0, 1.0]
  cam_overlaps: [0]
  camera_model: pinhole
  distortion_coeffs: [-0.16, 0.02, 0.0004, 0.0006]
  distortion_model: radtan
  intrinsics: [710.0, 711.0, 650.0, 350.0]
  resolution: [1280, 720]
  rostopic: /right
)"};

// Camera 2 is 0.06 m left of camera 0, to whose coordinates R and T refer.
inline const tool::RigFile kitti{"calib_cam_to_cam.txt", R"(calib_time: 09-Jan-2012 13:57:47
corner_dist: 9.950000e-02
S_00: 1.392000e+03 5.120000e+02
S_02: 1.280000e+03 7.200000e+02
K_02: 7.000000e+02 0.000000e+00 6.400000e+02 0.000000e+00 7.010000e+02 3.600000e+02 0.000000e+00 0.000000e+00 1.000000e+00
D_02: -1.700000e-01 3.000000e-02 5.000000e-04 -7.000000e-04 0.000000e+00
R_02: 1.000000e+00 0.000000e+00 0.000000e+00 0.000000e+00 1.000000e+00 0.000000e+00 0.000000e+00 0.000000e+00 1.000000e+00
T_02: 6.000000e-02 0.000000e+00 0.000000e+00
S_rect_02: 1.242000e+03 3.750000e+02
P_rect_02: 7.215377e+02 0 6.095593e+02 4.485728e+01 0 7.215377e+02 1.728540e+02 2.163791e-01 0 0 1 2.745884e-03
S_03: 1.280000e+03 7.200000e+02
K_03: 7.100000e+02 0.000000e+00 6.500000e+02 0.000000e+00 7.110000e+02 3.500000e+02 0.000000e+00 0.000000e+00 1.000000e+00
D_03: -1.600000e-01 2.000000e-02 4.000000e-04 6.000000e-04 0.000000e+00
R_03: )" PARALLAX_C " 0 " PARALLAX_S " 0 1 0 -" PARALLAX_S " 0 " PARALLAX_C R"(
T_03: -0.059988000399994665 0 0.0011999200015999848
)"};

// Both projections have the offset from camera 0 as their last columns, which include the principal point
// times the depth.
inline const tool::RigFile kitti_rectified{"calib.txt", R"(P0: 700 0 640 0 0 700 360 0 0 0 1 0
P1: 700 0 640 -378 0 700 360 0 0 0 1 0
P2: 7.0e+02 0 640 43.92 0 700 360 1.08 0 0 1 0.003
P3: 7.0e+02 0 650 -40.05 0 700 360 1.08 0 0 1 0.003
R0_rect: 1 0 0 0 1 0 0 0 1
)"};

inline const tool::RigFile middlebury{
    "calib.txt",
    "cam0=[700 0 640; 0 700 360; 0 0 1]\ncam1=[700 0 650; 0 700 360; 0 0 1]\n"
    "doffs=10\nbaseline=120\nwidth=1280\nheight=720\nndisp=64\n"};

inline const tool::RigFile stereolabs{"SN1.conf", R"([LEFT_CAM_2K]
fx=1400
fy=1402
cx=1104
cy=620

[LEFT_CAM_HD]
fx=700
fy=701
cx=640
cy=360
k1=-0.17
k2=0.03
p1=0.0005
p2=-0.0007
k3=0

[RIGHT_CAM_HD]
fx=710
fy=711
cx=650
cy=350
k1=-0.16
k2=0.02
p1=0.0004
p2=0.0006
k3=0

[STEREO]
Baseline=119.97600079998933
TY=0
TZ=2.3998400031999696
CV_2K=0.5
CV_HD=0.02
RX_HD=0
RZ_HD=0
)"};

#undef PARALLAX_C
#undef PARALLAX_S
#undef PARALLAX_TX
#undef PARALLAX_TZ

inline void expect_near(const Rig& actual, const Rig& expected, double tolerance = 1e-12) {
  const auto cameras = [&](const Camera& a, const Camera& e) {
    EXPECT_EQ(a.size, e.size);
    EXPECT_NEAR(a.focal_x, e.focal_x, tolerance * e.focal_x);
    EXPECT_NEAR(a.focal_y, e.focal_y, tolerance * e.focal_y);
    EXPECT_NEAR(a.centre_x, e.centre_x, tolerance * 1000);
    EXPECT_NEAR(a.centre_y, e.centre_y, tolerance * 1000);
    EXPECT_EQ(a.model, e.model);
    for (std::size_t i = 0; i < 14; ++i) EXPECT_NEAR(a.distortion[i], e.distortion[i], tolerance) << i;
  };
  cameras(actual.left, expected.left);
  cameras(actual.right, expected.right);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(actual.rotation[i], expected.rotation[i], tolerance) << i;
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(actual.translation[i], expected.translation[i], tolerance) << i;
}

}  // namespace parallax::test
