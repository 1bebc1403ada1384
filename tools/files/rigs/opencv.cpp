// SPDX-License-Identifier: Apache-2.0
// What programs store with cv::FileStorage. There is no standard for the keys, so those of OpenCV's samples
// and of well-known tools are accepted. x_right = R · x_left + T, as stereoCalibrate() returns them; P2 = K ·
// [I | T] as from stereoRectify().
#include <algorithm>

#include "tools/files/rigs/format.h"

namespace parallax::tool {
namespace {

using KeyPair = std::array<const char*, 2>;
constexpr KeyPair matrix_keys[] = {{"M1", "M2"},
                                   {"K1", "K2"},
                                   {"cameraMatrix1", "cameraMatrix2"},
                                   {"camera_matrix_1", "camera_matrix_2"},
                                   {"left_camera_matrix", "right_camera_matrix"},
                                   {"K_LEFT", "K_RIGHT"}};
constexpr KeyPair lens_keys[] = {{"D1", "D2"},
                                 {"distCoeffs1", "distCoeffs2"},
                                 {"dist_coeffs_1", "dist_coeffs_2"},
                                 {"left_distortion_coefficients", "right_distortion_coefficients"},
                                 {"D_LEFT", "D_RIGHT"},
                                 {"D_LEFT_FE", "D_RIGHT_FE"}};
constexpr const KeyPair& fisheye_keys = lens_keys[std::size(lens_keys) - 1];
constexpr const char* size_keys[] = {"imageSize", "image_size", "Size", "size"};

StoredFormat stored_format(std::string_view text) {
  if (text.starts_with('{')) return StoredFormat::json;
  return text.starts_with('<') ? StoredFormat::xml : StoredFormat::yaml;
}

// The entries of one or two files: stereo_calib.cpp writes intrinsics.yml and extrinsics.yml.
class StoredRig {
 public:
  explicit StoredRig(std::span<const RigFile> files) : files_(files) {
    for (const RigFile& file : files)
      documents_.push_back(parse_stored(stored_format(trimmed(file.text)), file.text, file.name,
                                        "the calibration that cv::FileStorage wrote"));
  }

  bool has(const std::string& key) const {
    return std::any_of(documents_.begin(), documents_.end(),
                       [&](const auto& document) { return document->has(key); });
  }

  // "extrinsics.yml: R"; a key that is in no file belongs into the last.
  std::string place(const std::string& key) const { return key_in(files_[index(key)], key); }

  std::vector<double> numbers(const std::string& key) const { return entry(key).numbers; }

  // The values of a matrix of this shape.
  // \throws Error (file)
  std::vector<double> matrix(const std::string& key, int rows, int columns) const {
    const StoredMatrix matrix = entry(key).matrix;
    if (!has(key)) fail_at(place(key), "is missing: give every file of the calibration");
    if (matrix.rows != rows || matrix.columns != columns)
      fail_at(place(key), "is not a matrix of " + std::to_string(rows) + "×" + std::to_string(columns) +
                              ": give the one that stereoCalibrate() or stereoRectify() computed");
    checked(matrix.values, static_cast<std::size_t>(rows * columns), place(key));
    return matrix.values;
  }

  // The number of values of a matrix of any shape.
  std::size_t length(const std::string& key) const { return entry(key).matrix.values.size(); }

  // A matrix of one row or one column.
  std::vector<double> vector(const std::string& key) const {
    const StoredMatrix matrix = entry(key).matrix;
    const auto length = static_cast<int>(matrix.values.size());
    if (has(key) && (std::min(matrix.rows, matrix.columns) != 1 || matrix.rows * matrix.columns != length))
      fail_at(place(key), "is not a matrix of one row or one column: give the one of the calibration");
    return matrix.values;
  }

  // The first of these keys that are here; if none are, the first.
  const KeyPair& find(std::span<const KeyPair> pairs) const {
    const auto found = std::find_if(pairs.begin(), pairs.end(),
                                    [&](const KeyPair& pair) { return has(pair[0]) || has(pair[1]); });
    return found == pairs.end() ? pairs.front() : *found;
  }

  const std::string& last_name() const { return files_.back().name; }

 private:
  std::size_t index(const std::string& key) const {
    for (std::size_t i = 0; i < documents_.size(); ++i)
      if (documents_[i]->has(key)) return i;
    return documents_.size() - 1;
  }
  StoredEntry entry(const std::string& key) const { return documents_[index(key)]->entry(key); }

