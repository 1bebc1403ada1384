// SPDX-License-Identifier: Apache-2.0
// Calibrations as other tools, cameras and data sets write them: the rig and the rectified pair that they mean.
#include <cmath>
#include <regex>
#include <sstream>

#include "parallax/formats.h"

#include "tools/command_fixture.h"
#include "tools/files/calibration.h"
#include "tools/files/pictures.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/rigs/rig_files.h"
#include "tools/files/turned.h"
#include "tools/rig_texts.h"

namespace parallax::test {
namespace {

using FieldFiles = std::vector<tool::RigFile>;

std::string digits(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

// The rotation of turned_rig(), about y by 0.02, and its translation: R · (−0.12, 0, 0).
const std::string c = digits(std::cos(0.02)), s = digits(std::sin(0.02));
const std::string tx = digits(-0.12 * std::cos(0.02)), tz = digits(0.12 * std::sin(0.02));
const std::string r_rows = "[[" + c + ", 0, " + s + "], [0, 1, 0], [-" + s + ", 0, " + c + "]]";

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

Rig field_rig(const FieldFiles& files, const tool::RigChoices& choices = {}) {
  return tool::parse_rig(files, choices);
}

void expect_no_rig(const FieldFiles& files, const std::string& message,
                   const tool::RigChoices& choices = {}) {
  expect_error(error_of([&] { field_rig(files, choices); }), ErrorCategory::file, {message});
}

// Centimetres; the extrinsics of camera 1 lead to camera 2, whose lead to camera 0.
std::string oak_camera(int socket, int to, const std::string& matrix, const std::string& lens,
                       const std::string& rotation, const std::string& translation) {
  return "[" + std::to_string(socket) +
         R"(, {"cameraType": 0, "width": 1280, "height": 720, "intrinsicMatrix": )" + matrix +
         ", \"distortionCoeff\": " + lens + R"(, "extrinsics": {"rotationMatrix": )" + rotation +
         ", \"translation\": " + translation + ", \"toCameraSocket\": " + std::to_string(to) + "}}]";
}

const std::string left_k = "[[700, 0, 640], [0, 701, 360], [0, 0, 1]]",
                  right_k = "[[710, 0, 650], [0, 711, 350], [0, 0, 1]]",
                  left_d = "[-0.17, 0.03, 5e-4, -7e-4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
                  right_d = "[-0.16, 0.02, 4e-4, 6e-4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]";

tool::RigFile oak(const std::string& cameras) {
  return {"oak.json", "{\"boardName\": \"X\", \"cameraData\": [" + cameras + "]}"};
}

TEST(FieldRigsTest, OakCamerasLeadToOneAnother) {
  const std::string t =
      R"({"x": )" + digits(-12 * std::cos(0.02)) + R"(, "y": 0, "z": )" + digits(12 * std::sin(0.02)) + "}";
  const std::string none = R"({"x": 0, "y": 0, "z": 0})", eye = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]";
  const std::string last = oak_camera(2, -1, right_k, right_d, "[]", none);
  expect_near(field_rig({oak(oak_camera(1, 2, left_k, left_d, r_rows, t) + ", " + last)}), turned_rig());
  // Both lead to a third one, 7 cm beside the right camera: X_0 = X_2 − (7, 0, 0).
  const std::string third = oak_camera(0, -1, left_k, left_d, "[]", none);
  const std::string moved = R"({"x": -7, "y": 0, "z": 0})";
  const std::string left_to_third = R"({"x": )" + digits(-12 * std::cos(0.02) - 7) + R"(, "y": 0, "z": )" +
                                    digits(12 * std::sin(0.02)) + "}";
  expect_near(field_rig({oak(third + ", " + oak_camera(1, 0, left_k, left_d, r_rows, left_to_third) + ", " +
                             oak_camera(2, 0, right_k, right_d, eye, moved))}),
              turned_rig());
  // From the right camera to the left one: Rᵀ, and (12, 0, 0).
  const std::string back = "[[" + c + ", 0, -" + s + "], [0, 1, 0], [" + s + ", 0, " + c + "]]";
  expect_near(field_rig({oak(oak_camera(1, -1, left_k, left_d, "[]", none) + ", " +
                             oak_camera(2, 1, right_k, right_d, back, R"({"x": 12, "y": 0, "z": 0})"))}),
              turned_rig());
  const tool::RigFile apart = oak(oak_camera(1, -1, left_k, left_d, "[]", none) + ", " +
                                  oak_camera(2, -1, right_k, right_d, "[]", none));
  expect_no_rig({apart}, "oak.json: camera 1: extrinsics do not lead to camera 2");
  tool::RigChoices choices;
  choices.cameras = {1, 4};
  expect_no_rig({apart}, "oak.json has no camera at socket 4: choose two with --cameras; there are 1, 2",
                choices);
}

// Rows from the left, and pixels from 1.
TEST(FieldRigsTest, MatlabIsTransposed) {
  const auto camera = [](const std::string& matrix, const std::string& radial,
                         const std::string& tangential) {
    return R"({"ImageSize": [720, 1280], "RadialDistortion": )" + radial + R"(, "TangentialDistortion": )" +
           tangential + ", " + matrix + "}";
  };
  const std::string left = camera(R"("IntrinsicMatrix": [[700, 0, 0], [0, 701, 0], [641, 361, 1]])",
                                  "[-0.17, 0.03, 0]", "[5e-4, -7e-4]"),
                    right = camera(R"("K": [[710, 0, 651], [0, 711, 351], [0, 0, 1]])", "[-0.16, 0.02]",
                                   "[4e-4, 6e-4]");
  const std::string pose = R"(, "RotationOfCamera2": [[)" + c + ", 0, -" + s + "], [0, 1, 0], [" + s +
                           ", 0, " + c + R"(]], "TranslationOfCamera2": [)" + digits(-120 * std::cos(0.02)) +
                           ", 0, " + digits(120 * std::sin(0.02)) + "]";
  const std::string cameras = R"("CameraParameters1": )" + left + R"(, "CameraParameters2": )" + right;
  tool::RigChoices millimetres;
  millimetres.unit = 0.001;
  expect_near(field_rig({{"m.json", "{" + cameras + pose + "}"}}, millimetres), turned_rig());
  EXPECT_NEAR(field_rig({{"m.json", "{" + cameras + pose + "}"}}).translation[0], -120 * std::cos(0.02),
              1e-9);
  const tool::RigFile with_unit{"m.json",
                                R"({"stereoParams": {"WorldUnits": "millimeters", )" + cameras + pose + "}}"};
  expect_near(field_rig({with_unit}), turned_rig());
  EXPECT_TRUE(tool::is_in_metres(FieldFiles{with_unit}, {}));
  expect_no_rig({with_unit}, "m.json has a format with a unit of its own: leave out --unit", millimetres);
  // Newer versions have a pose that is not transposed.
  const tool::RigFile newer{"m.json", "{" + cameras + R"(, "PoseCamera2": {"R": )" + r_rows +
                                          R"(, "Translation": [)" + tx + ", 0, " + tz + "]}}"};
  expect_near(field_rig({newer}), turned_rig());
}

// The body is turned by 90° about z against the left camera, and moved: R_BS of the right camera is R_BS of the
// left one · Rᵀ, and it is at (0.12, 0, 0) of the left one.
TEST(FieldRigsTest, EurocCamerasReferToTheBody) {
  const auto sensor = [](const std::string& pose, const std::string& intrinsics, const std::string& lens) {
    return "#Default imu sensor yaml file\nsensor_type: camera\ncomment: VI-Sensor\n\nT_BS:\n  cols: 4\n  "
           "rows: 4\n" +
           ("  data: [" + pose + ", 0.0, 0.0, 0.0, 1.0]\n\nrate_hz: 20\nresolution: [1280, 720]\n") +
           "camera_model: pinhole\nintrinsics: [" + intrinsics + "] #fu, fv, cu, cv\n" +
           "distortion_model: radial-tangential\ndistortion_coefficients: [" + lens + "]\n";
  };
  const std::string left = sensor("0, -1, 0, 1, 1, 0, 0, 2, 0, 0, 1, 3", "700, 701, 640, 360",
                                  "-0.17, 0.03, 0.0005, -0.0007"),
                    right = sensor("0, -1, 0, 1,\n         " + c + ", 0, -" + s + ", 2.12,\n         " + s +
                                       ", 0, " + c + ", 3",
                                   "710, 711, 650, 350", "-0.16, 0.02, 0.0004, 0.0006");
  expect_near(field_rig({{"cam0.yaml", left}, {"cam1.yaml", right}}), turned_rig());
  expect_no_rig({{"cam0.yaml", left}}, "cam0.yaml is the sensor.yaml of one camera: give those of both");
  expect_no_rig({{"cam0.yaml", left}, {"cam1.yaml", replaced(right, "pinhole", "mei")}},
                "cam1.yaml: camera_model is mei");
  const Rig none = field_rig(
      {{"cam0.yaml", replaced(left, "[-0.17, 0.03, 0.0005, -0.0007]", "[]")}, {"cam1.yaml", right}});
  EXPECT_EQ(none.left.distortion, Camera().distortion);
}

TEST(FieldRigsTest, OrbSlamSettings) {
  const auto matrix = [](const std::string& key, int rows, int columns, const std::string& values) {
    return key + ": !!opencv-matrix\n   rows: " + std::to_string(rows) +
           "\n   cols: " + std::to_string(columns) + "\n   dt: d\n   data: [" + values + "]\n";
  };
  const std::string rectified =
      "%YAML:1.0\n\nCamera.fx: 690.0\nCamera.fy: 690.0\nCamera.cx: 645.0\nCamera.cy: 355.0\nCamera.k1: 0.0\n"
      "Camera.width: 1280\nCamera.height: 720\nCamera.bf: 82.8\nThDepth: 35\n";
  const std::string sides = matrix("LEFT.K", 3, 3, "700, 0, 640, 0, 701, 360, 0, 0, 1") +
                            matrix("LEFT.D", 1, 5, "-0.17, 0.03, 0.0005, -0.0007, 0") +
                            matrix("LEFT.R", 3, 3, "1, 0, 0, 0, 1, 0, 0, 0, 1") +
                            matrix("LEFT.P", 3, 4, "690, 0, 645, 0, 0, 690, 355, 0, 0, 0, 1, 0") +
                            matrix("RIGHT.K", 3, 3, "710, 0, 650, 0, 711, 350, 0, 0, 1") +
                            matrix("RIGHT.D", 1, 5, "-0.16, 0.02, 0.0004, 0.0006, 0") +
                            matrix("RIGHT.R", 3, 3, c + ", 0, -" + s + ", 0, 1, 0, " + s + ", 0, " + c) +
                            matrix("RIGHT.P", 3, 4, "690, 0, 645, -82.8, 0, 690, 355, 0, 0, 0, 1, 0");
  expect_near(field_rig({{"orb.yaml", rectified + sides}}), turned_rig());
  for (const std::string& text : {rectified, rectified + sides}) {
    const Calibration calibration = tool::parse_calibration(text, "orb.yaml");
    EXPECT_EQ(calibration.focal, 690);
    EXPECT_EQ(calibration.centre_x, 645);
    EXPECT_NEAR(calibration.baseline, 0.12, 1e-12);
    EXPECT_EQ(calibration.metres_per_unit, 1);
  }
  expect_no_rig({{"orb.yaml", replaced(rectified, "k1: 0.0", "k1: -0.2")}},
                "orb.yaml: Camera.k1 is not 0, so the pictures are not rectified");
  expect_no_rig({{"tum.yaml", rectified + "DepthMapFactor: 5000.0\n"}},
                "tum.yaml has the settings of a depth camera");
  // Version 3: the right camera's pose in the coordinates of the left one, Rᵀ and (0.12, 0, 0).
  const auto camera = [](const std::string& name, const std::string& values) {
    std::istringstream stream(values);
    std::string text, value;
    for (const char* key : {"fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2"}) {
      stream >> value;
      text += name + "." + key + ": " + value + "\n";
    }
    return text;
  };
  const std::string third =
      "%YAML:1.0\nFile.version: \"1.0\"\nCamera.type: \"PinHole\"\n" +
      camera("Camera1", "700 701 640 360 -0.17 0.03 0.0005 -0.0007") +
      camera("Camera2", "710 711 650 350 -0.16 0.02 0.0004 0.0006") +
      "Camera.width: 1280\nCamera.height: 720\n" +
      matrix("Stereo.T_c1_c2", 4, 4,
             c + ", 0, -" + s + ", 0.12, 0, 1, 0, 0, " + s + ", 0, " + c + ", 0, 0, 0, 0, 1");
  expect_near(field_rig({{"orb3.yaml", third}}), turned_rig());
  const std::string fisheye = replaced(replaced(third, "PinHole", "KannalaBrandt8"),
                                       "Camera1.p1: 0.0005\nCamera1.p2", "Camera1.k3: 0.0005\nCamera1.k4");
  EXPECT_EQ(field_rig({{"orb3.yaml", fisheye}}).left.model, LensModel::equidistant);
  EXPECT_EQ(field_rig({{"orb3.yaml", fisheye}}).left.distortion[3], -0.0007);
  const std::string flat =
      "%YAML:1.0\nCamera.type: \"Rectified\"\nCamera1.fx: 690\nCamera1.fy: 690\nCamera1.cx: 645\nCamera1.cy: "
      "355\n"
      "Stereo.b: 0.12\n";
  EXPECT_EQ(tool::parse_calibration(flat, "orb3.yaml").baseline, 0.12);
}

// Q = [1 0 0 −cx; 0 1 0 −cy; 0 0 0 f; 0 0 1/B doffs/B].
TEST(FieldRigsTest, QAloneIsARectifiedPair) {
  const std::string q = "[[1, 0, 0, -640], [0, 1, 0, -360], [0, 0, 0, 700], [0, 0, " + digits(1 / 0.12) +
                        ", " + digits(10 / 0.12) + "]]";
  tool::RigChoices choices;
  choices.size = {1280, 720};
  for (const std::string key : {"Q", "disp_to_depth"}) {
    const FieldFiles files{{"q.json", "{\"" + key + "\": " + q + "}"}};
    expect_near(field_rig(files, choices), parallel_rig(), 1e-9);
    const Calibration calibration = tool::parse_pair_calibration(files).calibration;
    EXPECT_NEAR(calibration.doffs, 10, 1e-9);
    EXPECT_NEAR(calibration.baseline, 0.12, 1e-12);
  }
  expect_no_rig({{"q.json", "{\"Q\": " + replaced(q, "700", "-700") + "}"}}, "q.json: Q is not the matrix Q",
                choices);
  expect_no_rig({{"q.json", "{\"Q\": " + replaced(q, "[[1,", "[[2,") + "}"}}, "q.json: Q is not the matrix Q",
                choices);
}

TEST(FieldRigsTest, PlainDocumentsHaveManyKeys) {
  const auto json = [](const std::string& k1, const std::string& k2, const std::string& d1,
                       const std::string& d2, const std::string& r, const std::string& t) {
    return "{\"" + k1 + "\": " + left_k + ", \"" + k2 + "\": " + right_k + ", \"" + d1 +
           "\": [[-0.17, 0.03, 5e-4, -7e-4, 0]], \"" + d2 + "\": [-0.16, 0.02, 4e-4, 6e-4], \"" + r +
           "\": " + r_rows + ", \"" + t + "\": [[" + tx + "], [0], [" + tz +
           "]], \"image_size\": [1280, 720]}";
  };
  const std::string texts[] = {
      json("M1", "M2", "D1", "D2", "R", "T"),
      json("K1", "K2", "dist1", "dist2", "R", "T"),
      json("camera_matrix_left", "camera_matrix_right", "dist_coeffs_left", "dist_coeffs_right", "R", "T"),
      json("cameraMatrixL", "cameraMatrixR", "distCoeffsL", "distCoeffsR", "rotation_matrix",
           "translation_vector"),
      json("mtxL", "mtxR", "distL", "distR", "rot", "trans"),
      json("K_left", "K_right", "D_left", "D_right", "rotation", "translation"),
      json("left_K", "right_K", "left_D", "right_D", "R", "T"),
      json("cam0_K", "cam1_K", "cam0_D", "cam1_D", "R", "T"),
      json("intrinsics_left", "intrinsics_right", "distortion_left", "distortion_right", "Rot", "Trans"),
      R"({"left": {"K": )" + left_k + R"(, "D": [-0.17, 0.03, 5e-4, -7e-4]}, "right": {"K": )" + right_k +
          R"(, "D": [-0.16, 0.02, 4e-4, 6e-4]}, "R": )" + r_rows + ", \"T\": [" + tx + ", 0, " + tz +
          R"(], "width": 1280, "height": 720})",
      R"({"stereo": {"cameras": [{"camera_matrix": )" + left_k +
          R"(, "dist_coeffs": [-0.17, 0.03, 5e-4, -7e-4], "image_shape": [720, 1280]}, {"camera_matrix": )" +
          right_k +
          R"(, "dist_coeffs": [-0.16, 0.02, 4e-4, 6e-4], "image_shape": [720, 1280, 3]}], "extrinsics": {"R": )" +
          r_rows + ", \"T\": [" + tx + ", 0, " + tz + "]}}}",
      R"({"left": {"fx": 700, "fy": 701, "cx": 640, "cy": 360, "distortion": [-0.17, 0.03, 5e-4, -7e-4]},
          "right": {"fx": 710, "fy": 711, "cx": 650, "cy": 350, "distortion": [-0.16, 0.02, 4e-4, 6e-4]},
          "R": [0, 0.02, 0], "T": [)" +
          tx + ", 0, " + tz + R"(], "resolution": {"width": 1280, "height": 720}})",
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    expect_near(field_rig({{"rig.json", text}}), turned_rig());
    expect_near(field_rig({{"rig.yaml", text.substr(0, 1) + " " + text.substr(1)}}), turned_rig());
  }
  const std::string yaml =
      "left:\n  K: " + left_k + "\n  D: [-0.17, 0.03, 5.0e-4, -7.0e-4]\nright:\n  K: " + right_k +
      "\n  D: [-0.16, 0.02, 4.0e-4, 6.0e-4]\nR:\n- [" + c + ", 0, " + s + "]\n- [0, 1, 0]\n- [-" + s +
      ", 0, " + c + "]\nT: [" + tx + ", 0, " + tz + "]\nimage_size: [1280, 720]\n";
  expect_near(field_rig({{"rig.yaml", yaml}}), turned_rig());
  expect_near(field_rig({{"rig.yaml", "\xEF\xBB\xBF" + yaml}}), turned_rig());
  // No distortion is an empty list.
  EXPECT_EQ(field_rig({{"rig.yaml", replaced(yaml, "[-0.17, 0.03, 5.0e-4, -7.0e-4]", "[]")}}).left.distortion,
            Camera().distortion);
  expect_no_rig({{"rig.yaml", replaced(yaml, "  K: " + right_k, "  X: 1")}}, "rig.yaml: right.K is missing");
  expect_no_rig({{"rig.yaml", replaced(yaml, "\nT:", "\nX:")}}, "rig.yaml: T is missing");
  expect_no_rig({{"rig.yaml", replaced(yaml, "[0, 0, 1]]", "[0, 0]]")}},
                "rig.yaml: left.K is not a matrix of 3×3");
}

// The centre of COLMAP's first pixel is (0.5, 0.5). The left image is at X + (1, 0, 0), the right one is turned
// about y by 0.02: at R · X + 0.88 · (cos, 0, −sin).
TEST(FieldRigsTest, ColmapHasCamerasAndImages) {
  const tool::RigFile cameras{"cameras.txt",
                              "# Camera list with one line of data per camera:\n"
                              "#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n"
                              "1 OPENCV 1280 720 700 701 640.5 360.5 -0.17 0.03 0.0005 -0.0007\n"
                              "2 OPENCV 1280 720 710 711 650.5 350.5 -0.16 0.02 0.0004 0.0006\n"};
  const std::string left = "1 1 0 0 0 1 0 0 1 rig/left/0001.png\n100.5 200.5 17 300 400 -1\n",
                    right = "2 " + digits(std::cos(0.01)) + " 0 " + digits(std::sin(0.01)) + " 0 " +
                            digits(0.88 * std::cos(0.02)) + " 0 " + digits(-0.88 * std::sin(0.02)) +
                            " 2 rig/right/0001.png\n\n";
  const tool::RigFile images{"images.txt", "# Image list with two lines of data per image:\n" + left + right};
  expect_near(field_rig({cameras, images}), turned_rig());
  expect_near(field_rig({images, cameras}), turned_rig());
  const tool::RigFile pose{"pose.yml", "R: " + r_rows + "\nT: [" + tx + ", 0, " + tz + "]\n"};
  expect_near(field_rig({cameras, pose}), turned_rig());
  expect_no_rig({cameras}, "cameras.txt has cameras without a pose: give images.txt, or a file with R and T");
  expect_no_rig({images}, "images.txt has the poses of images, not their cameras: give cameras.txt, too");
  // Of three images, by number or by the names of the pictures.
  const tool::RigFile three{"images.txt", images.text + "3 1 0 0 0 5 0 0 1 rig/left/0002.png\n\n"};
  expect_no_rig({cameras, three},
                "images.txt has 3 images: choose the left and the right one by their numbers");
  tool::RigChoices choices;
  choices.cameras = {1, 2};
  expect_near(field_rig({cameras, three}, choices), turned_rig());
  choices = {};
  choices.picture_names = {"/data/rig/left/0001.png", "/data/rig/right/0001.png"};
  expect_near(field_rig({cameras, three}, choices), turned_rig());
  expect_no_rig({{"cameras.txt", "1 FOV 1280 720 700 701 640 360 0.9\n"}, images},
                "camera 1 has the model FOV");
  const Rig simple =
      field_rig({{"cameras.txt",
                  "1 SIMPLE_RADIAL 1280 720 700 640.5 360.5 -0.1\n2 PINHOLE 1280 720 710 711 650.5 350.5\n"},
                 images});
  EXPECT_EQ(simple.left.focal_y, 700);
  EXPECT_EQ(simple.left.distortion[0], -0.1);
  EXPECT_EQ(simple.right.centre_x, 650);
}

// Pixels that are binned by two have their centres at (0.5, 0.5) of the full ones: (640 + 0.5) / 2 − 0.5.
TEST(FieldRigsTest, RosBinsAndCropsPictures) {
  const auto with = [](const std::string& more) {
    return FieldFiles{{"l.yaml", ros_left.text + more}, {"r.yaml", ros_right.text + more}};
  };
  const Rig binned = field_rig(
      with("binning_x: 2\nbinning_y: 2\nroi:\n  x_offset: 0\n  y_offset: 0\n  height: 0\n  width: 0\n"));
  Rig expected = turned_rig();
  for (Camera* camera : {&expected.left, &expected.right}) {
    camera->size = {640, 360};
    camera->focal_x /= 2, camera->focal_y /= 2;
    camera->centre_x = (camera->centre_x + 0.5) / 2 - 0.5,
    camera->centre_y = (camera->centre_y + 0.5) / 2 - 0.5;
  }
  expect_near(binned, expected);
  const FieldFiles cropped =
      with("roi: {x_offset: 100, y_offset: 40, width: 800, height: 600, do_rectify: false}\n");
  expected = turned_rig();
  for (Camera* camera : {&expected.left, &expected.right}) {
    camera->size = {800, 600};
    camera->centre_x -= 100, camera->centre_y -= 40;
  }
  expect_near(field_rig(cropped), expected);
  // P of the calibrated images has f 690 and the principal point (645, 355).
  const tool::PairCalibration calibration = tool::parse_pair_calibration(cropped);
  EXPECT_EQ(calibration.calibration.centre_x, 545);
  EXPECT_EQ(calibration.calibration.centre_y, 315);
  EXPECT_NEAR(calibration.calibration.baseline, 0.12, 1e-12);
  EXPECT_EQ(calibration.calibration.width, 800);
  expect_no_rig(with("roi: {x_offset: 1000, y_offset: 40, width: 800, height: 600}\n"),
                "l.yaml: roi reaches beyond images of 1280×720");
}

TEST(FieldRigsTest, RosMessagesAndEmptyCoefficients) {
  const auto message = [](const std::string& k, const std::string& d, const std::string& r,
                          const std::string& p) {
    return "header:\n  seq: 1\n  frame_id: left\nheight: 720\nwidth: 1280\ndistortion_model: plumb_bob\nd: " +
           d + "\nk: [" + k + "]\nr: [" + r + "]\np: [" + p +
           "]\nbinning_x: 0\nbinning_y: 0\nroi:\n  x_offset: 0\n---\n";
  };
  const FieldFiles messages{
      {"l.yaml", message("700, 0, 640, 0, 701, 360, 0, 0, 1", "[-0.17, 0.03, 0.0005, -0.0007, 0]",
                         "1, 0, 0, 0, 1, 0, 0, 0, 1", "690, 0, 645, 0, 0, 690, 355, 0, 0, 0, 1, 0")},
      {"r.yaml", message("710, 0, 650, 0, 711, 350, 0, 0, 1", "\n- -0.16\n- 0.02\n- 0.0004\n- 0.0006\n- 0",
                         c + ", 0, -" + s + ", 0, 1, 0, " + s + ", 0, " + c,
                         "690, 0, 645, -82.8, 0, 690, 355, 0, 0, 0, 1, 0")}};
  expect_near(field_rig(messages), turned_rig());
  const std::string lens =
      "distortion_coefficients:\n  rows: 1\n  cols: 5\n  data: [-0.17, 0.03, 0.0005, -0.0007, 0]";
  for (const std::string empty : {"distortion_coefficients:\n  rows: 1\n  cols: 0\n  data: []",
                                  "distortion_coefficients: []", "D: []"}) {
    const Rig rig = field_rig({{"l.yaml", replaced(ros_left.text, lens, empty)}, ros_right});
    EXPECT_EQ(rig.left.distortion, Camera().distortion) << empty;
    EXPECT_EQ(rig.right.distortion[0], -0.16);
  }
}

TEST(FieldRigsTest, KalibrHasLensesOfSpheres) {
  const auto chain = [](const std::string& model, const std::string& parameters,
                        const std::string& distortion) {
    const std::string lens =
        "  distortion_coeffs: [-0.17, 0.03, 0.0005, -0.0007]\n  distortion_model: radtan\n";
    return FieldFiles{
        {"camchain.yaml",
         replaced(replaced(replaced(kalibr.text, "camera_model: pinhole", "camera_model: " + model), lens,
                           distortion.empty() ? lens : distortion),
                  "intrinsics: [700.0", "intrinsics: [" + parameters + ", 700.0")}};
  };
  const std::string none = "  distortion_coeffs: []\n  distortion_model: none\n";
  Rig expected = turned_rig();
  expected.left.model = LensModel::omnidirectional;
  expected.left.distortion = {1.4, -0.17, 0.03, 5e-4, -7e-4};
  expect_near(field_rig(chain("omni", "1.4", "")), expected);
  expected.left.model = LensModel::double_sphere;
  expected.left.distortion = {-0.2, 0.6};
  expect_near(field_rig(chain("ds", "-0.2, 0.6", none)), expected);
  expect_near(field_rig(tool::encode_rig(expected, tool::RigFormat::kalibr, {"a.yaml"})), expected);
  expected.left.model = LensModel::extended_unified;
  expected.left.distortion = {0.6, 1.1};
  expect_near(field_rig(chain("eucm", "0.6, 1.1", none)), expected);
  expect_no_rig(chain("ds", "-0.2, 1.6", none),
                "camchain.yaml: cam0.intrinsics: lens has coefficients out of the range");
  expect_no_rig(chain("ds", "0.6", none), "camchain.yaml: cam0.intrinsics has 5 numbers instead of 6");
  expect_no_rig(chain("eucm", "0.6, 1.1", ""),
                "cam0.distortion_model is radtan, and the model of the camera has none");
}

// Without T_cn_cnm1, both poses from the inertial sensor: the left camera's is X + (0, 0, 1).
TEST(FieldRigsTest, KalibrCamerasMayReferToTheSensor) {
  std::string text = replaced(kalibr.text, "T_cn_cnm1:", "T_cam_imu:");
  text = replaced(
      text, "cam0:\n",
      "cam0:\n  T_cam_imu:\n  - [1, 0, 0, 0]\n  - [0, 1, 0, 0]\n  - [0, 0, 1, 1]\n  - [0, 0, 0, 1]\n");
  // R · (0, 0, 1) + T.
  text = replaced(text, "0.019998666693333079, -0.11997600079998933]",
                  s + ", " + digits(std::sin(0.02) - 0.12 * std::cos(0.02)) + "]");
  text = replaced(text, "0.99980000666657776, 0.0023998400031999696]",
                  c + ", " + digits(std::cos(0.02) + 0.12 * std::sin(0.02)) + "]");
  expect_near(field_rig({{"camchain-imucam.yaml", text}}), turned_rig());
}

TEST(FieldRigsTest, CalibrationsOfRectifiedPairs) {
  // Camera 3 of kitti_rectified is 0.12 m right of camera 2, with a principal point 10 px farther right.
  const FieldFiles kitti_files{kitti_rectified};
  const Calibration kitti_pair = tool::parse_pair_calibration(kitti_files).calibration;
  EXPECT_EQ(kitti_pair.focal, 700);
  EXPECT_EQ(kitti_pair.centre_x, 640);
  EXPECT_EQ(kitti_pair.centre_y, 360);
  EXPECT_NEAR(kitti_pair.doffs, 10, 1e-12);
  EXPECT_NEAR(kitti_pair.baseline, 0.12, 1e-12);
  EXPECT_EQ(kitti_pair.width, 0);
  EXPECT_EQ(kitti_pair.metres_per_unit, 1);
  tool::RigChoices gray;
  gray.cameras = {0, 1};
  EXPECT_NEAR(tool::parse_pair_calibration(kitti_files, gray).calibration.baseline, 0.54, 1e-12);
  const FieldFiles raw{{"calib_cam_to_cam.txt",
                        kitti.text + "P_rect_03: 7.215377e+02 0 6.095593e+02 -3.395242e+02 0 7.215377e+02 "
                                     "1.728540e+02 2.199936e+00 0 0 1 2.729905e-03\n"}};
  // (0.04485728 · … − …): tx = (P[3] − cx · P[11]) / fx of both.
  const double left = (44.85728 - 609.5593 * 2.745884e-03) / 721.5377,
               right = (-339.5242 - 609.5593 * 2.729905e-03) / 721.5377;
  EXPECT_NEAR(tool::parse_pair_calibration(raw).calibration.baseline, left - right, 1e-9);
  EXPECT_EQ(tool::parse_pair_calibration(raw).calibration.width, 1242);
  const FieldFiles ros{ros_left, ros_right};
  EXPECT_EQ(tool::parse_pair_calibration(ros).calibration.focal, 690);
  EXPECT_NEAR(tool::parse_pair_calibration(ros).calibration.baseline, 0.12, 1e-12);
  // A mark of UTF-8, spaces, and ends of lines of Windows.
  const Calibration marked = tool::parse_calibration(
      "\xEF\xBB\xBF"
      "cam0 = [700 0 640; 0 700 360; 0 0 1]\r\n cam1 = [700 0 650; 0 700 360; 0 0 1]\r\nbaseline = 120\r\n"
      "width =1280\r\nheight= 720\r\nndisp = 64\r\n",
      "calib.txt");
  EXPECT_EQ(marked.centre_x, 640);
  EXPECT_EQ(marked.doffs, 10);
  EXPECT_EQ(marked.baseline, 120);
  EXPECT_EQ(marked.height, 720);
  EXPECT_EQ(marked.disparities, 64);
  for (const FieldFiles& files : {FieldFiles{kalibr}, FieldFiles{opencv_intrinsics, opencv_extrinsics}})
    expect_error(error_of([&] { tool::parse_pair_calibration(files); }), ErrorCategory::file,
                 {"give it with --rig"});
}

// The second camera is below the first: P2[7] = −f · baseline.
TEST(FieldRigsTest, VerticalRectifiedPairs) {
  const auto text = [](const std::string& shift) {
    return "%YAML:1.0\n---\nP1: {rows: 3, cols: 4, data: [700, 0, 640, 0, 0, 700, 360, 0, 0, 0, 1, 0]}\n"
           "P2: {rows: 3, cols: 4, data: [700, 0, 640, 0, 0, 700, 370, " +
           shift + ", 0, 0, 1, 0]}\n";
  };
  const FieldFiles below{{"v.yml", text("-84")}}, above{{"v.yml", text("84")}};
  tool::PairCalibration pair = tool::parse_pair_calibration(below);
  EXPECT_EQ(pair.quarter_turns, 3);
  EXPECT_EQ(pair.calibration.doffs, 10);
  EXPECT_NEAR(pair.calibration.baseline, 0.12, 1e-12);
  pair = tool::parse_pair_calibration(above);
  EXPECT_EQ(pair.quarter_turns, 1);
  EXPECT_EQ(pair.calibration.doffs, -10);
}

// One matrix and the baseline.
TEST(FieldRigsTest, ABaselineAloneIsARectifiedPair) {
  for (
      const std::string text :
      {R"({"K": [[700, 0, 640], [0, 700, 360], [0, 0, 1]], "baseline": 0.12, "doffs": 10, "size": [1280, 720]})",
       R"({"fx": 700, "fy": 700, "cx": 640, "cy": 360, "baseline": 0.12, "doffs": 10, "width": 1280, "height": 720})",
       "fx: 700\nfy: 700\ncx: 640\ncy: 360\nbaseline: 0.12\ndoffs: 10\nimage_size: [1280, 720]\n"}) {
    expect_near(field_rig({{"k.yaml", text}}), parallel_rig());
    EXPECT_EQ(tool::parse_calibration(text, "k.yaml").doffs, 10);
  }
  expect_no_rig({{"k.json", R"({"fx": 700, "cx": 640, "cy": 360, "baseline": -0.12, "size": [1280, 720]})"}},
                "k.json: baseline has the second camera left of the first");
}

class FieldRigsCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    make_pair();
    calibration_ = read_middlebury_calibration((folder_ / "pair/calib.txt").string());
  }

