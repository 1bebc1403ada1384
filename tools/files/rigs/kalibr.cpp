// SPDX-License-Identifier: Apache-2.0
// The camchain of Kalibr: cam0, cam1, …, each with its transformation T_cn_cnm1 from the camera before it, in
// metres.
#include <cmath>

#include <yaml-cpp/yaml.h>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

std::string name_of_camera(int number) {
  return "cam" + std::to_string(number);
}

std::vector<double> list_at(const YAML::Node& node) {
  std::vector<double> numbers;
  if (!node || !node.IsSequence()) return numbers;
  for (const YAML::Node& number : node) {
    if (numbers.size() == max_stored_values) break;
    numbers.push_back(number.IsScalar() ? number.as<double>(NAN) : NAN);
  }
  return numbers;
}

// A camera of the file: its node and its name in messages.
class KalibrCamera {
 public:
  KalibrCamera(const YAML::Node& document, const RigFile& file, int number)
      : node_(document[name_of_camera(number)]), place_(key_in(file, name_of_camera(number))) {
    if (!node_ || !node_.IsMap())
      fail_at(place_, "is missing: give the numbers of two cameras of the file with --cameras");
  }

  std::string place(const std::string& key) const { return place_ + "." + key; }

  Camera camera(const RigChoices& choices) const {
    const Size size = size_of_images(size_at(list_at(node_["resolution"]), place("resolution")), choices,
                                     place("resolution"));
    const std::string model = word("camera_model");
    if (model != "pinhole")
      fail_at(place("camera_model"),
              "is " + (model.empty() ? "missing" : model) + ": calibrate with the model pinhole");
    const std::vector<double> list = list_at(node_["intrinsics"]);
    const auto values = checked(list, 4, place("intrinsics"));
    Camera camera{size, values[0], values[1], values[2], values[3]};
    read_distortion(camera);
    return camera;
  }

  // From the camera before it.
  // \throws Error (file)
  Rig move() const {
    const std::string key = place("T_cn_cnm1");
    const YAML::Node rows = node_["T_cn_cnm1"];
    if (!rows || !rows.IsSequence() || rows.size() != 4)
      fail_at(key, "is not a matrix of 4 rows: give the camchain of a calibration of both cameras");
    Rig move;
    for (std::size_t row = 0; row < 4; ++row) {
      const std::vector<double> numbers = list_at(rows[row]);
      checked(numbers, 4, key);
      for (std::size_t column = 0; row < 3 && column < 3; ++column)
        move.rotation[3 * row + column] = numbers[column];
      if (row < 3)
        move.translation[row] = numbers[3];
      else if (numbers != std::vector<double>{0, 0, 0, 1})
        fail_at(key, "has another last row than 0 0 0 1: correct it");
    }
    return move;
  }

 private:
  std::string word(const std::string& key) const {
    const YAML::Node value = node_[key];
    return value && value.IsScalar() ? value.Scalar().substr(0, 64) : "";
  }

  void read_distortion(Camera& camera) const {
    const std::string model = word("distortion_model");
    const std::vector<double> coefficients = list_at(node_["distortion_coeffs"]);
    const std::string key = place("distortion_coeffs");
    if (model == "none") return;
    if (model != "radtan" && model != "equidistant")
      fail_at(place("distortion_model"), "is " + (model.empty() ? "missing" : model) +
                                             ": calibrate with the model radtan or equidistant");
    checked(coefficients, 4, key);
    set_lens(camera, model == "radtan" ? LensModel::radial_tangential : LensModel::equidistant, coefficients,
             key);
  }

  const YAML::Node node_;
  std::string place_;
};

std::string kalibr_camera(const Camera& c, int number) {
  const std::vector<double> lens = lens_coefficients(c, 4, "Kalibr's format");
  const double intrinsics[] = {c.focal_x, c.focal_y, c.centre_x, c.centre_y};
  return name_of_camera(number) + ":\n  camera_model: pinhole\n  intrinsics: [" + numbers_text(intrinsics) +
         "]\n  distortion_model: " + (c.model == LensModel::equidistant ? "equidistant" : "radtan") +
         "\n  distortion_coeffs: [" + numbers_text(lens) + "]\n  resolution: [" +
         std::to_string(c.size.width) + ", " + std::to_string(c.size.height) + "]\n";
}

}  // namespace

Rig read_kalibr_rig(const RigFile& file, const RigChoices& choices) {
  YAML::Node document;
  try {
    document = YAML::Load(file.text);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    fail_at(file.name, "is not readable: give the camchain that Kalibr wrote");
  }
  if (!document.IsMap()) fail_at(file.name, "has no cameras: give the camchain that Kalibr wrote");
  const auto [first, second] = choices.cameras.value_or(std::array{0, 1});
  const KalibrCamera left(document, file, first), right(document, file, second);
  Rig rig;
  rig.left = left.camera(choices);
  rig.right = right.camera(choices);
  for (int number = first + 1; number <= second; ++number) {
    const Rig move = KalibrCamera(document, file, number).move();
    const Vector3 moved = product(move.rotation, rig.translation);
    rig.rotation = product(move.rotation, rig.rotation);
    for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = moved[i] + move.translation[i];
  }
  const std::string key = right.place("T_cn_cnm1");
  return finished(rig, choices, {left.place("intrinsics"), right.place("intrinsics"), key, key});
}

std::string encode_kalibr_rig(const Rig& rig) {
  std::string rows;
  for (std::size_t row = 0; row < 3; ++row) {
    const double* r = &rig.rotation[3 * row];
    const double numbers[] = {r[0], r[1], r[2], rig.translation[row]};
    rows += "  - [" + numbers_text(numbers) + "]\n";
  }
  return kalibr_camera(rig.left, 0) + kalibr_camera(rig.right, 1) + "  T_cn_cnm1:\n" + rows +
         "  - [0, 0, 0, 1]\n";
}

}  // namespace parallax::tool