  std::span<const RigFile> files_;
  std::vector<std::unique_ptr<StoredDocument>> documents_;
};

Size stored_size(const StoredRig& stored, const RigChoices& choices) {
  Size size;
  std::string place = key_in({stored.last_name(), ""}, "image_width");
  if (stored.has("image_width") || stored.has("image_height")) {
    const double sides[] = {checked(stored.numbers("image_width"), stored.place("image_width")),
                            checked(stored.numbers("image_height"), stored.place("image_height"))};
    size = size_at(sides, stored.place("image_width"));
  }
  for (const char* key : size_keys) {
    if (size != Size{} || !stored.has(key)) continue;
    place = stored.place(key);
    const std::vector<double> list = stored.numbers(key);
    size = size_at(list.empty() ? stored.vector(key) : list, place);
  }
  return size_of_images(size, choices, place);
}

LensModel stored_model(const StoredRig& stored, const KeyPair& lens, const RigChoices& choices) {
  const char* flag = "fisheye_model";  // as OpenCV's calibration tutorial writes it
  const bool in_file =
      &lens == &fisheye_keys || (stored.has(flag) && checked(stored.numbers(flag), stored.place(flag)) != 0);
  return choices.fisheye || in_file ? LensModel::equidistant : LensModel::radial_tangential;
}

// A matrix, or the vector of Rodrigues.
Matrix3 stored_rotation(const StoredRig& stored) {
  if (stored.length("R") == 3) {
    const std::vector<double> axis = stored.vector("R");
    checked(axis, 3, stored.place("R"));
    return rotation_about({axis[0], axis[1], axis[2]});
  }
  Matrix3 rotation;
  std::ranges::copy(stored.matrix("R", 3, 3), rotation.begin());
  return rotation;
}

Rig calibrated_rig(const StoredRig& stored, const RigChoices& choices) {
  const KeyPair &matrices = stored.find(matrix_keys), &lenses = stored.find(lens_keys);
  const LensModel model = stored_model(stored, lenses, choices);
  Rig rig;
  rig.left.size = rig.right.size = stored_size(stored, choices);
  set_intrinsics(rig.left, stored.matrix(matrices[0], 3, 3), stored.place(matrices[0]));
  set_intrinsics(rig.right, stored.matrix(matrices[1], 3, 3), stored.place(matrices[1]));
  set_lens(rig.left, model, stored.vector(lenses[0]), stored.place(lenses[0]));
  set_lens(rig.right, model, stored.vector(lenses[1]), stored.place(lenses[1]));
  rig.rotation = stored_rotation(stored);
  const std::vector<double> translation = stored.vector("T");
  std::ranges::copy(checked(translation, 3, stored.place("T")), rig.translation.begin());
  return finished(
      rig, choices,
      {stored.place(matrices[0]), stored.place(matrices[1]), stored.place("R"), stored.place("T")});
}

Rig stored_rectified_rig(const StoredRig& stored, const RigChoices& choices) {
  if (choices.fisheye) fail_at(stored.last_name(), "is of rectified pictures: leave out --fisheye");
  const Projection left = projection_at(stored.matrix("P1", 3, 4), stored.place("P1"));
  const Projection right = projection_at(stored.matrix("P2", 3, 4), stored.place("P2"));
  Rig rig = rectified_rig(left, right, stored_size(stored, choices));
  return finished(rig, choices,
                  {stored.place("P1"), stored.place("P2"), stored.place("P2"), stored.place("P2")});
}

// Writes entries as cv::FileStorage does.
class StorageWriter {
 public:
  explicit StorageWriter(StoredFormat format) : format_(format) {
    constexpr const char* heads[] = {"%YAML:1.0\n---\n", "{", "<?xml version=\"1.0\"?>\n<opencv_storage>\n"};
    text_ = heads[static_cast<int>(format)];
  }

  void number(const std::string& key, int number) {
    if (format_ == StoredFormat::xml)
      text_ += "<" + key + ">" + std::to_string(number) + "</" + key + ">\n";
    else
      text_ += key_of(key) + std::to_string(number) + (format_ == StoredFormat::yaml ? "\n" : "");
  }

  void matrix(const std::string& key, int rows, std::span<const double> values) {
    const std::string height = std::to_string(rows),
                      width = std::to_string(values.size() / static_cast<std::size_t>(rows));
    if (format_ == StoredFormat::xml)
      text_ += "<" + key + " type_id=\"opencv-matrix\">\n  <rows>" + height + "</rows>\n  <cols>" + width +
               "</cols>\n  <dt>d</dt>\n  <data>\n    " + numbers_text(values, " ") + "</data></" + key +
               ">\n";
    else if (format_ == StoredFormat::json)
      text_ += key_of(key) + "{ \"type_id\": \"opencv-matrix\", \"rows\": " + height +
               ", \"cols\": " + width + ", \"dt\": \"d\", \"data\": [ " + numbers_text(values) + " ] }";
    else
      text_ += key_of(key) + "!!opencv-matrix\n   rows: " + height + "\n   cols: " + width +
               "\n   dt: d\n   data: [ " + numbers_text(values) + " ]\n";
  }

  std::string finished() const {
    constexpr const char* tails[] = {"", "\n}\n", "</opencv_storage>\n"};
    return text_ + tails[static_cast<int>(format_)];
  }

 private:
  std::string key_of(const std::string& key) const {
    if (format_ == StoredFormat::yaml) return key + ": ";
    return std::string(text_ == "{" ? "" : ",") + "\n    \"" + key + "\": ";
  }

  StoredFormat format_;
  std::string text_;
};

}  // namespace

Rig read_opencv_rig(std::span<const RigFile> files, const RigChoices& choices) {
  const StoredRig stored(files);
  const KeyPair& matrices = stored.find(matrix_keys);
  const bool calibrated = stored.has(matrices[0]) || stored.has(matrices[1]);
  if (calibrated) return calibrated_rig(stored, choices);
  if (stored.has("P1") || stored.has("P2")) return stored_rectified_rig(stored, choices);
  fail_at(
      stored.last_name(),
      "has neither camera matrices, such as M1 and M2, nor P1 and P2: give every file of the calibration");
}

std::string encode_opencv_rig(const Rig& rig, StoredFormat format) {
  need_model(rig, rig.left.model, "OpenCV's format");
  if (rig.left.size != rig.right.size) cannot_hold("OpenCV's format", "images of two sizes");
  StorageWriter writer(format);
  writer.number("image_width", rig.left.size.width);
  writer.number("image_height", rig.left.size.height);
  if (rig.left.model == LensModel::equidistant) writer.number("fisheye_model", 1);
  const auto camera = [&](const std::string& which, const Camera& c) {
    writer.matrix("M" + which, 3, camera_matrix(c));
    writer.matrix("D" + which, 1, lens_coefficients(c, 14, "OpenCV's format", 5));
  };
  camera("1", rig.left);
  camera("2", rig.right);
  writer.matrix("R", 3, rig.rotation);
  writer.matrix("T", 3, rig.translation);
  return writer.finished();
}

}  // namespace parallax::tool