  // A pinhole in the middle of pictures of this size.
  Camera camera(Size size) const {
    return {size, calibration_.focal, calibration_.focal, (size.width - 1) / 2.0, (size.height - 1) / 2.0};
  }
  Rig level() const { return {camera({96, 64}), camera({96, 64}), Rig().rotation, {-0.1, 0, 0}}; }

  void store(const std::string& name, const Rig& rig) const { write(folder_ / name, to_json(rig)); }
  void store_turned(const std::string& from, const std::string& to, int quarter_turns) const {
    const tool::Picture turned = tool::turned(tool::read_picture((folder_ / from).string()), quarter_turns);
    const std::vector<std::byte> png = tool::encode_png(turned.view());
    write(folder_ / to, std::string(reinterpret_cast<const char*>(png.data()), png.size()));
  }
  Plane<float> map(const std::string& name) const { return tool::read_disparity((folder_ / name).string()); }

  Calibration calibration_;
};

void expect_same(const Plane<float>& a, const Plane<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  int different = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) different += a.at(x, y) != b.at(x, y);
  EXPECT_EQ(different, 0);
}

const std::string search_of_field = " --method block --disparities 16 --device cpu ";

// The maps of cameras that are turned are those of the same cameras side by side.
TEST_F(FieldRigsCommandTest, TurnedCamerasGiveTheSameMap) {
  store("level.json", level());
  Outcome outcome =
      run("match pair/left.png pair/right.png --rig level.json -o level.pfm --right-output lr.pfm --depth "
          "level.tiff" +
          search_of_field);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "turned")) << outcome.err;
  const Plane<float> expected = map("level.pfm"), depth = map("level.tiff"), right = map("lr.pfm");

  Rig upside_down = level();
  upside_down.rotation = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  upside_down.translation = {0.1, 0, 0};
  store("upside_down.json", upside_down);
  store_turned("pair/right.png", "right180.png", 2);
  outcome = run("match pair/left.png right180.png --rig upside_down.json -o d.pfm" + search_of_field);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the right camera is upside down")) << outcome.err;
  expect_same(map("d.pfm"), expected);

  // The left one: the right one is on its left, and the map is turned with its picture.
  upside_down.translation = {-0.1, 0, 0};
  store("upside_down.json", upside_down);
  store_turned("pair/left.png", "left180.png", 2);
  outcome = run("match left180.png pair/right.png --rig upside_down.json -o d.pfm" + search_of_field);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the left camera is upside down")) << outcome.err;
  expect_same(map("d.pfm"), tool::turned(expected, 2));

  // Above each other, in both orders: turned clockwise, what was right is below.
  for (const int turns : {1, 3}) {
    Rig vertical{camera({64, 96}), camera({64, 96}), Rig().rotation, {0, turns == 1 ? -0.1 : 0.1, 0}};
    store("vertical.json", vertical);
    store_turned("pair/left.png", "one.png", turns);
    store_turned("pair/right.png", "two.png", turns);
    outcome =
        run("match one.png two.png --rig vertical.json -o d.pfm --right-output r.pfm --depth d.tiff --json" +
            search_of_field);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(
        contains(outcome.err, "the cameras are above each other: their pictures are turned by 90°\n"));
    EXPECT_TRUE(contains(outcome.err, "the map is turned back to the left picture\n")) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "\"width\": 64")) << outcome.out;
    expect_same(map("d.pfm"), tool::turned(expected, turns));
    expect_same(map("r.pfm"), tool::turned(right, turns));
    expect_same(map("d.tiff"), tool::turned(depth, turns));
    // A batch, a sequence and a rectified calibration.
    write(folder_ / "list.txt", "one.png two.png\n");
    ASSERT_EQ(run("batch list.txt --rig vertical.json -o b.pfm" + search_of_field).status, 0);
    expect_same(map("b.pfm"), tool::turned(expected, turns));
    ASSERT_EQ(run("match 'o?e.png' 't?o.png' --rig vertical.json -o s_%d.pfm" + search_of_field).status, 0);
    expect_same(map("s_0.pfm"), tool::turned(expected, turns));
    const std::string p = "[[" + digits(calibration_.focal) + ", 0, 31.5, 0], [0, " +
                          digits(calibration_.focal) + ", 47.5, ",
                      last = "], [0, 0, 1, 0]]";
    write(folder_ / "v.json", "{\"P1\": " + p + "0" + last + ", \"P2\": " + p +
                                  digits((turns == 1 ? -0.1 : 0.1) * calibration_.focal) + last + "}");
    outcome = run("match one.png two.png --calib v.json -o d.pfm --depth d.tiff" + search_of_field);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "the map is turned back")) << outcome.err;
    expect_same(map("d.tiff"), tool::turned(depth, turns));
    expect_refusal("match one.png two.png --calib v.json -o d.pfm --tile-size 48x48" + search_of_field, 1,
                   {"v.json has cameras above each other", "tiles do not support"});
  }
  EXPECT_EQ(run("check one.png two.png --rig vertical.json").status, 1);  // no texture to check
}

