// SPDX-License-Identifier: Apache-2.0
// What programs store with cv::FileStorage, or as plain JSON or YAML. There is no standard for the keys, so
// usual ones are accepted, in any case and with any separators. x_right = R · x_left + T, as stereoCalibrate()
// returns them; P2 = K · [I | T] and Q as from stereoRectify().
#include <algorithm>
#include <cmath>

#include "tools/files/rigs/stored_rig.h"

namespace parallax::tool {
namespace {

using Found = StoredRig::Found;
using FoundPair = StoredRig::FoundPair;
using Name = std::string_view;

constexpr Name matrix_names[] = {"m",
                                 "k",
                                 "cameramatrix",
                                 "cammatrix",
                                 "intrinsicmatrix",
                                 "intrinsic",
                                 "intrinsics",
                                 "mtx",
                                 "cammtx",
                                 "kmatrix",
                                 "matrix",
                                 "matrixk",
                                 "newcameramatrix",
                                 "matrice",
                                 "cameraintrinsics"};
constexpr Name lens_names[] = {"d",
                               "distcoeffs",
                               "distortioncoefficients",
                               "distortion",
                               "dist",
                               "distcoeff",
                               "distcoefs",
                               "distcoef",
                               "distortioncoeffs",
                               "distortioncoefs",
                               "distortionparameters",
                               "distortioncoefficient",
                               "coeffs",
                               "kc"};
constexpr Name rotation_names[] = {"r",    "rotation", "rotationmatrix", "rot",
                                   "rmat", "rstereo",  "stereor",        "rotationvector",
                                   "rvec", "om",       "rleft2right",    "rlefttoright"};
constexpr Name translation_names[] = {"t",    "translation", "translationvector", "trans",
                                      "tvec", "tstereo",     "stereot",           "translationmatrix",
                                      "tmat", "tleft2right", "tlefttoright"};
constexpr Name rectification_names[] = {"r", "rectification", "rectificationmatrix", "rect"};
constexpr Name projection_names[] = {"p", "projection", "projectionmatrix", "prect", "projmatrix"};
constexpr Name depth_names[] = {
    "q",       "disptodepth", "disparitytodepth", "disptodepthmatrix", "disparitytodepthmatrix",
    "qmatrix", "matrixq",     "stereoq"};
constexpr Name baseline_names[] = {"baseline", "stereobaseline", "b"};
constexpr Name width_names[] = {"imagewidth", "width",           "imgwidth",   "imagesizewidth",
                                "sizewidth",  "resolutionwidth", "framewidth", "imgsizewidth"};
constexpr Name height_names[] = {"imageheight", "height",           "imgheight",   "imagesizeheight",
                                 "sizeheight",  "resolutionheight", "frameheight", "imgsizeheight"};
constexpr Name size_names[] = {"imagesize",       "size",       "imgsize",
                               "imsize",          "resolution", "imageresolution",
                               "imagedimensions", "framesize",  "dimensions"};
// As NumPy has it: rows first.
constexpr Name shape_names[] = {"imageshape", "imgshape", "shape", "imshape"};
constexpr Name model_names[] = {"distortionmodel", "lensmodel", "model", "cameramodel", "fisheyemodel"};

// The size in the entries with these names; 0×0 without any.
Size size_in(const Found& width, const Found& height, const Found& list, const Found& shape) {
  if (width.is_there() || height.is_there()) {
    const auto side = [](const Found& found) {
      return checked(found.is_there() ? found.entry().numbers : std::vector<double>(), found.place);
    };
    const double sides[] = {side(width), side(height)};
    return size_at(sides, width.place);
  }
  if (list.is_there()) return size_at(vector_at(list), list.place);
  if (!shape.is_there()) return {};
  const std::vector<double> rows_first = vector_at(shape);
  if (rows_first.size() != 2 && rows_first.size() != 3)
    fail_at(shape.place, "is not a list of height and width: give them");
  const double sides[] = {rows_first[1], rows_first[0]};
  return size_at(sides, shape.place);
}

// The sizes of both cameras' images.
std::array<Size, 2> stored_sizes(const StoredRig& stored, const RigChoices& choices) {
  const FoundPair width = stored.numbers(width_names), height = stored.numbers(height_names),
                  list = stored.lists(size_names), shape = stored.lists(shape_names);
  const Size left = size_in(width.left, height.left, list.left, shape.left),
             right = size_in(width.right, height.right, list.right, shape.right);
  const Found common = stored.number(width_names);
  const Size both =
      left != Size{} && right != Size{}
          ? Size{}
          : size_in(common, stored.number(height_names), stored.list(size_names), stored.list(shape_names));
  std::string place = common.is_there() ? common.place : stored.list(size_names).place;
  if (both == Size{} && !stored.list(size_names).is_there())
    place = key_in({stored.last_name(), ""}, "image_width");
  return {size_of_images(left == Size{} ? both : left, choices, place),
          size_of_images(right == Size{} ? both : right, choices, place)};
}

bool says_fisheye(const Found& found) {
  if (!found.is_there()) return false;
  std::string word = found.entry().text;
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* name : {"fisheye", "equidist", "kannala", "kb4"})
    if (word.find(name) != std::string::npos) return true;
  return false;
}

LensModel stored_model(const StoredRig& stored, const FoundPair& lenses, const RigChoices& choices) {
  constexpr Name flags[] = {"fisheyemodel", "fisheye", "isfisheye"};  // OpenCV's tutorial writes the first
  const Found flag = stored.number(flags);
  bool in_file = lenses.left.path.ends_with("_FE");
  if (flag.is_there() && flag.entry().text != "false")
    in_file = in_file || flag.entry().text == "true" || checked(flag.entry().numbers, flag.place) != 0;
  const FoundPair models = stored.words(model_names);
  in_file = in_file || says_fisheye(stored.word(model_names)) || says_fisheye(models.left);
  return choices.fisheye || in_file ? LensModel::equidistant : LensModel::radial_tangential;
}

// A matrix, or fx, fy, cx and cy in a list or one by one.
void set_stored_intrinsics(Camera& camera, const Found& matrix, const std::array<Found, 4>& values) {
  if (!matrix.is_there() && values[0].is_there()) {
    double numbers[4];
    for (std::size_t i = 0; i < 4; ++i)
      numbers[i] =
          checked(values[i].is_there() ? values[i].entry().numbers : std::vector<double>(), values[i].place);
    const double rows[] = {numbers[0], 0, numbers[2], 0, numbers[1], numbers[3], 0, 0, 1};
    return set_intrinsics(camera, rows, values[0].place);
  }
  if (matrix.is_there())
    if (const StoredEntry entry = matrix.entry(); entry.matrix.rows == 0 && entry.numbers.size() == 4) {
      const auto v = checked(entry.numbers, 4, matrix.place);
      const double rows[] = {v[0], 0, v[2], 0, v[1], v[3], 0, 0, 1};
      return set_intrinsics(camera, rows, matrix.place);
    }
  set_intrinsics(camera, matrix_at(matrix, 3, 3), matrix.place);
}

// The scalars fx, fy, cx and cy of both cameras.
std::array<FoundPair, 4> stored_scalars(const StoredRig& stored) {
  constexpr Name fx[] = {"fx", "focalx", "focallengthx", "fu"}, fy[] = {"fy", "focaly", "focallengthy", "fv"},
                 cx[] = {"cx", "ppx", "u0", "centerx", "centrex", "pu", "cu"},
                 cy[] = {"cy", "ppy", "v0", "centery", "centrey", "pv", "cv"};
  return {stored.numbers(fx), stored.numbers(fy), stored.numbers(cx), stored.numbers(cy)};
}

void set_stored_lens(Camera& camera, LensModel model, const Found& found) {
  if (!found.is_there()) fail_at(found.place, "is missing: give the whole calibration");
  std::vector<double> values = vector_at(found);
  if (values.empty()) values.assign(4, 0);  // a pinhole
  set_lens(camera, model, values, found.place);
}

bool has_cameras(const StoredRig& stored) {
  return stored.lists(matrix_names).any() || stored_scalars(stored)[0].any();
}

// ξ of cv::omnidir, whose lenses have four coefficients beside it.
void set_stored_xi(Camera& camera, const Found& found) {
  if (!found.is_there()) return;
  const StoredEntry entry = found.entry();
  const double xi = checked(entry.matrix.values.empty() ? entry.numbers : entry.matrix.values, found.place);
  const auto& k = camera.distortion;
  if (camera.model != LensModel::radial_tangential || k[4] != 0)
    fail_at(found.place,
            "belongs to an omnidirectional lens, which has the coefficients k1, k2, p1 and p2: correct "
            "them");
  camera.distortion = {xi, k[0], k[1], k[2], k[3]};
  camera.model = LensModel::omnidirectional;
}

// From the rectification of both cameras, as in ROS's camera_info, or R and T.
void set_pose(const StoredRig& stored, Rig& rig, RigKeys& keys) {
  const Found rotation = stored.list(rotation_names), translation = stored.list(translation_names);
  const FoundPair turned = stored.lists(rectification_names), projections = stored.lists(projection_names);
  keys.rotation = rotation.place;
  keys.translation = translation.place;
  if (rotation.is_there() || translation.is_there() || !turned.left.is_there() || !turned.right.is_there() ||
      !projections.right.is_there()) {
    rig.rotation = rotation_at(rotation);
    rig.translation = translation_at(translation);
    return;
  }
  keys.rotation = turned.right.place;
  keys.translation = projections.right.place;
  const Matrix3 back = transposed(rotation_at(turned.right));
  rig.rotation = product(back, rotation_at(turned.left));
  const Projection right = projection_at(matrix_at(projections.right, 3, 4), projections.right.place);
  rig.translation = product(back, right.translation);
}

Rig calibrated_rig(const StoredRig& stored, const RigChoices& choices) {
  const FoundPair matrices = stored.lists(matrix_names), lenses = stored.lists(lens_names);
  const LensModel model = stored_model(stored, lenses, choices);
  const std::array<FoundPair, 4> scalars = stored_scalars(stored);
  Rig rig;
  const auto [left_size, right_size] = stored_sizes(stored, choices);
  rig.left.size = left_size;
  rig.right.size = right_size;
  set_stored_intrinsics(rig.left, matrices.left,
                        {scalars[0].left, scalars[1].left, scalars[2].left, scalars[3].left});
  set_stored_intrinsics(rig.right, matrices.right,
                        {scalars[0].right, scalars[1].right, scalars[2].right, scalars[3].right});
  set_stored_lens(rig.left, model, lenses.left);
  set_stored_lens(rig.right, model, lenses.right);
  constexpr Name xi_names[] = {"xi"};
  const FoundPair xi = stored.pair_of_any(xi_names);
  set_stored_xi(rig.left, xi.left);
  set_stored_xi(rig.right, xi.right);
  RigKeys keys{matrices.left.place, matrices.right.place, "", ""};
  set_pose(stored, rig, keys);
  return finished(rig, choices, keys);
}

// Q = [1 0 0 −cx; 0 1 0 −cy; 0 0 0 f; 0 0 1/B (cx' − cx)/B], up to a factor.
Rig rig_of_depth_matrix(const StoredRig& stored, const Found& found, const RigChoices& choices) {
  std::vector<double> q = matrix_at(found, 4, 4);
  const double scale = q[0];
  const bool is_regular = scale != 0 && q[5] == scale && q[1] == 0 && q[2] == 0 && q[4] == 0 && q[6] == 0 &&
                          q[8] == 0 && q[9] == 0 && q[10] == 0 && q[12] == 0 && q[13] == 0 && q[14] != 0;
  for (double& value : q) value /= is_regular ? scale : 1;
  const double focal = q[11], baseline = 1 / q[14], doffs = q[15] / q[14];
  if (!is_regular || !(focal > 0) || !std::isfinite(baseline + doffs))
    fail_at(found.place,
            "is not the matrix Q of stereoRectify(), [1 0 0 -cx; 0 1 0 -cy; 0 0 0 f; 0 0 1/B "
            "doffs/B]: give that one");
  const Projection left{focal, focal, -q[3], -q[7], {}},
      right{focal, focal, -q[3] + doffs, -q[7], {-baseline, 0, 0}};
  const Rig rig = rectified_rig(left, right, stored_sizes(stored, choices)[0]);
  return finished(rig, choices, {found.place, found.place, found.place, found.place});
}

// One camera matrix and the baseline, as programs that expect a rectified pair take them.
Rig rig_of_baseline(const StoredRig& stored, const RigChoices& choices) {
  constexpr Name fx[] = {"fx", "focal", "focallength", "f"}, fy[] = {"fy", "fx", "focal", "focallength", "f"},
                 cx[] = {"cx", "ppx", "u0"}, cy[] = {"cy", "ppy", "v0"}, doffs[] = {"doffs"};
  const Found matrix = stored.list(matrix_names), baseline = stored.number(baseline_names);
  Camera camera;
  camera.size = stored_sizes(stored, choices)[0];
  set_stored_intrinsics(camera, matrix,
                        {stored.number(fx), stored.number(fy), stored.number(cx), stored.number(cy)});
  Rig rig{camera, camera, Rig().rotation, {-checked(baseline.entry().numbers, baseline.place), 0, 0}};
  if (const Found shift = stored.number(doffs); shift.is_there())
    rig.right.centre_x += checked(shift.entry().numbers, shift.place);
  const std::string place = matrix.is_there() ? matrix.place : stored.number(fx).place;
  return finished(rig, choices, {place, place, baseline.place, baseline.place});
}

bool has_baseline(const StoredRig& stored) {
  constexpr Name focal[] = {"fx", "focal", "focallength", "f"};
  return stored.number(baseline_names).is_there() &&
         (stored.list(matrix_names).is_there() || stored.number(focal).is_there());
}

bool has_rectified(const StoredRig& stored) {
  return has_baseline(stored) || stored.lists(projection_names).any() || stored.list(depth_names).is_there();
}

Rig stored_rectified_rig(const StoredRig& stored, const RigChoices& choices) {
  if (choices.fisheye) fail_at(stored.last_name(), "is of rectified pictures: leave out --fisheye");
  const auto [left_place, right_place] = stored.lists(projection_names);
  const bool has_projections = left_place.is_there() || right_place.is_there();
  if (!has_projections && !stored.list(depth_names).is_there()) return rig_of_baseline(stored, choices);
  if (!has_projections) return rig_of_depth_matrix(stored, stored.list(depth_names), choices);
  const Projection left = projection_at(matrix_at(left_place, 3, 4), left_place.place);
  const Projection right = projection_at(matrix_at(right_place, 3, 4), right_place.place);
  const Rig rig = rectified_rig(left, right, stored_sizes(stored, choices)[0]);
  return finished(rig, choices, {left_place.place, right_place.place, right_place.place, right_place.place});
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

bool is_stored_rig(std::span<const RigFile> files) {
  try {
    const StoredRig stored(files);
    return has_cameras(stored) || has_rectified(stored) || stored.list(rotation_names).is_there();
  } catch (const Error&) {
    return false;
  }
}

Rig read_opencv_rig(std::span<const RigFile> files, const RigChoices& choices) {
  const StoredRig stored(files);
  if (has_cameras(stored)) return calibrated_rig(stored, choices);
  if (has_rectified(stored)) return stored_rectified_rig(stored, choices);
  fail_at(
      stored.last_name(),
      "has neither camera matrices, such as M1 and M2, nor P1 and P2: give every file of the calibration");
}

Rig read_rectified_opencv_rig(std::span<const RigFile> files, const RigChoices& choices) {
  const StoredRig stored(files);
  if (has_rectified(stored)) return stored_rectified_rig(stored, choices);
  fail_at(stored.last_name(), "has neither P1 and P2 nor Q of a rectified pair: give it with --rig");
}

void read_stored_pose(const RigFile& file, Rig& rig) {
  const StoredRig stored({&file, 1});
  rig.rotation = rotation_at(stored.list(rotation_names));
  rig.translation = translation_at(stored.list(translation_names));
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
