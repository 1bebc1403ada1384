// SPDX-License-Identifier: Apache-2.0
// The camera_info files of ROS (camera_calibration_parsers), one for each camera. They have no rotation
// between the cameras: it follows from their rectification. With R1, R2 the rectification matrices and P the
// right camera's projection matrix, in metres: R = R2ᵀ · R1, T = R2ᵀ · (P[3] / P[0], 0, 0). P[3] of the right
// camera is −f · baseline.
#include <algorithm>

#include "parallax/rectify.h"

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

struct RosCamera {
  Camera camera;
  Matrix3 rectification;
  Projection projection;
};

LensModel ros_model(const StoredDocument& document, const RigFile& file) {
  const std::string name = document.entry("distortion_model").text;
  if (name == "plumb_bob" || name == "rational_polynomial") return LensModel::radial_tangential;
  if (name == "equidistant") return LensModel::equidistant;
  const std::string key = key_in(file, "distortion_model");
  if (name.empty()) fail_at(key, "is missing: add the model, such as plumb_bob");
  fail_at(key,
          "is " + name.substr(0, 64) +
              ": Parallax knows plumb_bob, rational_polynomial and equidistant; calibrate with one of them");
}

std::vector<double> values_at(const StoredDocument& document, const std::string& key) {
  return document.entry(key).matrix.values;
}

RosCamera ros_camera(const RigFile& file, const RigChoices& choices) {
  const auto document =
      parse_stored(StoredFormat::yaml, file.text, file.name, "the camera_info of ROS, left and right");
  const auto key = [&](const char* name) { return key_in(file, name); };
  const double sides[] = {checked(document->entry("image_width").numbers, key("image_width")),
                          checked(document->entry("image_height").numbers, key("image_height"))};
  RosCamera result;
  result.camera.size = size_of_images(size_at(sides, key("image_width")), choices, key("image_width"));
  set_intrinsics(result.camera, values_at(*document, "camera_matrix"), key("camera_matrix"));
  set_lens(result.camera, ros_model(*document, file), values_at(*document, "distortion_coefficients"),
           key("distortion_coefficients"));
  const std::vector<double> rotation = values_at(*document, "rectification_matrix");
  std::ranges::copy(checked(rotation, 9, key("rectification_matrix")), result.rectification.begin());
  result.projection = projection_at(values_at(*document, "projection_matrix"), key("projection_matrix"));
  return result;
}

std::string ros_matrix(const std::string& key, int rows, std::span<const double> values) {
  return key + ":\n  rows: " + std::to_string(rows) +
         "\n  cols: " + std::to_string(values.size() / static_cast<std::size_t>(rows)) + "\n  data: [" +
         numbers_text(values) + "]\n";
}

std::string ros_text(const std::string& name, const Camera& c, const Matrix3& rectification,
                     const std::array<double, 12>& projection) {
  const std::vector<double> lens = lens_coefficients(c, 8, "ROS's camera_info", 5);
  const std::string model = c.model == LensModel::equidistant ? "equidistant"
                            : lens.size() > 5                 ? "rational_polynomial"
                                                              : "plumb_bob";
  return "image_width: " + std::to_string(c.size.width) + "\nimage_height: " + std::to_string(c.size.height) +
         "\ncamera_name: " + name + "\n" + ros_matrix("camera_matrix", 3, camera_matrix(c)) +
         "distortion_model: " + model + "\n" + ros_matrix("distortion_coefficients", 1, lens) +
         ros_matrix("rectification_matrix", 3, rectification) +
         ros_matrix("projection_matrix", 3, projection);
}

}  // namespace

Rig read_ros_rig(std::span<const RigFile> files, const RigChoices& choices) {
  if (files.size() != 2)
    fail_at(files[0].name, "is the camera_info of one camera: give those of both, left and right");
  const RosCamera left = ros_camera(files[0], choices), right = ros_camera(files[1], choices);
  Rig rig;
  rig.left = left.camera;
  rig.right = right.camera;
  const Matrix3 back = transposed(right.rectification);
  rig.rotation = product(back, left.rectification);
  rig.translation =
      product(back, rectified_rig(left.projection, right.projection, rig.left.size).translation);
  const auto camera_key = [&](std::size_t file) { return key_in(files[file], "camera_matrix"); };
  return finished(rig, choices,
                  {camera_key(0), camera_key(1), key_in(files[1], "rectification_matrix"),
                   key_in(files[1], "projection_matrix")});
}

std::array<std::string, 2> encode_ros_rig(const Rig& rig) {
  // With alpha 1, no lens is refused. The view counts for nothing here.
  const Rectification flat = rectify(rig, {.alpha = 1});
  const double f = (rig.left.focal_y + rig.right.focal_y) / 2,
               x = (rig.left.centre_x + rig.right.centre_x) / 2,
               y = (rig.left.centre_y + rig.right.centre_y) / 2, shift = -f * flat.baseline;
  return {ros_text("left", rig.left, flat.rotation_left, {f, 0, x, 0, 0, f, y, 0, 0, 0, 1, 0}),
          ros_text("right", rig.right, flat.rotation_right, {f, 0, x, shift, 0, f, y, 0, 0, 0, 1, 0})};
}

}  // namespace parallax::tool
