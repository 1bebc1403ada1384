// SPDX-License-Identifier: Apache-2.0
// COLMAP's cameras.txt with images.txt, or with a file that has R and T. A point X of the world is at R · X + T
// in the coordinates of an image, R being a quaternion w, x, y, z. The corner of the first pixel is (0, 0), so
// its centre is (0.5, 0.5). Lengths have no unit.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

// Where a model has its parameters, by the order of fx, fy, cx, cy and of the coefficients in OpenCV's order;
// 99 = 0.
struct ColmapModel {
  const char* name;
  std::size_t count;
  std::array<std::size_t, 4> intrinsics;
  std::vector<std::size_t> coefficients;
  LensModel lens = LensModel::radial_tangential;
};

constexpr std::size_t none = 99;

const std::vector<ColmapModel>& colmap_models() {
  static const std::vector<ColmapModel> models = {
      {"SIMPLE_PINHOLE", 3, {0, 0, 1, 2}, {}},
      {"PINHOLE", 4, {0, 1, 2, 3}, {}},
      {"SIMPLE_RADIAL", 4, {0, 0, 1, 2}, {3, none, none, none}},
      {"RADIAL", 5, {0, 0, 1, 2}, {3, 4, none, none}},
      {"OPENCV", 8, {0, 1, 2, 3}, {4, 5, 6, 7}},
      {"FULL_OPENCV", 12, {0, 1, 2, 3}, {4, 5, 6, 7, 8, 9, 10, 11}},
      {"OPENCV_FISHEYE", 8, {0, 1, 2, 3}, {4, 5, 6, 7}, LensModel::equidistant},
      {"SIMPLE_RADIAL_FISHEYE", 4, {0, 0, 1, 2}, {3, none, none, none}, LensModel::equidistant},
      {"RADIAL_FISHEYE", 5, {0, 0, 1, 2}, {3, 4, none, none}, LensModel::equidistant}};
  return models;
}

constexpr std::string_view other_models[] = {"FOV", "THIN_PRISM_FISHEYE", "RAD_TAN_THIN_PRISM_FISHEYE"};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word && words.size() < max_stored_values;) words.push_back(word);
  return words;
}

bool is_camera_line(const std::vector<std::string>& words) {
  if (words.size() < 5 || std::isnan(number_in_text(words[0]))) return false;
  const auto& models = colmap_models();
  return std::any_of(models.begin(), models.end(),
                     [&](const auto& model) { return words[1] == model.name; }) ||
         std::find(std::begin(other_models), std::end(other_models), words[1]) != std::end(other_models);
}

// An image has ten words; the lines between have the points of an image, three words each.
bool is_image_line(const std::vector<std::string>& words) {
  if (words.size() < 10) return false;
  for (std::size_t i = 0; i < 9; ++i)
    if (std::isnan(number_in_text(words[i]))) return false;
  return std::isnan(number_in_text(words[9])) || words.size() == 10;
}

struct ColmapImage {
  double number = 0, camera = 0;
  Matrix3 rotation;
  Vector3 translation;
  std::string name;
};

Camera colmap_camera(const std::vector<std::string>& words, const std::string& key) {
  const auto& models = colmap_models();
  const auto model =
      std::find_if(models.begin(), models.end(), [&](const auto& each) { return words[1] == each.name; });
  if (model == models.end())
    fail_at(key, "has the model " + words[1] +
                     ": Parallax knows PINHOLE, RADIAL, OPENCV, FULL_OPENCV, "
                     "OPENCV_FISHEYE and their simple forms; calibrate with one");
  std::vector<double> values;
  for (std::size_t i = 2; i < words.size(); ++i) values.push_back(number_in_text(words[i]));
  checked(values, 2 + model->count, key);
  Camera camera;
  camera.size = size_at({values.data(), 2}, key);
  const double* parameters = values.data() + 2;
  constexpr double corner = 0.5;  // from the corner of the first pixel to its centre
  camera.focal_x = parameters[model->intrinsics[0]];
  camera.focal_y = parameters[model->intrinsics[1]];
  camera.centre_x = parameters[model->intrinsics[2]] - corner;
  camera.centre_y = parameters[model->intrinsics[3]] - corner;
  std::vector<double> lens;
  for (const std::size_t index : model->coefficients) lens.push_back(index == none ? 0 : parameters[index]);
  if (!lens.empty()) set_lens(camera, model->lens, lens, key);
  return camera;
}

