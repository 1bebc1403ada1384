// SPDX-License-Identifier: Apache-2.0
// Rigs in the formats of other programs, and the command that shows and converts them.
#include <random>
#include <sstream>

#include <nlohmann/json.hpp>

#include "parallax/error.h"
#include "parallax/rig.h"

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/rigs/rig_files.h"
#include "tools/rig_texts.h"

namespace parallax::test {
namespace {

using tool::encode_rig;
using tool::parse_rig;
using tool::RigChoices;
using tool::RigFile;
using tool::RigFormat;

using Files = std::vector<RigFile>;

RigChoices sized(Size size) {
  RigChoices choices;
  choices.size = size;
  return choices;
}

// The file with one part of its text replaced.
RigFile with(const RigFile& file, const std::string& part, const std::string& replacement) {
  RigFile result = file;
  const std::size_t at = result.text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  result.text.replace(at, part.size(), replacement);
  return result;
}

std::string number(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

void expect_refused(const Files& files, const std::string& message, const RigChoices& choices = {}) {
  expect_error(error_of([&] { parse_rig(files, choices); }), ErrorCategory::file, {message});
}

// Every format expresses the same rig in its own way: signs of the translation and of P[3], order of the
// cameras, pixel centres, units.
TEST(RigsTest, EveryFormatGivesTheSameRig) {
  for (const Files& files : {Files{opencv_intrinsics, opencv_extrinsics}, Files{ros_left, ros_right},
                             Files{kalibr}, Files{kitti}}) {
    SCOPED_TRACE(files[0].name);
    expect_near(parse_rig(files), turned_rig());
  }
  expect_near(parse_rig(Files{stereolabs}, sized({1280, 720})), turned_rig());
  EXPECT_EQ(parse_rig(Files{{"rig.json", to_json(turned_rig())}}), turned_rig());
}

TEST(RigsTest, EveryFormatOfRectifiedPicturesGivesTheSameRig) {
  expect_near(parse_rig(Files{opencv_rectified}), parallel_rig());
  expect_near(parse_rig(Files{middlebury}), parallel_rig());
  expect_near(parse_rig(Files{kitti_rectified}, sized({1280, 720})), parallel_rig());
}

TEST(RigsTest, ContentsDecideAndNotNames) {
  RigFile file = kalibr;
  file.name = "noted.txt";
  expect_near(parse_rig(Files{file}), turned_rig());
  file.text = "\r\n  " + to_json(turned_rig());
  EXPECT_EQ(parse_rig(Files{file}), turned_rig());
  for (const std::string text : {"", "no rig", "\x89PNG\r\n", "%PDF", "a: b\n", "- 1\n- 2\n"})
    expect_refused({{"some.file", text}},
                   "some.file is of no known format: give the calibration of OpenCV, ROS");
}

// Line ends of editors on Windows.
TEST(RigsTest, LinesMayEndInReturns) {
  for (const Files& files : {Files{kalibr}, Files{kitti}, Files{ros_left, ros_right}}) {
    Files returned = files;
    for (RigFile& file : returned) {
      std::string text;
      for (const char c : file.text) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
      file.text = text;
    }
    expect_near(parse_rig(returned), turned_rig());
  }
}

TEST(RigsTest, OpenCvKeysHaveManyNames) {
  const RigFile both{"both.yml", opencv_intrinsics.text + opencv_extrinsics.text.substr(14)};
  const struct {
    const char *m1, *m2, *d1, *d2;
  } names[] = {{"K1", "K2", "D1", "D2"},
               {"cameraMatrix1", "cameraMatrix2", "distCoeffs1", "distCoeffs2"},
               {"left_camera_matrix", "right_camera_matrix", "left_distortion_coefficients",
                "right_distortion_coefficients"},
               {"K_LEFT", "K_RIGHT", "D_LEFT", "D_RIGHT"}};
  for (const auto& [m1, m2, d1, d2] : names) {
    RigFile file = with(with(both, "M1:", std::string(m1) + ":"), "M2:", std::string(m2) + ":");
    file = with(with(file, "D1:", std::string(d1) + ":"), "D2:", std::string(d2) + ":");
    expect_near(parse_rig(Files{file}), turned_rig());
  }
}

TEST(RigsTest, OpenCvSizesHaveManyNames) {
  const std::string keys = "image_width: 1280\nimage_height: 720\n";
  for (const std::string size :
       {"imageSize: [ 1280, 720 ]\n", "image_size: [1280, 720]\n", "Size: [ 1280, 720 ]\n",
        "imageSize: !!opencv-matrix\n   rows: 1\n   cols: 2\n   dt: i\n   data: [ 1280, 720 ]\n"})
    expect_near(parse_rig(Files{with(opencv_intrinsics, keys, size), opencv_extrinsics}), turned_rig());
  const Files without{with(opencv_intrinsics, keys, ""), opencv_extrinsics};
  expect_near(parse_rig(without, sized({1280, 720})), turned_rig());
  expect_refused(without,
                 "extrinsics.yml: image_width is missing: give the size of the images with --size WxH");
}

TEST(RigsTest, OpenCvFilesMayDifferInFormat) {
  const RigFile json{"e.json", R"({"R": {"rows": 3, "cols": 1, "data": [0, 0.02, 0]},
                                   "T": {"rows": 3, "cols": 1, "data": [-0.11997600079998933, 0, 0.0023998400031999696]}})"};
  expect_near(parse_rig(Files{opencv_intrinsics, json}), turned_rig());
  expect_near(parse_rig(Files{json, opencv_intrinsics}), turned_rig());
}

TEST(RigsTest, OpenCvRotationMayBeAVector) {
  const RigFile file{
      "extrinsics.yml",
      "%YAML:1.0\n---\nR: !!opencv-matrix\n   rows: 3\n   cols: 1\n   dt: d\n   data: [ 0., 0.02, 0. ]\n" +
          opencv_extrinsics.text.substr(opencv_extrinsics.text.find("T:"))};
  expect_near(parse_rig(Files{opencv_intrinsics, file}), turned_rig());
}

TEST(RigsTest, OpenCvUnitBecomesMetres) {
  RigChoices choices;
  choices.unit = 0.001;
  Rig expected = turned_rig();
  for (double& element : expected.translation) element *= 0.001;
  expect_near(parse_rig(Files{opencv_intrinsics, opencv_extrinsics}, choices), expected);
}

TEST(RigsTest, OpenCvFisheyeIsSaidOrChosen) {
  const RigFile four = with(with(opencv_intrinsics, "cols: 5", "cols: 4"), "-7.0e-04, 0. ]", "-7.0e-04 ]");
  Rig expected = turned_rig();
  expect_near(parse_rig(Files{four, opencv_extrinsics}), expected);
  expected.left.model = expected.right.model = LensModel::equidistant;
  RigChoices fisheye;
  fisheye.fisheye = true;
  expect_near(parse_rig(Files{four, opencv_extrinsics}, fisheye), expected);
  expect_near(parse_rig(Files{with(four, "M1:", "fisheye_model: 1\nM1:"), opencv_extrinsics}), expected);
  expect_near(
      parse_rig(Files{with(with(four, "D1:", "D_LEFT_FE:"), "D2:", "D_RIGHT_FE:"), opencv_extrinsics}),
      expected);
  expect_refused({opencv_intrinsics, opencv_extrinsics},
                 "intrinsics.yml: D1 has 5 coefficients: give the 4 of an equidistant lens", fisheye);
  expect_refused({opencv_rectified}, "rectified.yml is of rectified pictures: leave out --fisheye", fisheye);
}

// If a file has both, the calibrated cameras are taken instead of the rectified ones.
TEST(RigsTest, OpenCvPrefersTheCamerasBeforeRectification) {
  const RigFile all{"extrinsics.yml", opencv_extrinsics.text + opencv_rectified.text.substr(14)};
  expect_near(parse_rig(Files{opencv_intrinsics, all}), turned_rig());
  expect_near(parse_rig(Files{all}), parallel_rig());
}

TEST(RigsTest, RosModelsOfLenses) {
  const auto both = [](const std::string& model, const std::string& count, const std::string& data) {
    RigFile left = with(ros_left, "plumb_bob", model);
    left = with(with(left, "cols: 5", "cols: " + count), "[-0.17, 0.03, 0.0005, -0.0007, 0]", data);
    return Files{left, ros_right};
  };
  Rig expected = turned_rig();
  expected.left.distortion = {1, 2, 3, 4, 5, 6, 7, 8};
  expect_near(parse_rig(both("rational_polynomial", "8", "[1, 2, 3, 4, 5, 6, 7, 8]")), expected);
  expected.left.distortion = {1, 2, 3, 4};
  expected.left.model = LensModel::equidistant;
  expect_near(parse_rig(both("equidistant", "4", "[1, 2, 3, 4]")), expected);
  expect_refused(both("omni", "4", "[1, 2, 3, 4]"),
                 "left.yaml: distortion_model is omni: Parallax knows plumb_bob");
  expect_refused(both("''", "4", "[1, 2, 3, 4]"), "left.yaml: distortion_model is missing");
  expect_refused(both("equidistant", "5", "[1, 2, 3, 4, 5]"),
                 "left.yaml: distortion_coefficients has 5 coefficients");
}

// T = T of cam2 · T of cam1: the second move continues where the first ended.
TEST(RigsTest, KalibrCamerasFarApartInTheChain) {
  const std::string last = kalibr.text.substr(kalibr.text.find("cam1:"));
  const RigFile three{"camchain.yaml", kalibr.text + "cam2" + last.substr(4)};
  const Rig one = turned_rig();
  const double cosine = std::cos(0.04), sine = std::sin(0.04);
  Rig expected = one;
  expected.rotation = {cosine, 0, sine, 0, 1, 0, -sine, 0, cosine};
  for (std::size_t i = 0; i < 3; ++i) {
    expected.translation[i] = one.translation[i];
    for (std::size_t j = 0; j < 3; ++j)
      expected.translation[i] += one.rotation[3 * i + j] * one.translation[j];
  }
  RigChoices choices;
  choices.cameras = {0, 2};
  expect_near(parse_rig(Files{three}, choices), expected);
  choices.cameras = {1, 2};
  expected = one;
  expected.left = one.right;
  expect_near(parse_rig(Files{three}, choices), expected);
  choices.cameras = {1, 7};
  expect_refused({three}, "camchain.yaml: cam7 is missing: give the numbers of two cameras", choices);
}

TEST(RigsTest, KalibrModels) {
  Rig expected = turned_rig();
  expected.right.model = LensModel::equidistant;
  RigFile file = with(kalibr, "distortion_model: radtan\n  intrinsics: [710",
                      "distortion_model: equidistant\n  intrinsics: [710");
  expect_near(parse_rig(Files{file}), expected);
  expected.right.model = LensModel::radial_tangential;
  expected.right.distortion = {};
  file = with(kalibr, "distortion_model: radtan\n  intrinsics: [710",
              "distortion_model: none\n  intrinsics: [710");
  expect_near(parse_rig(Files{file}), expected);
  expect_refused(
      {with(kalibr, "pinhole", "fov")},
      "camchain.yaml: cam0.camera_model is fov: calibrate with the model pinhole, omni, ds or eucm");
  for (const char* model : {"fov", "ucm"})
    expect_refused({with(kalibr, "radtan", model)},
                   std::string("camchain.yaml: cam0.distortion_model is ") + model);
}

TEST(RigsTest, KittiHasFourCameras) {
  RigChoices gray = sized({1280, 720});
  gray.cameras = {0, 1};
  Rig expected = parallel_rig();
  expected.right.centre_x = 640;
  expected.translation[0] = -0.54;
  expect_near(parse_rig(Files{kitti_rectified}, gray), expected);
  gray.cameras = {0, 9};
  expect_refused({kitti_rectified}, "calib.txt: P9 is missing: give the numbers of two cameras", gray);
  RigChoices left_of_all;
  left_of_all.cameras = {0, 3};
  expect_refused({with(kitti, "1.392000e+03 5.120000e+02", "1280 720")},
                 "calib_cam_to_cam.txt: K_00 is missing: give the numbers of two cameras", left_of_all);
  expect_refused({kitti_rectified},
                 "calib.txt: the size of the images is missing: give the size of the images");
}

// R and T lead from camera 0 to each camera, so the left camera's are undone first.
TEST(RigsTest, KittiCamerasReferToCamera0) {
  const double cosine = std::cos(0.02), sine = std::sin(0.02), twice_cosine = std::cos(0.04),
               twice_sine = std::sin(0.04);
  const auto about_y = [](double c, double s) {
    return number(c) + " 0 " + number(s) + " 0 1 0 " + number(-s) + " 0 " + number(c);
  };
  const std::string identity =
      "1.000000e+00 0.000000e+00 0.000000e+00 0.000000e+00 1.000000e+00 0.000000e+00 0.000000e+00 "
      "0.000000e+00 1.000000e+00";
  RigFile file = with(kitti, "R_02: " + identity, "R_02: " + about_y(cosine, sine));
  file = with(file, "R_03: ", "R_03: " + about_y(twice_cosine, twice_sine) + "\nold: ");
  expect_near(parse_rig(Files{file}), turned_rig());
}

TEST(RigsTest, StereolabsResolutions) {
  expect_refused(
      {stereolabs},
      "SN1.conf has cameras of several sizes: choose the images' one with --size: 2208x1242, 1280x720");
  expect_refused({stereolabs},
                 "SN1.conf has no cameras of 640×480: give with --size one of 2208x1242, 1280x720",
                 sized({640, 480}));
  expect_refused({stereolabs}, "SN1.conf: [LEFT_CAM_2K] k1 is missing", sized({2208, 1242}));
  // With one resolution, no choice is needed.
  expect_near(parse_rig(Files{with(stereolabs, "[LEFT_CAM_2K]", "[LEFT_CAM_OLD]")}), turned_rig());
}

// Millimetres; TY and TZ have the signs of T, and Baseline has the other.
TEST(RigsTest, StereolabsTranslation) {
  Rig expected = turned_rig();
  expected.translation[1] = 0.002;
  const RigFile moved = with(stereolabs, "TY=0", "TY=2");
  expect_near(parse_rig(Files{moved}, sized({1280, 720})), expected);
  // A value of the resolution comes first.
  expect_near(parse_rig(Files{with(stereolabs, "TY=0", "ty=7\nty_hd=2 ; mm")}, sized({1280, 720})), expected);
}

TEST(RigsTest, StereolabsLensesForAllResolutions) {
  Rig expected = turned_rig();
  expected.left.distortion = {1, 2, 3, 4, 5, 6, 7, 8};
  expect_near(parse_rig(Files{with(stereolabs, "[STEREO]",
                                   "[LEFT_DISTO]\nk1=1\nk2=2\np1=3\np2=4\nk3=5\nk4=6\nk5=7\nk6=8\n[STEREO]")},
                        sized({1280, 720})),
              expected);
  expected.left.model = expected.right.model = LensModel::equidistant;
  expected.left.distortion = {1, 2, 3, 4};
  expected.right.distortion = {5, 6, 7, 8};
  expect_near(parse_rig(Files{with(stereolabs, "[STEREO]",
                                   "[LEFT_DISTO]\nk1=1\nk2=2\nk3=3\nk4=4\n"
                                   "[RIGHT_DISTO]\nk1=5\nk2=6\nk3=7\nk4=8\n[STEREO]")},
                        sized({1280, 720})),
              expected);
}

TEST(RigsTest, CamerasInTheOtherOrderAreRefusedOrExchanged) {
  const Files files{ros_right, ros_left};
  expect_refused(files,
                 "left.yaml: projection_matrix has the second camera left of the first: give --exchange");
  RigChoices choices;
  choices.exchange = true;
  expect_near(parse_rig(files, choices), turned_rig());
  expect_refused({ros_left, ros_right}, "right.yaml: projection_matrix has the first camera on the left",
                 choices);
}

TEST(RigsTest, BadFilesAreRefusedByKey) {
  const auto opencv = [](const std::string& part, const std::string& replacement) {
    return opencv_intrinsics.text.find(part) != std::string::npos
               ? Files{with(opencv_intrinsics, part, replacement), opencv_extrinsics}
               : Files{opencv_intrinsics, with(opencv_extrinsics, part, replacement)};
  };
  const auto ros = [](const std::string& part, const std::string& replacement) {
    return Files{ros_left, with(ros_right, part, replacement)};
  };
  const struct {
    Files files;
    std::string message;
  } cases[] = {
      {{opencv_intrinsics}, "intrinsics.yml: R is missing: give every file of the calibration"},
      {{opencv_extrinsics}, "extrinsics.yml has neither camera matrices, such as M1 and M2, nor P1 and P2"},
      {{{"c.yml", "%YAML:1.0\n---\nM1: [ 1, 2\n"}},
       "c.yml is not readable: give the calibration as YAML, JSON or XML"},
      {{{"c.xml", "<?xml"}}, "c.xml is not readable: give the calibration as YAML, JSON or XML"},
      {{{"c.json", "{\"M1\": "}}, "c.json is not readable: give the calibration as YAML, JSON or XML"},
      {opencv("image_width: 1280", "image_width: -1"),
       "intrinsics.yml: image_width has a side that is not an integer"},
      {opencv("image_height: 720\n", ""), "extrinsics.yml: image_height is missing"},
      {opencv("M1:", "M0:"), "extrinsics.yml: M1 is missing"},
      {opencv("cols: 3", "cols: 4"), "intrinsics.yml: M1 is not a matrix of 3×3"},
      {opencv("rows: 3", "rows: 3.5"), "intrinsics.yml: M1 is not a matrix of 3×3"},
      {opencv("rows: 3", "rows: 4294967299"), "intrinsics.yml: M1 is not a matrix of 3×3"},
      {opencv("360., 0., 0., 1. ]", "360., 0., 0. ]"), "intrinsics.yml: M1 has 8 numbers instead of 9"},
      {opencv("640.", ".Nan"), "intrinsics.yml: M1 holds a value that is not a finite number"},
      {opencv("640.", ".Inf"), "intrinsics.yml: M1 holds a value that is not a finite number"},
      {opencv("640.", "[1, 2]"), "intrinsics.yml: M1 holds a value that is not a finite number"},
      {opencv("7.0e+02, 0.,", "7.0e+02, 0.1,"),
       "intrinsics.yml: M1 is not a camera matrix [fx 0 cx; 0 fy cy; 0 0 1]"},
      {opencv("7.0e+02", "-1."),
       "intrinsics.yml: M1: focal length along rows is -1: choose a focal length above 0"},
      {opencv("711.", "0."), "intrinsics.yml: M2: focal length along columns is 0"},
      {opencv("D1:", "D0:"), "extrinsics.yml: D1 is missing"},
      {opencv("data: [ -0.16, 0.02, 4.0e-04,", "data: [ 4.0e-04,"),
       "intrinsics.yml: D2 is not a matrix of one row"},
      {opencv("rows: 4\n   cols: 1\n   dt: d\n   data: [ -0.16, 0.02,",
              "rows: 2\n   cols: 1\n   dt: d\n   data: ["),
       "intrinsics.yml: D2 has 2 coefficients: give 4, 5, 8, 12 or 14"},
      {opencv("-0.16", "nan"), "intrinsics.yml: D2 holds a value that is not a finite number"},
      {opencv("1., 0., -0.01", "0.9, 0., -0.01"),
       "extrinsics.yml: R: rotation has rows that are not orthonormal"},
      {opencv("0., 1., 0.", "0., -1., 0."), "extrinsics.yml: R: rotation mirrors"},
      {opencv("T:", "X:"), "extrinsics.yml: T is missing"},
      {opencv("-0.11997600079998933", "0.12"), "extrinsics.yml: T has the second camera left of the first"},
      {{with(opencv_rectified, "-84.", "0.")},
       "rectified.yml: P2: translation is 0, so the rig has no baseline"},
      {{with(opencv_rectified, "-84.", "84.")}, "rectified.yml: P2 has the second camera left of the first"},
      {{with(opencv_rectified, "700., 0., 640.", "0., 0., 640.")},
       "rectified.yml: P1 has a focal length that is not above 0"},
      {{with(opencv_rectified, "P1:", "P0:")}, "rectified.yml: P1 is missing"},
      {{ros_left}, "left.yaml is the camera_info of one camera: give those of both"},
      {{ros_left, kalibr}, "camchain.yaml is of another format than left.yaml"},
      {{ros_left, {"b.yaml", "camera_name: [\n"}}, "b.yaml is not readable: give the camera_info of ROS"},
      {ros("image_width: 1280", "image_width: a"),
       "right.yaml: image_width holds a value that is not a finite number"},
      {ros("image_height: 720\n", ""), "right.yaml: image_height is missing"},
      {ros("camera_matrix:", "matrix:"), "right.yaml: camera_matrix is missing"},
      {ros("distortion_coefficients:", "coefficients:"), "right.yaml: distortion_coefficients is missing"},
      {ros("rectification_matrix:", "rectification:"), "right.yaml: rectification_matrix is missing"},
      {ros("projection_matrix:", "projection:"), "right.yaml: projection_matrix is missing"},
      {ros("0, 1, 0, 0.01", "0, 2, 0, 0.01"), "right.yaml: rectification_matrix: rotation has rows"},
      {ros("[690, 0", "[0, 0"), "right.yaml: projection_matrix has a focal length that is not above 0"},
      {ros("[690, 0", "[690, 1"), "right.yaml: projection_matrix is not a projection matrix"},
      {ros("-82.8", "0"), "right.yaml: projection_matrix: translation is 0"},
      {{kalibr, kalibr}, "camchain.yaml is a rig on its own: leave out camchain.yaml"},
      {{with(kalibr, "cam1:", "cam3:")}, "camchain.yaml: cam1 is missing"},
      {{{"k.yaml", "cam0:\n- [\n"}}, "k.yaml is not readable: give the camchain"},
      {{{"k.yaml", "cam0:\n"}}, "k.yaml: cam0 is missing"},
      {{with(kalibr, "resolution: [1280, 720]", "resolution: [1280]")},
       "camchain.yaml: cam0.resolution has 1 numbers"},
      {{with(kalibr, "intrinsics: [700.0, ", "intrinsics: [")},
       "camchain.yaml: cam0.intrinsics has 3 numbers instead of 4"},
      {{with(kalibr, "intrinsics: [700.0, ", "intrinsics: [0, ")},
       "camchain.yaml: cam0.intrinsics: focal length along rows is 0"},
      {{with(kalibr, "[-0.17, 0.03", "[-0.17, x")}, "camchain.yaml: cam0.distortion_coeffs holds a value"},
      {{with(kalibr, "T_cn_cnm1:", "T_cam_imu:")}, "camchain.yaml: cam1.T_cn_cnm1 is not a matrix of 4 rows"},
      {{with(kalibr, "[0.0, 0.0, 0.0, 1.0]", "[0.0, 0.0, 0.0, 2.0]")},
       "camchain.yaml: cam1.T_cn_cnm1 has another last row"},
      {{with(kalibr, "[0.0, 1.0, 0.0, 0.0]", "[0.0, 1.0, 0.0]")},
       "camchain.yaml: cam1.T_cn_cnm1 has 3 numbers"},
      {{with(kalibr, "[0.0, 1.0, 0.0, 0.0]", "[0.0, 1.1, 0.0, 0.0]")},
       "camchain.yaml: cam1.T_cn_cnm1: rotation has rows"},
      {{with(kitti, "K_03: 7.1", "K_03: x7.1")},
       "calib_cam_to_cam.txt: K_03 holds a value that is not a finite number"},
      {{with(kitti, "K_03: 7.1", "K_03: -7.1")},
       "calib_cam_to_cam.txt: K_03: focal length along rows is -710"},
      {{with(kitti, "S_02: 1.280000e+03 7.2", "S_02: 1.280000e+03 7.2001")},
       "calib_cam_to_cam.txt: S_02 has a side"},
      {{with(kitti, "D_02: ", "D_02: 1 ")}, "calib_cam_to_cam.txt: D_02 has 6 numbers instead of 5"},
      {{with(kitti, "R_03: 0.99", "R_03: 0.98")}, "calib_cam_to_cam.txt: R_03: rotation has rows"},
      {{with(kitti, "T_03: -0.05", "T_03: 1e999 -0.05")},
       "calib_cam_to_cam.txt: T_03 has 4 numbers instead of 3"},
      {{with(kitti, "T_03: -0.05", "T_03: -1e999")},
       "calib_cam_to_cam.txt: T_03 holds a value that is not a finite"},
      {{with(middlebury, "cam0=[700", "cam0=[0")}, "calib.txt: cam0 has a focal length that is not above 0"},
      {{with(middlebury, "baseline=120", "baseline=0")}, "calib.txt: baseline is not above 0"},
      {{with(middlebury, "width=1280\nheight=720\n", "")},
       "calib.txt: width is missing: give the size of the images"},
      {{with(middlebury, "width=1280\n", "")}, "calib.txt: width and height are not both given"},
      {{{"a.conf", "[STEREO]\nBaseline=120\n"}}, "a.conf has no section of a known resolution"},
      {{{"rig.json", "{\"left\": 1}"}}, "rig.json: left is not an object"},
      {{kalibr, kalibr, kalibr}, "a rig has 3 files: give one file, or two of ROS, EuRoC, COLMAP or OpenCV"},
      {{}, "a rig has 0 files: give one file"},
  };
  for (const auto& [files, message] : cases) expect_refused(files, message);
  const auto conf = [&](const std::string& part, const std::string& replacement, const std::string& message) {
    expect_refused({with(stereolabs, part, replacement)}, message, sized({1280, 720}));
  };
  conf("fx=700", "fx=", "SN1.conf: [LEFT_CAM_HD] fx holds a value that is not a finite number");
  conf("fx=710", "fx=-710", "SN1.conf: [RIGHT_CAM_HD] fx: focal length along rows is -710");
  conf("[RIGHT_CAM_HD]", "[RIGHT_CAM]", "SN1.conf: [RIGHT_CAM_HD] fx is missing");
  conf("Baseline=119", "Baseline=-119",
       "SN1.conf: [STEREO] Baseline has the second camera left of the first");
  conf("Baseline=119", "Base=119", "SN1.conf: [STEREO] Baseline is missing");
  conf("CV_HD", "CV_FHD", "SN1.conf: [STEREO] CV_HD is missing");
  conf("[STEREO]", "[LEFT_DISTO]\nk1=1\n[STEREO]", "SN1.conf: [LEFT_DISTO] k2 is missing");
}

TEST(RigsTest, ChoicesThatAFileDoesNotLeaveOpenAreRefused) {
  const auto with_choice = [](const auto& set) {
    RigChoices choices;
    set(choices);
    return choices;
  };
  const RigChoices cameras = with_choice([](RigChoices&c) {
    c.cameras = {0, 1};
  }),
                   unit = with_choice([](RigChoices&c) { c.unit = 0.001; }),
                   fisheye = with_choice([](RigChoices&c) { c.fisheye = true; });
  for (const Files& files : {Files{opencv_rectified}, Files{ros_left, ros_right}, Files{middlebury},
                             Files{stereolabs}, Files{{"rig.json", to_json(turned_rig())}}})
    expect_refused(files, files[0].name + " does not number its cameras: leave out --cameras", cameras);
  for (const Files& files :
       {Files{ros_left, ros_right}, Files{middlebury}, Files{stereolabs}, Files{kalibr}, Files{kitti},
        Files{kitti_rectified}, Files{{"rig.json", to_json(turned_rig())}}}) {
    if (files[0].name != "rig.json")
      expect_refused(files, files[0].name + " has a format with a unit of its own: leave out --unit", unit);
    expect_refused(files, files[0].name + " names the model of its lenses: leave out --fisheye", fisheye);
  }
  for (const Files& files : {Files{opencv_rectified}, Files{ros_left, ros_right}, Files{middlebury},
                             Files{kalibr}, Files{kitti}, Files{{"rig.json", to_json(turned_rig())}}})
    expect_refused(files, "is 1280×720, and --size is 640×480: leave out --size", sized({640, 480}));
}

// Aliases let a small file stand for a large one, and deep nesting exhausts stacks.
TEST(RigsTest, HostileFilesEndSoon) {
  std::string bomb = "%YAML:1.0\n---\na0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + before;
    for (int copy = 1; copy < 10; ++copy) bomb += ", " + before;
    bomb += "]\n";
  }
  expect_refused({{"bomb.yml", bomb + "M1: *a19\nM2: *a19\n"}}, "bomb.yml: image_width is missing");
  expect_refused({{"bomb.yml", bomb + "image_width: *a19\nimage_height: 1\nM1: *a19\n"}},
                 "bomb.yml: image_width has 10 numbers instead of 1");
  const std::string deep(300'000, '[');
  expect_refused({{"deep.yaml", "cam0:\n  resolution: " + deep}},
                 "deep.yaml is not readable: give the camchain");
  expect_refused({{"deep.json", "{\"M1\": " + deep}},
                 "deep.json is nested more than 100 levels deep: give the calibration as YAML, JSON or XML");
  // Brackets in comments and strings do not count.
  const std::string brackets(200, '[');
  expect_refused(
      {{"notes.json", "{// \" " + brackets + "\n/* \" " + brackets + " */ \"M1\": \"" + brackets + "\"}"}},
      "notes.json has neither camera matrices");
  std::string tags = "<opencv_storage>";
  for (int i = 0; i < 100'000; ++i) tags += "<a>";
  expect_refused({{"deep.xml", tags}}, "deep.xml is not readable: give the calibration as YAML, JSON or XML");
}

// Only a limited number of values is converted.
TEST(RigsTest, LongListsAreNotReadToTheirEnds) {
  std::string commas = "1", spaces = "1";
  for (int i = 1; i < 1000; ++i) {
    commas += ", 1";
    spaces += " 1";
  }
  const std::string message = "M1 has at least 64 numbers instead of 9",
                    image = "\"image_width\": 9, \"image_height\": 9";
  expect_refused(
      {{"a.yml", "%YAML:1.0\n---\nimageSize: [9, 9]\nM1: {rows: 3, cols: 3, data: [" + commas + "]}\n"}},
      "a.yml: " + message);
  expect_refused({{"a.json", "{" + image + R"(, "M1": {"rows": 3, "cols": 3, "data": [)" + commas + "]}}"}},
                 "a.json: " + message);
  expect_refused({{"a.xml", "<opencv_storage><Size>9 9</Size><M1><rows>3</rows><cols>3</cols><data>" +
                                spaces + "</data></M1></opencv_storage>"}},
                 "a.xml: " + message);
  expect_refused({with(kitti, "K_02: ", "K_02: " + spaces + "\nold: ")},
                 "calib_cam_to_cam.txt: K_02 has at least 64 numbers instead of 9");
}

// A random rig with as many coefficients as a format can hold.
Rig random_rig(std::mt19937& random, std::size_t coefficients, LensModel model, Size size) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto camera = [&] {
    Camera result{size, between(300, 900), between(300, 900), between(200, 700), between(100, 400), model,
                  {}};
    for (std::size_t i = 0; i < coefficients; ++i) result.distortion[i] = between(-0.5, 0.5);
    return result;
  };
  Rig rig;
  rig.left = camera();
  rig.right = camera();
  // A rotation by a unit quaternion near 1.
  double w = 1, x = between(-0.2, 0.2), y = between(-0.2, 0.2), z = between(-0.2, 0.2);
  const double norm = std::sqrt(w * w + x * x + y * y + z * z);
  w /= norm, x /= norm, y /= norm, z /= norm;
  rig.rotation = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                  2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                  2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  rig.translation = {-between(0.05, 1), between(-0.04, 0.04), between(-0.04, 0.04)};
  return rig;
}

void expect_round_trip(const Rig& rig, RigFormat format, const std::vector<std::string>& paths,
                       const RigChoices& choices = {}) {
  expect_near(parse_rig(encode_rig(rig, format, paths), choices), rig);
}

TEST(RigsTest, WrittenRigsAreReadBack) {
  std::mt19937 random(22);
  const Size size{1280, 720}, small{128, 72};  // a rectification follows every border
  for (int i = 0; i < 20; ++i) {
    for (const LensModel model : {LensModel::radial_tangential, LensModel::equidistant}) {
      const bool fisheye = model == LensModel::equidistant;
      const auto rig_of = [&](std::size_t most, Size images) {
        return random_rig(random, fisheye ? 4 : most, model, images);
      };
      const auto rig = [&](std::size_t most) { return rig_of(most, size); };
      expect_round_trip(rig(14), RigFormat::parallax, {"rig.json"});
      for (const std::size_t coefficients : {0, 4, 5, 8, 12, 14})
        for (const char* name : {"rig.yml", "rig.xml", "rig.json"})
          expect_round_trip(rig(coefficients), RigFormat::opencv, {name});
      expect_round_trip(rig_of(5, small), RigFormat::ros, {"left.yaml", "right.yaml"});
      expect_round_trip(rig_of(8, small), RigFormat::ros, {"left.yaml", "right.yaml"});
      expect_round_trip(rig(4), RigFormat::kalibr, {"chain.yaml"});
      expect_round_trip(rig(5), RigFormat::stereolabs, {"SN.conf"});
      expect_round_trip(rig(8), RigFormat::stereolabs, {"SN.conf"});
      if (!fisheye) expect_round_trip(rig(5), RigFormat::kitti, {"calib.txt"});
    }
    Rig rectified = random_rig(random, 0, LensModel::radial_tangential, size);
    rectified.rotation = Rig().rotation;
    expect_round_trip(rectified, RigFormat::kitti_rectified, {"calib.txt"}, sized(size));
    rectified.left.focal_y = rectified.right.focal_x = rectified.right.focal_y = rectified.left.focal_x;
    rectified.right.centre_y = rectified.left.centre_y;
    rectified.translation[1] = rectified.translation[2] = 0;
    expect_round_trip(rectified, RigFormat::middlebury, {"calib.txt"});
  }
}

TEST(RigsTest, FormatsRefuseWhatTheyCannotHold) {
  const auto refuses = [](Rig rig, RigFormat format, const std::string& what) {
    std::vector<std::string> paths{"a"};
    if (format == RigFormat::ros) paths.push_back("b");
    test::expect_refused([&] { encode_rig(rig, format, paths); },
                         what + ": choose another format, such as Parallax's");
  };
  Rig rig = turned_rig();
  for (const RigFormat format : {RigFormat::kitti_rectified, RigFormat::middlebury})
    refuses(rig, format, "cannot hold a rig that is not rectified");
  rig.left.distortion[4] = 0.1;
  refuses(rig, RigFormat::kalibr, "Kalibr's format cannot hold distortion of 5 coefficients");
  rig.left.distortion[5] = 0.1;
  refuses(rig, RigFormat::kitti, "KITTI's calib_cam_to_cam.txt cannot hold distortion of 6 coefficients");
  rig.left.distortion[8] = 0.1;
  refuses(rig, RigFormat::ros, "ROS's camera_info cannot hold distortion of 9 coefficients");
  refuses(rig, RigFormat::stereolabs, "Stereolabs' format cannot hold distortion of 9 coefficients");
  rig = turned_rig();
  rig.translation = {-0.01, -0.5, 0};
  test::expect_refused(
      [&] {
        encode_rig(rig, RigFormat::ros, {"a", "b"});
      },
      "ROS's camera_info cannot hold cameras above each other");
  rig = turned_rig();
  rig.left.size = rig.right.size = {640, 480};
  refuses(rig, RigFormat::stereolabs, "Stereolabs' format cannot hold images of 640×480");
  rig.left.size = {320, 240};
  refuses(rig, RigFormat::opencv, "OpenCV's format cannot hold images of two sizes");
  rig = turned_rig();
  rig.left.model = LensModel::equidistant;
  for (const RigFormat format : {RigFormat::opencv, RigFormat::kitti, RigFormat::stereolabs})
    refuses(rig, format, "cannot hold two models of lenses");
  rig.right.model = LensModel::equidistant;
  refuses(rig, RigFormat::kitti, "cannot hold an equidistant lens");
  for (const RigFormat format : {RigFormat::kitti_rectified, RigFormat::middlebury}) {
    rig = parallel_rig();
    rig.rotation = turned_rig().rotation;
    refuses(rig, format, "cannot hold a rig that is not rectified");
    rig = parallel_rig();
    rig.right.distortion[0] = 0.1;
    refuses(rig, format, "cannot hold a rig that is not rectified");
    rig = parallel_rig();
    rig.right.size = {640, 480};
    refuses(rig, format, "cannot hold a rig that is not rectified");
  }
  rig = parallel_rig();
  rig.translation[1] = 0.01;
  refuses(rig, RigFormat::middlebury, "cannot hold a baseline that is not horizontal");
  rig.right.focal_x = 701;
  refuses(rig, RigFormat::middlebury,
          "cannot hold focal lengths or rows of the principal points that differ");
  test::expect_refused([] { encode_rig(Rig(), RigFormat::parallax, {"a"}); }, "left.size is 0×0");
}

class RigCommandTest : public CommandTest {
 protected:
  RigCommandTest() {
    for (const RigFile& file :
         {opencv_intrinsics, opencv_extrinsics, ros_left, ros_right, kalibr, stereolabs})
      write(folder_ / file.name, file.text);
  }
};

TEST_F(RigCommandTest, ShowsARig) {
  const Outcome outcome = run("rig show left.yaml right.yaml");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* line :
       {"left camera\n  size            1280×720 px\n  focal length    700.000, 701.000 px\n",
        "  principal point 650.000, 350.000 px\n",
        // atan(640.5 / 700) + atan(639.5 / 700)
        "  field of view   84.9° × 54.4°, without distortion\n",
        "  lens            radial-tangential: -0.17, 0.03, 5e-04, -7e-04\n",
        "baseline          0.120000 m: 0.120000 right, 0.000000 down, 0.000000 forward\n",
        "rotation          1.1459°: 0.0000° about x, 1.1459° about y, 0.0000° about z\n"})
    EXPECT_TRUE(contains(outcome.out, line)) << line << "in:\n" << outcome.out;
  EXPECT_TRUE(
      contains(run("rig show intrinsics.yml extrinsics.yml").out, "0.120000 in the unit of the file"));
  EXPECT_TRUE(
      contains(run("rig show intrinsics.yml extrinsics.yml --unit mm").out, "baseline          0.000120 m"));
  ASSERT_EQ(run("rig convert intrinsics.yml extrinsics.yml -o rig.json").status, 0);
  EXPECT_TRUE(contains(run("rig show rig.json").out, "0.120000 in the unit of the file"));
  EXPECT_TRUE(contains(run("rig show rig.json --unit m").out, "baseline          0.120000 m"));
  EXPECT_TRUE(contains(run("rig show rig.json --unit cm").out, "baseline          0.001200 m"));
}

TEST_F(RigCommandTest, ShowsARigAsJson) {
  const Outcome outcome = run("rig show camchain.yaml --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["left"]["focal"], (std::vector<double>{700, 701}));
  EXPECT_NEAR(report["right"]["field_of_view"][0], 84.057, 0.001);
  EXPECT_NEAR(report["baseline"], 0.12, 1e-12);
  EXPECT_EQ(report["unit"], "m");
  EXPECT_NEAR(report["angles"][1], 0.02 * 180 / 3.14159265358979, 1e-9);
  EXPECT_EQ(report["format"], "kalibr");
  EXPECT_TRUE(
      nlohmann::json::parse(run("rig show intrinsics.yml extrinsics.yml --json").out)["unit"].is_null());
}

TEST_F(RigCommandTest, ConvertsARig) {
  for (const char* command :
       {"rig convert intrinsics.yml extrinsics.yml -o a.json", "rig convert a.json -o b.yml",
        "rig convert b.yml -o c.xml", "rig convert c.xml -o d.json --to opencv",
        "rig convert d.json -o l.yaml r.yaml", "rig convert l.yaml r.yaml -o e.yaml --to kalibr",
        "rig convert e.yaml -o f.conf", "rig convert f.conf -o g.txt --to kitti",
        "rig convert g.txt -o h.json"}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 0) << command << ": " << outcome.err;
    EXPECT_EQ(outcome.out + outcome.err, "");
  }
  const RigFile last{"h.json", contents(folder_ / "h.json")};
  expect_near(parse_rig(Files{last}), turned_rig());
}

TEST_F(RigCommandTest, WrongUseIsRefused) {
  const std::vector<std::string> before = files();
  expect_refusal("rig", 2, {"ACTION", "required"});
  expect_refusal("rig show", 2, {"FILE", "required"});
  expect_refusal("rig explain camchain.yaml", 2, {"ACTION is 'explain': give one of show, convert"});
  expect_refusal("rig show camchain.yaml -o a.json", 2, {"'rig show' writes no file"});
  expect_refusal("rig convert camchain.yaml", 2, {"'rig convert' needs an output"});
  expect_refusal("rig convert camchain.yaml -o a.json --json", 2, {"--json is for 'rig show'"});
  expect_refusal("rig convert camchain.yaml -o a.yaml", 2,
                 {"a.yaml may be of several formats: choose one with --to"});
  expect_refusal("rig convert camchain.yaml -o a.yaml --to ros", 2,
                 {"--to ros writes 2 files, left and right"});
  expect_refusal("rig convert camchain.yaml -o a.yaml b.yaml --to kalibr", 2, {"--to kalibr writes 1 file:"});
  expect_refusal("rig convert camchain.yaml -o camchain.yaml --to kalibr", 2, {"camchain.yaml is also read"});
  expect_refusal("rig convert camchain.yaml -o a.yaml a.yaml", 2, {"a.yaml is also written"});
  expect_refusal("rig convert camchain.yaml -o no/a.json", 1, {"there is no folder"});
  expect_refusal("rig convert camchain.yaml -o a.txt --to middlebury", 2, {"a rig that is not rectified"});
  for (const char* cameras : {"1", "1,0", "0,0", "-1,2", "0,100", "0,1,2", "a,b", "0,"})
    expect_refusal(std::string("rig show camchain.yaml --cameras=") + cameras, 2,
                   {"--cameras", "two numbers"});
  expect_refusal("rig show intrinsics.yml extrinsics.yml --unit km", 2,
                 {"--unit is 'km': give one of m, cm, mm"});
  expect_refusal("rig show SN1.conf", 1, {"SN1.conf has cameras of several sizes"});
  expect_refusal("rig show nothing.yml", 1, {"cannot read nothing.yml"});
  expect_refusal("rig show /dev/zero", 1, {"/dev/zero is a device"});
  std::vector<std::string> after = files();
  std::erase(after, "stdout.txt");
  std::erase(after, "stderr.txt");
  EXPECT_EQ(after, before);
}

TEST_F(RigCommandTest, FilesHaveALimit) {
  write(folder_ / "large.yml", std::string((1 << 20) + 1, ' '));
  expect_refusal("rig show large.yml", 1, {"large.yml", "larger than 1.0 MiB"});
}

TEST_F(RigCommandTest, CompletionOffersActionsThenFiles) {
  EXPECT_EQ(run("completion words rig ''").out, "show\t\nconvert\t\n");
  EXPECT_EQ(run("completion words rig show ''").out, ":files\n");
  EXPECT_TRUE(contains(run("completion words rig convert a.yml --to ''").out, "kalibr\t\n"));
}

}  // namespace
}  // namespace parallax::test
