// SPDX-License-Identifier: Apache-2.0
// What the formats of rigs share. Each has a file with a reader and a writer.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/files/rigs/rig_files.h"
#include "tools/files/stored_document.h"

namespace parallax::tool {

Rig read_opencv_rig(std::span<const RigFile> files, const RigChoices& choices);
Rig read_ros_rig(std::span<const RigFile> files, const RigChoices& choices);
Rig read_kalibr_rig(const RigFile& file, const RigChoices& choices);
Rig read_kitti_rig(const RigFile& file, const RigChoices& choices);
Rig read_rectified_kitti_rig(const RigFile& file, const RigChoices& choices);
Rig read_middlebury_rig(const RigFile& file, const RigChoices& choices);
Rig read_stereolabs_rig(const RigFile& file, const RigChoices& choices);
Rig read_oak_rig(const RigFile& file, const RigChoices& choices);
Rig read_matlab_rig(const RigFile& file, const RigChoices& choices);
Rig read_euroc_rig(std::span<const RigFile> files, const RigChoices& choices);
Rig read_orb_slam_rig(const RigFile& file, const RigChoices& choices);
Rig read_colmap_rig(std::span<const RigFile> files, const RigChoices& choices);

// The same for rectified pictures of these cameras, where a file also has cameras before rectification.
// \throws Error (file) that says --rig for a file that has nothing of rectified pictures
Rig read_rectified_opencv_rig(std::span<const RigFile> files, const RigChoices& choices);
Rig read_rectified_ros_rig(std::span<const RigFile> files, const RigChoices& choices);
Rig read_rectified_kitti_raw_rig(const RigFile& file, const RigChoices& choices);
Rig read_rectified_orb_slam_rig(const RigFile& file, const RigChoices& choices);

// Whether the documents have a rig with usual keys, or its pose.
bool is_stored_rig(std::span<const RigFile> files);
// The rotation and the translation of a document with usual keys.
void read_stored_pose(const RigFile& file, Rig& rig);
// Whether a line is one of COLMAP's cameras.txt or images.txt.
bool is_colmap_line(std::string_view line);
// Whether MATLAB's file tells the unit of its translation.
bool tells_unit_of_matlab(const RigFile& file);

std::string encode_opencv_rig(const Rig& rig, StoredFormat format);
std::array<std::string, 2> encode_ros_rig(const Rig& rig);
std::string encode_kalibr_rig(const Rig& rig);
std::string encode_kitti_rig(const Rig& rig);
std::string encode_rectified_kitti_rig(const Rig& rig);
std::string encode_middlebury_rig(const Rig& rig);
std::string encode_stereolabs_rig(const Rig& rig);

Matrix3 product(const Matrix3& a, const Matrix3& b);
Vector3 product(const Matrix3& m, const Vector3& v);
Matrix3 transposed(const Matrix3& m);
double length(const Vector3& v);

// The rotation about a vector by its length in radians (Rodrigues' formula), and its inverse.
Matrix3 rotation_about(const Vector3& axis);
Vector3 axis_of(const Matrix3& rotation);

// Calls `use` with every line, without the spaces around it.
void for_each_line(std::string_view text, const std::function<void(std::string_view line)>& use);
std::string_view trimmed(std::string_view text);
// NaN for a text that is not a number. Independent of the locale.
double number_in_text(std::string_view text);
// Words separated by spaces, as many as are read of a list.
std::vector<double> numbers_in_text(std::string_view text);

// Rigs are in metres, Middlebury's and Stereolabs' files in millimetres.
inline constexpr double millimetres_in_a_metre = 1000;

// A key of a file, for messages: "left.yaml: camera_matrix".
std::string key_in(const RigFile& file, const std::string& key);
// \throws Error (file): "left.yaml: camera_matrix is missing: …"
[[noreturn]] void fail_at(const std::string& key, const std::string& why);

// The numbers if there are `count` of them and all are finite.
// \throws Error (file)
std::span<const double> checked(std::span<const double> numbers, std::size_t count, const std::string& key);
double checked(std::span<const double> number, const std::string& key);
// Copies all numbers to the beginning of an array that holds as many.
template <class Array>
void copy_numbers(std::span<const double> numbers, Array& array) {
  std::copy(numbers.begin(), numbers.end(), array.begin());
}

// Width and height.
// \throws Error (file)
Size size_at(std::span<const double> numbers, const std::string& key);
// The size in the file, or if it has none, the chosen one; 0×0 where the pictures are to give it.
// \throws Error (file) for two that differ, or none
Size size_of_images(Size in_file, const RigChoices& choices, const std::string& key);

// The number of coefficients of a model that has one number of them; 0 = it has several.
std::size_t fixed_coefficients(LensModel model);
// As in Parallax's JSON.
std::string name_of_lens(LensModel model);

// The matrix [fx 0 cx; 0 fy cy; 0 0 1], row by row, and its inverse function.
// \throws Error (file)
Matrix3 camera_matrix(const Camera& camera);
void set_intrinsics(Camera& camera, std::span<const double> matrix, const std::string& key);
// Coefficients in OpenCV's order.
// \throws Error (file) for a number of them that the model does not have
void set_lens(Camera& camera, LensModel model, std::span<const double> coefficients, const std::string& key);

// A rectified camera: a point X in the coordinates of the rectified rig is at X + translation in its own.
struct Projection {
  double focal_x = 0, focal_y = 0, centre_x = 0, centre_y = 0;
  Vector3 translation = {};
};
// From [fx 0 cx a; 0 fy cy b; 0 0 1 c], whose last column is K · translation.
// \throws Error (file)
Projection projection_at(std::span<const double> matrix, const std::string& key);
// The rig of rectified pictures without distortion.
Rig rectified_rig(const Projection& left, const Projection& right, Size size);

// The camera of a part of its images that begins at this column and row.
void crop(Camera& camera, int x, int y, Size size);
void crop(Projection& projection, int x, int y);

// The keys that a rig's members came from.
struct RigKeys {
  std::string left, right, rotation, translation;
};
// Exchanges the cameras if it was chosen, and validates the rig.
// \throws Error (file)
Rig finished(const Rig& rig, const RigChoices& choices, const RigKeys& keys);

// The shortest decimal that is read back to the same number.
// \throws Error (argument) if it is not finite
std::string number_text(double number);
// "1, 2, 3"
std::string numbers_text(std::span<const double> numbers, const std::string& separator = ", ");

// The coefficients to write, `least` or more: 4 for an equidistant lens, otherwise 4, 5, 8, 12 or 14.
// \throws Error (argument) if there are more than `most`
std::vector<double> lens_coefficients(const Camera& camera, std::size_t most, const std::string& format,
                                      std::size_t least = 4);
// \throws Error (argument) unless both cameras are of the model
void need_model(const Rig& rig, LensModel model, const std::string& format);
// \throws Error (argument) unless both images are of one size, without distortion, and the cameras are
// parallel
void need_rectified(const Rig& rig, const std::string& format);
[[noreturn]] void cannot_hold(const std::string& format, const std::string& what);

}  // namespace parallax::tool
