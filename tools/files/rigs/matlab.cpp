// SPDX-License-Identifier: Apache-2.0
// MATLAB's stereoParameters as JSON, jsonencode(toStruct(stereoParams)). MATLAB multiplies rows by matrices
// from the right, so IntrinsicMatrix is the transposed camera matrix and RotationOfCamera2 the transposed R;
// K and PoseCamera2 of newer versions are not transposed. The centre of MATLAB's first pixel is (1, 1). Sizes
// are height and width.
#include <algorithm>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

class MatlabFile {
 public:
  explicit MatlabFile(const RigFile& file)
      : file_(file),
        document_(parse_stored(trimmed(file.text).starts_with('{') ? StoredFormat::json : StoredFormat::yaml,
                               file.text, file.name, "MATLAB's stereoParameters as JSON")) {
    for (const std::string& path : document_->paths())
      if (path.ends_with("CameraParameters1")) before_ = path.substr(0, path.size() - 17);
  }

  bool has(const std::string& path) const { return document_->has(before_ + path); }
  std::string text(const std::string& path) const { return document_->entry(before_ + path).text; }
  std::string place(std::string path) const {
    std::replace(path.begin(), path.end(), '/', '.');
    return key_in(file_, path);
  }

  // The numbers of a list or matrix, row by row; empty if there are none.
  std::vector<double> numbers(const std::string& path) const {
    const StoredEntry entry = document_->entry(before_ + path);
    return entry.matrix.values.empty() ? entry.numbers : entry.matrix.values;
  }
  Matrix3 matrix(const std::string& path) const {
    Matrix3 matrix;
    const std::vector<double> values = numbers(path);
    copy_numbers(checked(values, 9, place(path)), matrix);
    return matrix;
  }

 private:
  const RigFile& file_;
  std::unique_ptr<StoredDocument> document_;
  std::string before_;  // path of the parameters
};

Matrix3 matlab_matrix(const MatlabFile& file, const std::string& camera) {
  for (const char* key : {"/K", "/Intrinsics/K"})
    if (file.has(camera + key)) return file.matrix(camera + key);
  for (const char* key : {"/IntrinsicMatrix", "/Intrinsics/IntrinsicMatrix"})
    if (file.has(camera + key)) return transposed(file.matrix(camera + key));
  const std::string before = camera + (file.has(camera + "/Intrinsics") ? "/Intrinsics" : "");
  const std::vector<double> focal = file.numbers(before + "/FocalLength"),
                            centre = file.numbers(before + "/PrincipalPoint");
  if (focal.empty())
    fail_at(file.place(camera + "/IntrinsicMatrix"), "is missing: give the whole calibration");
  checked(focal, 2, file.place(before + "/FocalLength"));
  checked(centre, 2, file.place(before + "/PrincipalPoint"));
  return {focal[0], 0, centre[0], 0, focal[1], centre[1], 0, 0, 1};
}

Camera matlab_camera(const MatlabFile& file, const std::string& name, const RigChoices& choices) {
  Camera camera;
  set_intrinsics(camera, matlab_matrix(file, name), file.place(name + "/IntrinsicMatrix"));
  camera.centre_x -= 1;
  camera.centre_y -= 1;
  const auto values = [&](const std::string& key) {
    const std::string path = name + "/" + key, nested = name + "/Intrinsics/" + key;
    return file.numbers(file.has(path) ? path : nested);
  };
  Size size;
  if (const std::vector<double> rows_first = values("ImageSize"); !rows_first.empty()) {
    checked(rows_first, 2, file.place(name + "/ImageSize"));
    const double sides[] = {rows_first[1], rows_first[0]};
    size = size_at(sides, file.place(name + "/ImageSize"));
  }
  camera.size = size_of_images(size, choices, file.place(name + "/ImageSize"));
  std::vector<double> radial = values("RadialDistortion"), tangential = values("TangentialDistortion");
  const std::string key = file.place(name + "/RadialDistortion");
  if (radial.size() != 2 && radial.size() != 3)
    fail_at(key, "has " + std::to_string(radial.size()) + " coefficients: give 2 or 3");
  if (tangential.empty()) tangential = {0, 0};
  checked(tangential, 2, file.place(name + "/TangentialDistortion"));
  std::vector<double> lens{radial[0], radial[1], tangential[0], tangential[1]};
  if (radial.size() == 3) lens.push_back(radial[2]);
  set_lens(camera, LensModel::radial_tangential, lens, key);
  return camera;
}

// In metres; 1 where the file does not tell.
double unit_of(const MatlabFile& file) {
  for (const char* path : {"WorldUnits", "CameraParameters1/WorldUnits"})
    for (const auto& [name, metres] : Choices<double>{{"mm", 0.001},
                                                      {"millimeters", 0.001},
                                                      {"millimeter", 0.001},
                                                      {"cm", 0.01},
                                                      {"centimeters", 0.01},
                                                      {"centimeter", 0.01},
                                                      {"m", 1},
                                                      {"meters", 1},
                                                      {"meter", 1},
                                                      {"in", 0.0254},
                                                      {"inches", 0.0254}})
      if (file.text(path) == name) return metres;
  return 0;
}

}  // namespace

bool tells_unit_of_matlab(const RigFile& file) {
  try {
    return unit_of(MatlabFile(file)) > 0;
  } catch (const Error&) {
    return false;
  }
}

Rig read_matlab_rig(const RigFile& file, const RigChoices& choices) {
  const MatlabFile matlab(file);
  Rig rig;
  rig.left = matlab_camera(matlab, "CameraParameters1", choices);
  rig.right = matlab_camera(matlab, "CameraParameters2", choices);
  const bool has_pose = matlab.has("PoseCamera2") && !matlab.has("RotationOfCamera2");
  const std::string rotation = has_pose ? "PoseCamera2/R" : "RotationOfCamera2",
                    translation = has_pose ? "PoseCamera2/Translation" : "TranslationOfCamera2";
  rig.rotation = has_pose ? matlab.matrix(rotation) : transposed(matlab.matrix(rotation));
  const std::vector<double> moved = matlab.numbers(translation);
  checked(moved, 3, matlab.place(translation));
  const double unit = unit_of(matlab);
  for (std::size_t i = 0; i < 3; ++i) rig.translation[i] = moved[i] * (unit > 0 ? unit : 1);
  return finished(rig, choices,
                  {matlab.place("CameraParameters1"), matlab.place("CameraParameters2"),
                   matlab.place(rotation), matlab.place(translation)});
}

}  // namespace parallax::tool
