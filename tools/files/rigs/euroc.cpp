// SPDX-License-Identifier: Apache-2.0
// The sensor.yaml of EuRoC's data sets, one for each camera: T_BS leads from the coordinates of the camera to
// those of the body, in metres.
#include <algorithm>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

struct EurocCamera {
  Camera camera;
  Matrix3 rotation;  // to the body
  Vector3 translation;
};

EurocCamera euroc_camera(const RigFile& file, const RigChoices& choices) {
  const auto document = parse_stored(StoredFormat::yaml, file.text, file.name, "the sensor.yaml of EuRoC");
  const auto key = [&](const char* name) { return key_in(file, name); };
  const auto word = [&](const char* name) { return document->entry(name).text.substr(0, 64); };
  const auto values = [&](const char* name) {
    const StoredEntry entry = document->entry(name);
    return entry.matrix.values.empty() ? entry.numbers : entry.matrix.values;
  };
  if (const std::string model = word("camera_model"); model != "pinhole")
    fail_at(key("camera_model"), "is " + (model.empty() ? "missing" : model) + ": give a pinhole camera");
  const std::vector<double> intrinsics = values("intrinsics");
  checked(intrinsics, 4, key("intrinsics"));
  const std::vector<double> sides = values("resolution");
  const Size size = sides.empty() ? Size{} : size_at(sides, key("resolution"));
  EurocCamera result{{size_of_images(size, choices, key("resolution")), intrinsics[0], intrinsics[1],
                      intrinsics[2], intrinsics[3]},
                     {},
                     {}};
  const std::string model = word("distortion_model");
  const std::vector<double> lens = values("distortion_coefficients");
  const bool radial = model == "radial-tangential" || model == "radtan" || model == "plumb_bob",
             fisheye = model == "equidistant" || model == "kannala-brandt";
  if (!radial && !fisheye && model != "none" && !(model.empty() && lens.empty()))
    fail_at(key("distortion_model"), "is " + (model.empty() ? "missing" : model) +
                                         ": Parallax knows radial-tangential and equidistant");
  if (!lens.empty() && model != "none")
    set_lens(result.camera, fisheye ? LensModel::equidistant : LensModel::radial_tangential, lens,
             key("distortion_coefficients"));
  const std::vector<double> pose = values("T_BS");
  const auto m = checked(pose, 16, key("T_BS"));
  result.rotation = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]};
  result.translation = {m[3], m[7], m[11]};
  if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
    fail_at(key("T_BS"), "has another last row than 0 0 0 1: correct it");
  return result;
}

}  // namespace

Rig read_euroc_rig(std::span<const RigFile> files, const RigChoices& choices) {
  if (files.size() != 2)
    fail_at(files[0].name, "is the sensor.yaml of one camera: give those of both, left and right");
  const EurocCamera left = euroc_camera(files[0], choices), right = euroc_camera(files[1], choices);
  Rig rig;
  rig.left = left.camera;
  rig.right = right.camera;
  const Matrix3 from_body = transposed(right.rotation);
  rig.rotation = product(from_body, left.rotation);
  Vector3 between;
  for (std::size_t i = 0; i < 3; ++i) between[i] = left.translation[i] - right.translation[i];
  rig.translation = product(from_body, between);
  const std::string key = key_in(files[1], "T_BS");
  return finished(rig, choices, {key_in(files[0], "intrinsics"), key_in(files[1], "intrinsics"), key, key});
}

}  // namespace parallax::tool
