// SPDX-License-Identifier: Apache-2.0
// The camchain of Kalibr: cam0, cam1, …, each with its transformation T_cn_cnm1 from the camera before it, in
// metres.
#include <algorithm>
#include <cmath>

#include <yaml-cpp/yaml.h>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

std::string name_of_camera(int number) {
  return "cam" + std::to_string(number);
}

struct KalibrModel {
  const char* name;
  LensModel model;
  std::size_t parameters;  // before the focal lengths
};
constexpr KalibrModel kalibr_models[] = {{"pinhole", LensModel::radial_tangential, 0},
                                         {"omni", LensModel::omnidirectional, 1},
                                         {"ds", LensModel::double_sphere, 2},
                                         {"eucm", LensModel::extended_unified, 2}};

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
    const auto found = std::find_if(std::begin(kalibr_models), std::end(kalibr_models),
                                    [&](const KalibrModel& each) { return model == each.name; });
    if (found == std::end(kalibr_models))
      fail_at(place("camera_model"), "is " + (model.empty() ? "missing" : model) +
                                         ": calibrate with the model pinhole, omni, ds or eucm");
    // The parameters of the model come before the focal lengths.
    const std::vector<double> list = list_at(node_["intrinsics"]);
    const auto values = checked(list, found->parameters + 4, place("intrinsics"));
    const auto pinhole = values.subspan(found->parameters);
    Camera camera{size, pinhole[0], pinhole[1], pinhole[2], pinhole[3]};
    read_distortion(camera, found->model);
    if (found->parameters == 0) return camera;
    if (camera.model != LensModel::radial_tangential)
      fail_at(place("distortion_model"),
              "is equidistant, which Parallax knows for pinholes only: calibrate with "
              "the model radtan or none");
    const std::array<double, 14> bending = camera.distortion;
    camera.distortion = {};
    std::copy_n(values.begin(), found->parameters, camera.distortion.begin());
    if (found->model == LensModel::omnidirectional)
      std::copy_n(bending.begin(), 4, camera.distortion.begin() + 1);
    camera.model = found->model;
    return camera;
  }

  // From the camera before it.
  // \throws Error (file)
  Rig move() const { return move("T_cn_cnm1"); }
  // From the inertial sensor, in the camchain of a calibration with one.
  Rig move_from_sensor() const { return move("T_cam_imu"); }
  bool has(const std::string& key) const { return static_cast<bool>(node_[key]); }

 private:
  Rig move(const std::string& name) const {
    const std::string key = place(name);
    const YAML::Node rows = node_[name];
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

  std::string word(const std::string& key) const {
    const YAML::Node value = node_[key];
    return value && value.IsScalar() ? value.Scalar().substr(0, 64) : "";
  }

  void read_distortion(Camera& camera, LensModel lens) const {
    const std::string model = word("distortion_model");
    const std::vector<double> coefficients = list_at(node_["distortion_coeffs"]);
    const std::string key = place("distortion_coeffs");
    if (model == "none") return;
    if (lens > LensModel::omnidirectional)
      fail_at(place("distortion_model"), "is " + (model.empty() ? "missing" : model) +
                                             ", and the model of the camera has none: correct it");
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
  const bool is_pinhole = c.model <= LensModel::equidistant;
  const auto model = std::find_if(std::begin(kalibr_models) + 1, std::end(kalibr_models),
                                  [&](const KalibrModel& each) { return each.model == c.model; });
  std::vector<double> lens = lens_coefficients(c, is_pinhole ? 4 : c.distortion.size(), "Kalibr's format"),
                      intrinsics;
  if (!is_pinhole) {
    const auto parameters = static_cast<std::ptrdiff_t>(model->parameters);
    intrinsics.assign(lens.begin(), lens.begin() + parameters);
    lens.erase(lens.begin(), lens.begin() + parameters);
  }
  intrinsics.insert(intrinsics.end(), {c.focal_x, c.focal_y, c.centre_x, c.centre_y});
  return name_of_camera(number) + ":\n  camera_model: " + (is_pinhole ? "pinhole" : model->name) +
         "\n  intrinsics: [" + numbers_text(intrinsics) + "]\n  distortion_model: " +
         (c.model == LensModel::equidistant ? "equidistant"
          : lens.empty()                    ? "none"
                                            : "radtan") +
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
  const bool has_sensor = left.has("T_cam_imu") && right.has("T_cam_imu") && !right.has("T_cn_cnm1");
  if (has_sensor) {
    const Rig to_left = left.move_from_sensor(), to_right = right.move_from_sensor();
    rig.rotation = product(to_right.rotation, transposed(to_left.rotation));
    const Vector3 moved = product(rig.rotation, to_left.translation);
    for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = to_right.translation[i] - moved[i];
  }
  for (int number = first + 1; number <= second && !has_sensor; ++number) {
    const Rig move = KalibrCamera(document, file, number).move();
    const Vector3 moved = product(move.rotation, rig.translation);
    rig.rotation = product(move.rotation, rig.rotation);
    for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = moved[i] + move.translation[i];
  }
  const std::string key = right.place(has_sensor ? "T_cam_imu" : "T_cn_cnm1");
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
