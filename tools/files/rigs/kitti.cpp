// SPDX-License-Identifier: Apache-2.0
// The calibrations of KITTI: calib_cam_to_cam.txt of the raw recordings, before rectification, and calib.txt
// of the benchmarks, rectified. Cameras 0 and 1 are gray, 2 and 3 are coloured; 0 and 2 are the left ones.
// Metres.
#include <algorithm>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

constexpr std::array colour_cameras{2, 3};

// The numbers of the line "key: 1 2 3"; empty if there is none.
std::vector<double> kitti_numbers(const RigFile& file, const std::string& key) {
  std::vector<double> numbers;
  for_each_line(file.text, [&](std::string_view line) {
    if (numbers.empty() && line.starts_with(key + ":"))
      numbers = numbers_in_text(line.substr(key.size() + 1));
  });
  return numbers;
}

// The same for a matrix that every camera has.
std::vector<double> kitti_camera_matrix(const RigFile& file, const std::string& key) {
  const std::vector<double> numbers = kitti_numbers(file, key);
  if (numbers.empty())
    fail_at(key_in(file, key), "is missing: give the numbers of two cameras of the file with --cameras");
  return numbers;
}

// The keys of a camera: K_02.
struct KittiKeys {
  const RigFile& file;
  int number;

  std::string key(const std::string& letter) const {
    return letter + (number < 10 ? "_0" : "_") + std::to_string(number);
  }
  std::string place(const std::string& letter) const { return key_in(file, key(letter)); }
  std::vector<double> numbers(const std::string& letter) const { return kitti_numbers(file, key(letter)); }
};

Camera kitti_camera(const KittiKeys& keys, const RigChoices& choices) {
  Camera camera;
  set_intrinsics(camera, kitti_camera_matrix(keys.file, keys.key("K")), keys.place("K"));
  camera.size = size_of_images(size_at(keys.numbers("S"), keys.place("S")), choices, keys.place("S"));
  const std::vector<double> lens = keys.numbers("D");
  set_lens(camera, LensModel::radial_tangential, checked(lens, 5, keys.place("D")), keys.place("D"));
  return camera;
}

// R and T of a camera: from the coordinates of camera 0 to its own.
Rig from_camera_0(const KittiKeys& keys) {
  Rig rig;
  const std::vector<double> rotation = keys.numbers("R"), translation = keys.numbers("T");
  copy_numbers(checked(rotation, 9, keys.place("R")), rig.rotation);
  copy_numbers(checked(translation, 3, keys.place("T")), rig.translation);
  return rig;
}

}  // namespace

Rig read_kitti_rig(const RigFile& file, const RigChoices& choices) {
  const auto [first, second] = choices.cameras.value_or(colour_cameras);
  const KittiKeys left{file, first}, right{file, second};
  Rig rig;
  rig.left = kitti_camera(left, choices);
  rig.right = kitti_camera(right, choices);
  const Rig to_left = from_camera_0(left), to_right = from_camera_0(right);
  rig.rotation = product(to_right.rotation, transposed(to_left.rotation));
  const Vector3 moved = product(rig.rotation, to_left.translation);
  for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = to_right.translation[i] - moved[i];
  return finished(rig, choices, {left.place("K"), right.place("K"), right.place("R"), right.place("T")});
}

Rig read_rectified_kitti_rig(const RigFile& file, const RigChoices& choices) {
  const auto [first, second] = choices.cameras.value_or(colour_cameras);
  const std::string left = "P" + std::to_string(first), right = "P" + std::to_string(second);
  const Rig rig = rectified_rig(projection_at(kitti_camera_matrix(file, left), key_in(file, left)),
                                projection_at(kitti_camera_matrix(file, right), key_in(file, right)),
                                size_of_images({}, choices, key_in(file, "the size of the images")));
  const std::string key = key_in(file, right);
  return finished(rig, choices, {key_in(file, left), key, key, key});
}

Rig read_rectified_kitti_raw_rig(const RigFile& file, const RigChoices& choices) {
  const auto [first, second] = choices.cameras.value_or(colour_cameras);
  const KittiKeys left{file, first}, right{file, second};
  const std::vector<double> size = left.numbers("S_rect");
  const Rig rig =
      rectified_rig(projection_at(kitti_camera_matrix(file, left.key("P_rect")), left.place("P_rect")),
                    projection_at(kitti_camera_matrix(file, right.key("P_rect")), right.place("P_rect")),
                    size_of_images(size.empty() ? Size{} : size_at(size, left.place("S_rect")), choices,
                                   left.place("S_rect")));
  const std::string key = right.place("P_rect");
  return finished(rig, choices, {left.place("P_rect"), key, key, key});
}

std::string encode_kitti_rig(const Rig& rig) {
  const std::string format = "KITTI's calib_cam_to_cam.txt";
  need_model(rig, LensModel::radial_tangential, format);
  std::string text;
  const auto camera = [&](const std::string& number, const Camera& c, const Matrix3& rotation,
                          const Vector3& translation) {
    const double size[] = {static_cast<double>(c.size.width), static_cast<double>(c.size.height)};
    const std::vector<double> lens = lens_coefficients(c, 5, format, 5);
    const auto line = [&](const std::string& letter, std::span<const double> numbers) {
      text += letter + "_" + number + ": " + numbers_text(numbers, " ") + "\n";
    };
    line("S", size);
    line("K", camera_matrix(c));
    line("D", lens);
    line("R", rotation);
    line("T", translation);
  };
  camera("02", rig.left, Rig().rotation, {});
  camera("03", rig.right, rig.rotation, rig.translation);
  return text;
}

std::string encode_rectified_kitti_rig(const Rig& rig) {
  need_rectified(rig, "KITTI's calib.txt");
  const auto matrix = [](const Camera& c, const Vector3& t) {
    const double numbers[] = {c.focal_x, 0,         c.centre_x, c.focal_x * t[0] + c.centre_x * t[2],
                              0,         c.focal_y, c.centre_y, c.focal_y * t[1] + c.centre_y * t[2],
                              0,         0,         1,          t[2]};
    return ": " + numbers_text(numbers, " ") + "\n";
  };
  const std::string left = matrix(rig.left, {}), right = matrix(rig.right, rig.translation);
  return "P0" + left + "P1" + right + "P2" + left + "P3" + right;
}

}  // namespace parallax::tool