TEST_F(FieldRigsCommandTest, PicturesGiveSizesThatFilesLack) {
  const std::string k = "[[96, 0, 47.5], [0, 96, 31.5], [0, 0, 1]]",
                    rig = "{\"K1\": " + k + ", \"K2\": " + k +
                          R"(, "D1": [], "D2": [], "R": [0, 0, 0], "T": [-0.1, 0, 0]})";
  write(folder_ / "rig.json", rig);
  for (const std::string& command : {"match pair/left.png pair/right.png -o d.pfm" + search_of_field,
                                     std::string("rectify pair/left.png pair/right.png -o l.png r.png")}) {
    const Outcome outcome = run(command + " --rig rig.json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
  expect_refusal("match pair/left.png pair/right.png -o d.pfm --rig rig.json --size 100x64" + search_of_field,
                 1, {"pair/left.png is 96×64", "100×64"});
  expect_refusal("rig show rig.json", 1,
                 {"rig.json: image_width is missing: give the size of the images with --size"});
}

// The calibration is of twice the size, or of another shape.
TEST_F(FieldRigsCommandTest, PicturesMayBeScaled) {
  store("level.json", level());
  Rig twice = level();
  for (Camera* each : {&twice.left, &twice.right})
    *each = {{192, 128}, 2 * calibration_.focal, 2 * calibration_.focal, 95.5, 63.5};
  store("twice.json", twice);
  const std::string match = "match pair/left.png pair/right.png --depth d.tiff" + search_of_field;
  ASSERT_EQ(run(match + "-o level.pfm --rig level.json").status, 0);
  Outcome outcome = run(match + "-o d.pfm --rig twice.json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the pictures are 96×64, and the images of twice.json are 192×128"))
      << outcome.err;
  expect_same(map("d.pfm"), map("level.pfm"));
  twice.left.size = twice.right.size = {192, 120};
  store("cropped.json", twice);
  expect_refusal(match + "-o d.pfm --rig cropped.json", 1,
                 {"pair/left.png is 96×64", "192×120", "cropped, binned"});

  ASSERT_EQ(run(match + "-o level.pfm --calib pair/calib.txt").status, 0);
  const Plane<float> depth = map("d.tiff");
  const auto calib = [&](const std::string& size) {
    return "cam0=[" + digits(2 * calibration_.focal) + " 0 95.5; 0 " + digits(2 * calibration_.focal) +
           " 63.5; 0 0 1]\nbaseline=" + digits(calibration_.baseline) +
           "\ndoffs=" + digits(2 * calibration_.doffs) + "\n" + size;
  };
  write(folder_ / "calib2.txt", calib("width=192\nheight=128\n"));
  outcome = run(match + "-o d.pfm --calib calib2.txt");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the calibration is scaled")) << outcome.err;
  expect_same(map("d.tiff"), depth);
  write(folder_ / "calib3.txt", calib("width=192\nheight=120\n"));
  expect_refusal(match + "-o d.pfm --calib calib3.txt", 1, {"calib3.txt is for images of 192×120", "96×64"});
}

// --calib stands anywhere, and takes both files of ROS.
TEST_F(FieldRigsCommandTest, CalibrationsMayBeTwoFiles) {
  for (const char* side : {"left", "right"}) {
    const bool is_left = side == std::string("left");
    write(folder_ / (std::string(side) + ".yaml"),
          "image_width: 96\nimage_height: 64\ncamera_name: x\n"
          "camera_matrix: {rows: 3, cols: 3, data: [96, 0, 47.5, 0, 96, 31.5, 0, 0, 1]}\n"
          "distortion_model: plumb_bob\ndistortion_coefficients: {rows: 1, cols: 0, data: []}\n"
          "rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}\n"
          "projection_matrix: {rows: 3, cols: 4, data: [96, 0, 47.5, " +
              std::string(is_left ? "0" : "-9.6") + ", 0, 96, 31.5, 0, 0, 0, 1, 0]}\n");
  }
  write(folder_ / "calib.txt", "cam0=[96 0 47.5; 0 96 31.5; 0 0 1]\nbaseline=100\n");
  ASSERT_EQ(
      run("match --calib calib.txt pair/left.png pair/right.png --depth a.tiff" + search_of_field).status, 0);
  for (const char* words : {"pair/left.png pair/right.png --calib left.yaml right.yaml",
                            "--calib left.yaml right.yaml pair/left.png pair/right.png",
                            "--calib=left.yaml pair/left.png --calib=right.yaml pair/right.png"}) {
    const Outcome outcome = run("match " + std::string(words) + " --depth b.tiff" + search_of_field);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    expect_same(map("a.tiff"), map("b.tiff"));
  }
  // The advice for a calibration of the other order works.
  expect_refusal("match pair/left.png pair/right.png --calib right.yaml left.yaml -o d.pfm" + search_of_field,
                 1, {"give --exchange, and the left picture first"});
  ASSERT_EQ(run("match pair/left.png pair/right.png --calib right.yaml left.yaml --exchange --depth b.tiff" +
                search_of_field)
                .status,
            0);
  expect_same(map("a.tiff"), map("b.tiff"));
  expect_refusal("match pair/left.png pair/right.png --calib left.yaml -o d.pfm" + search_of_field, 1,
                 {"left.yaml is the camera_info of one camera"});
}

// Every command with --rig has the options of all of them.
TEST_F(FieldRigsCommandTest, RigsHaveTheSameOptionsEverywhere) {
  std::vector<std::string> commands = {"rectify", "match", "check", "batch", "flow"};
#ifdef PARALLAX_HAS_VIEW
  commands.push_back("view");
#endif
  for (const std::string& command : commands) {
    const std::string help = run(command + " --help-all").out;
    for (const char* option : {"--rig", "--alpha", "--zoom", "--output-size", "--free-centres",
                               "--interpolation", "--size", "--cameras", "--unit", "--fisheye", "--exchange"})
      EXPECT_TRUE(contains(help, option)) << command << " " << option;
  }
}

// Frames of the left camera lose their distortion before they are matched.
TEST_F(FieldRigsCommandTest, FlowStraightensFrames) {
  Rig bent = level();
  bent.left.distortion = {-0.3, 0.1};
  bent.right.size = {192, 128};
  store("bent.json", bent);
  Rig alone{bent.left, bent.left, Rig().rotation, {-1, 0, 0}};
  store("alone.json", alone);
  ASSERT_EQ(run("rectify pair/left.png pair/right.png --rig alone.json -o l.png r.png --device cpu").status,
            0);
  const std::string search = " --range 9x5 --device cpu";
  ASSERT_EQ(run("flow l.png r.png -o expected.flo" + search).status, 0);
  const Outcome outcome = run("flow pair/left.png pair/right.png --rig bent.json -o a.flo" + search);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(contents(folder_ / "a.flo"), contents(folder_ / "expected.flo"));
  fs::create_directory(folder_ / "frames");
  fs::copy_file(folder_ / "pair/left.png", folder_ / "frames/1.png");
  fs::copy_file(folder_ / "pair/right.png", folder_ / "frames/2.png");
  ASSERT_EQ(run("flow frames --rig bent.json -o flows/" + search).status, 0);
  EXPECT_EQ(contents(folder_ / "flows/1.flo"), contents(folder_ / "expected.flo"));
}

// The advice of a message works, and names options, not members of structs.
TEST_F(FieldRigsCommandTest, MessagesHaveNoNamesOfCpp) {
  Rig converging = level();
  const double angle = 80 * 3.14159265358979 / 180;
  converging.rotation = {std::cos(angle), 0, std::sin(angle), 0, 1, 0, -std::sin(angle), 0, std::cos(angle)};
  converging.translation = {-std::cos(angle / 2), 0, std::sin(angle / 2)};
  store("converging.json", converging);
  const std::string match = "match pair/left.png pair/right.png -o d.pfm" + search_of_field;
  expect_refusal(match + "--rig converging.json", 2,
                 {"no rectangle was seen by both", "--free-centres", "--alpha 1"});
  for (const char* advice : {"--free-centres", "--alpha 1"})
    EXPECT_EQ(run(match + "--rig converging.json " + advice).status, 0) << advice;
  for (const std::string& command : {match, std::string("check pair/left.png pair/right.png ")}) {
    const Outcome outcome =
        run(command + "--rig converging.json --repair" + (command == match ? "" : " new.json"));
    EXPECT_NE(outcome.status, 0);
    EXPECT_TRUE(contains(outcome.err, "leave out --repair, and give --free-centres or --alpha 1"))
        << outcome.err;
  }

  Rig backwards = level();
  backwards.rotation = {-1, 0, 0, 0, 1, 0, 0, 0, -1};
  store("backwards.json", backwards);
  write(folder_ / "exchanged.json", replaced(to_json(level()), "-0.1", "0.1"));
  write(folder_ / "focal.json", replaced(to_json(level()), "\"focal\":[", "\"focal\":[-"));
  write(folder_ / "mirror.json", replaced(to_json(level()), "[1.0,0.0,0.0]", "[-1.0,0.0,0.0]"));
  write(folder_ / "k.json",
        R"({"K1": [[-5,0,1],[0,5,1],[0,0,1]], "K2": [[5,0,1],[0,5,1],[0,0,1]], "D1": [], "D2": [],
                               "R": [0,0,0], "T": [-1,0,0]})");
  write(folder_ / "k.yml", "%YAML:1.0\n---\nK1: [[5,0,1],[0,5,1],[0,0,1]]\n");
  write(folder_ / "camchain.yaml", replaced(kalibr.text, "pinhole", "fov"));
  for (const std::string rig :
       {"backwards.json", "exchanged.json", "focal.json", "mirror.json", "k.json", "k.yml", "camchain.yaml",
        "pair/left.png", "text.png", "missing.json", "level.json --alpha 2", "level.json --zoom 0",
        "level.json --output-size 0x3", "level.json --output-size 1x1", "level.json --fisheye",
        "level.json --cameras 0,1", "level.json --unit km", "level.json --size 9x9",
        "level.json --zoom 0.001"}) {
    store("level.json", level());
    for (const std::string& command :
         {match, std::string("rectify pair/left.png pair/right.png -o l.png r.png "),
          std::string("check pair/left.png pair/right.png ")}) {
      const Outcome outcome = run(command + "--rig " + rig);
      if (outcome.status == 0) continue;
      const std::regex of_cpp(
          "::|[A-Za-z]+Parameters|Rectification|\\b(left|right)\\.[a-z]+_|\\b[a-z]+(_[a-z]+)* = |"
          "same_centres|focal_x|focal_y|centre_x|centre_y");
      EXPECT_FALSE(std::regex_search(outcome.err, of_cpp)) << command << rig << ": " << outcome.err;
    }
  }
}

}  // namespace
}  // namespace parallax::test
