// SPDX-License-Identifier: Apache-2.0
// The camera_info files of ROS (camera_calibration_parsers), one for each camera. They have no rotation
// between the cameras: it follows from their rectification. With R1, R2 the rectification matrices and P the
// right camera's projection matrix, in metres: R = R2ᵀ · R1, T = R2ᵀ · (P[3] / P[0], 0, 0). P[3] of the right
// camera is −f · baseline. All are those of the images before the region of interest is cut out and binned.
#include <algorithm>
#include <cmath>

#include "parallax/rectify.h"

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

struct RosCamera {
  Camera camera;
  Matrix3 rectification;
  Projection projection;
};

// A file of camera_calibration_parsers, or a message as rostopic and ros2 topic print it.
class RosFile {
 public:
  explicit RosFile(const RigFile& file)
      : file_(file),
        document_(parse_stored(StoredFormat::yaml, file.text, file.name,
                               "the camera_info of ROS, left and right")) {}

  std::string key(const std::string& name) const { return key_in(file_, name_of(name)); }

  std::vector<double> values(const std::string& name) const {
    const StoredEntry entry = document_->entry(name_of(name));
    return entry.matrix.values.empty() ? entry.numbers : entry.matrix.values;
  }
  bool has(const std::string& name) const { return document_->has(name_of(name)); }
  std::string text(const std::string& name) const { return document_->entry(name).text; }

  // An integer, 0 if it is missing.
  int count(const std::string& path) const {
    if (!document_->has(path)) return 0;
    const double value = checked(document_->entry(path).numbers, key_in(file_, path));
    if (!(value >= 0 && value <= 1'000'000) || value != std::floor(value))
      fail_at(key_in(file_, path), "is not an integer from 0 to 1000000: correct the file");
    return static_cast<int>(value);
  }

  Size size() const {
    const double sides[] = {checked(values("image_width"), key("image_width")),
                            checked(values("image_height"), key("image_height"))};
    return size_at(sides, key("image_width"));
  }

 private:
  // The name in a message, if the file is one: ROS 1 has capitals.
  std::string name_of(const std::string& name) const {
    constexpr std::array<const char*, 3> names[] = {
        {"image_width", "width", "width"},  {"image_height", "height", "height"},
        {"camera_matrix", "K", "k"},        {"distortion_coefficients", "D", "d"},
        {"rectification_matrix", "R", "r"}, {"projection_matrix", "P", "p"}};
    if (document_->has(name)) return name;
    for (const auto& each : names)
      for (const char* other : each)
        if (name == each[0] && document_->has(other)) return other;
    return name;
  }

  const RigFile& file_;
  std::unique_ptr<StoredDocument> document_;
};

LensModel ros_model(const RosFile& file) {
  const std::string name = file.text("distortion_model");
  if (name == "plumb_bob" || name == "rational_polynomial") return LensModel::radial_tangential;
  if (name == "equidistant" || name == "fisheye") return LensModel::equidistant;
  if (name.empty()) fail_at(file.key("distortion_model"), "is missing: add the model, such as plumb_bob");
  fail_at(file.key("distortion_model"),
          "is " + name.substr(0, 64) +
              ": Parallax knows plumb_bob, rational_polynomial and equidistant; calibrate with one of them");
}

// Pictures without distortion may have no coefficients, and then need no model.
void set_ros_lens(const RosFile& file, Camera& camera) {
  const std::string key = "distortion_coefficients";
  if (!file.has(key)) fail_at(file.key(key), "is missing: give the whole calibration");
  const std::vector<double> values = file.values(key);
  if (!values.empty()) set_lens(camera, ros_model(file), values, file.key(key));
}

// The region of interest and the binning that the pictures were taken with, as factors of the calibration.
struct RosView {
  int x = 0, y = 0;
  Size part;  // of the calibrated images
  Size size;  // of the pictures
};

RosView ros_view(const RosFile& file, Size calibrated) {
  RosView view{file.count("roi/x_offset"),
               file.count("roi/y_offset"),
               {file.count("roi/width"), file.count("roi/height")},
               {}};
  if (view.part.width == 0 || view.part.height == 0) view = {0, 0, calibrated, {}};
  if (view.x + view.part.width > calibrated.width || view.y + view.part.height > calibrated.height)
    fail_at(file.key("roi"), "reaches beyond images of " + text(calibrated) + ": correct it");
  const int binning_x = std::max(1, file.count("binning_x")),
            binning_y = std::max(1, file.count("binning_y"));
  view.size = {view.part.width / binning_x, view.part.height / binning_y};
  if (view.size.width < 1 || view.size.height < 1)
    fail_at(file.key("binning_x"), "leaves no pixel of images of " + text(calibrated) + ": correct it");
  view.part = {view.size.width * binning_x, view.size.height * binning_y};
  return view;
}

Projection scaled_projection(Projection projection, Size from, Size to) {
  Camera camera{from, projection.focal_x, projection.focal_y, projection.centre_x, projection.centre_y};
  camera = scaled(camera, to);
  return {camera.focal_x, camera.focal_y, camera.centre_x, camera.centre_y, projection.translation};
}

// The camera of the pictures.
RosCamera ros_camera(const RigFile& rig_file, const RigChoices& choices) {
  const RosFile file(rig_file);
  RosCamera result;
  const RosView view = ros_view(file, file.size());
  set_intrinsics(result.camera, file.values("camera_matrix"), file.key("camera_matrix"));
  crop(result.camera, view.x, view.y, view.part);
  result.camera = scaled(result.camera, view.size);
  size_of_images(result.camera.size, choices, file.key("image_width"));
  set_ros_lens(file, result.camera);
  const std::vector<double> rotation = file.values("rectification_matrix");
  copy_numbers(checked(rotation, 9, file.key("rectification_matrix")), result.rectification);
  result.projection = projection_at(file.values("projection_matrix"), file.key("projection_matrix"));
  crop(result.projection, view.x, view.y);
  result.projection = scaled_projection(result.projection, view.part, view.size);
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

namespace {

void check_ros_files(std::span<const RigFile> files) {
  if (files.size() != 2)
    fail_at(files[0].name, "is the camera_info of one camera: give those of both, left and right");
}

}  // namespace

Rig read_ros_rig(std::span<const RigFile> files, const RigChoices& choices) {
  check_ros_files(files);
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

Rig read_rectified_ros_rig(std::span<const RigFile> files, const RigChoices& choices) {
  check_ros_files(files);
  const RosCamera left = ros_camera(files[0], choices), right = ros_camera(files[1], choices);
  const std::string key = key_in(files[1], "projection_matrix");
  return finished(rectified_rig(left.projection, right.projection, left.camera.size), choices,
                  {key_in(files[0], "projection_matrix"), key, key, key});
}

std::array<std::string, 2> encode_ros_rig(const Rig& rig) {
  // With alpha 1, no lens is refused. The view counts for nothing here.
  const Rectification flat = rectify(rig, {.alpha = 1});
  if (flat.quarter_turns != 0)
    cannot_hold("ROS's camera_info", "cameras above each other, or a left one upside down");
  const double f = (rig.left.focal_y + rig.right.focal_y) / 2,
               x = (rig.left.centre_x + rig.right.centre_x) / 2,
               y = (rig.left.centre_y + rig.right.centre_y) / 2, shift = -f * flat.baseline;
  return {ros_text("left", rig.left, flat.rotation_left, {f, 0, x, 0, 0, f, y, 0, 0, 0, 1, 0}),
          ros_text("right", rig.right, flat.rotation_right, {f, 0, x, shift, 0, f, y, 0, 0, 0, 1, 0})};
}

}  // namespace parallax::tool