Matrix3 rotation_of_quaternion(double w, double x, double y, double z, const std::string& key) {
  const double norm = std::sqrt(w * w + x * x + y * y + z * z);
  if (!(norm > 0) || !std::isfinite(norm)) fail_at(key, "has a quaternion of length 0: give a rotation");
  w /= norm, x /= norm, y /= norm, z /= norm;
  return {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
          2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
          2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
}

class Colmap {
 public:
  explicit Colmap(std::span<const RigFile> files) {
    for (const RigFile& file : files)
      for_each_line(file.text, [&](std::string_view line) {
        if (line.starts_with('#')) return;
        const std::vector<std::string> words = words_of(line);
        if (is_camera_line(words)) {
          cameras_name_ = file.name;
          const double number = number_in_text(words[0]);
          cameras_[number] = colmap_camera(words, key_in(file, "camera " + number_text(number)));
        } else if (is_image_line(words)) {
          images_name_ = file.name;
          add_image(file, words);
        }
      });
  }

  const std::map<double, Camera>& cameras() const { return cameras_; }
  const std::string& cameras_name() const { return cameras_name_; }
  const std::string& images_name() const { return images_name_; }

  const Camera& camera(double number) const {
    const auto found = cameras_.find(number);
    if (found == cameras_.end())
      fail_at(images_name_, "has an image of camera " + number_text(number) + ", which " +
                                (cameras_name_.empty() ? "cameras.txt" : cameras_name_) +
                                " does not have: give the files of one model");
    return found->second;
  }

  // The chosen images, those of the pictures, or the only two.
  std::array<ColmapImage, 2> pair(const RigChoices& choices) const {
    if (choices.cameras) return {image((*choices.cameras)[0]), image((*choices.cameras)[1])};
    const ColmapImage *left = named(choices.picture_names[0]), *right = named(choices.picture_names[1]);
    if (left != nullptr && right != nullptr && left != right) return {*left, *right};
    if (images_.size() != 2)
      fail_at(images_name_, "has " + std::to_string(images_.size()) +
                                " images: choose the left and the right one by their numbers with --cameras");
    return {images_.begin()->second, std::next(images_.begin())->second};
  }

 private:
  void add_image(const RigFile& file, const std::vector<std::string>& words) {
    std::vector<double> values;
    for (std::size_t i = 0; i < 9; ++i) values.push_back(number_in_text(words[i]));
    const std::string key = key_in(file, "image " + words[0]);
    checked(values, 9, key);
    ColmapImage image{values[0],
                      values[8],
                      rotation_of_quaternion(values[1], values[2], values[3], values[4], key),
                      {values[5], values[6], values[7]},
                      words[9]};
    images_[image.number] = image;
  }

  const ColmapImage& image(double number) const {
    const auto found = images_.find(number);
    if (found == images_.end())
      fail_at(images_name_, "has no image " + number_text(number) + ": give others with --cameras");
    return found->second;
  }

  // The only image whose name ends a picture's.
  const ColmapImage* named(const std::string& picture) const {
    const ColmapImage* found = nullptr;
    for (const auto& [number, image] : images_) {
      if (picture.empty() ||
          std::filesystem::path(picture).filename() != std::filesystem::path(image.name).filename())
        continue;
      if (picture.ends_with("/" + image.name)) return &image;
      if (found != nullptr) return nullptr;
      found = &image;
    }
    return found;
  }

  std::map<double, Camera> cameras_;
  std::map<double, ColmapImage> images_;
  std::string cameras_name_, images_name_;
};

// For a pose of another file: the chosen cameras, or the only two, or the only one.
std::array<Camera, 2> colmap_pair_of_cameras(const Colmap& colmap, const RigChoices& choices) {
  const auto& cameras = colmap.cameras();
  if (choices.cameras) return {colmap.camera((*choices.cameras)[0]), colmap.camera((*choices.cameras)[1])};
  if (cameras.empty() || cameras.size() > 2)
    fail_at(colmap.cameras_name(),
            "has " + std::to_string(cameras.size()) + " cameras: choose two by their numbers with --cameras");
  return {cameras.begin()->second, cameras.rbegin()->second};
}

}  // namespace

bool is_colmap_line(std::string_view line) {
  if (line.starts_with("# Camera list with one line of data per camera") ||
      line.starts_with("# Image list with two lines of data per image"))
    return true;
  const std::vector<std::string> words = words_of(line);
  return is_camera_line(words) || (is_image_line(words) && words.size() == 10);
}

Rig read_colmap_rig(std::span<const RigFile> files, const RigChoices& choices) {
  const Colmap colmap(files);
  Rig rig;
  RigKeys keys;
  if (!colmap.images_name().empty()) {
    if (colmap.cameras_name().empty())
      fail_at(colmap.images_name(), "has the poses of images, not their cameras: give cameras.txt, too");
    const auto [left, right] = colmap.pair(choices);
    rig.left = colmap.camera(left.camera);
    rig.right = colmap.camera(right.camera);
    rig.rotation = product(right.rotation, transposed(left.rotation));
    const Vector3 moved = product(rig.rotation, left.translation);
    for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = right.translation[i] - moved[i];
    keys.rotation = keys.translation =
        key_in({colmap.images_name(), ""}, "image " + number_text(right.number));
  } else {
    if (files.size() < 2)
      fail_at(files[0].name,
              "has cameras without a pose: give images.txt, or a file with R and T, as a second file");
    const auto [left, right] = colmap_pair_of_cameras(colmap, choices);
    rig.left = left;
    rig.right = right;
    const RigFile& pose = colmap.cameras_name() == files[0].name ? files[1] : files[0];
    read_stored_pose(pose, rig);
    keys.rotation = key_in(pose, "R");
    keys.translation = key_in(pose, "T");
  }
  for (const Camera* camera : {&rig.left, &rig.right})
    size_of_images(camera->size, choices, colmap.cameras_name() + ": size of the images");
  keys.left = keys.right = colmap.cameras_name();
  return finished(rig, choices, keys);
}

}  // namespace parallax::tool
