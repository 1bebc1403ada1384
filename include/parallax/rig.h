// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two calibrated cameras, before rectification.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// A matrix of 3 rows and 3 columns, row by row.
using Matrix3 = std::array<double, 9>;
/// A vector or point of 3 coordinates: right, down, forward.
using Vector3 = std::array<double, 3>;
/// A position in an image in pixels: column, row. The centre of the first pixel is (0, 0).
using Position = std::array<double, 2>;

/// How a lens bends rays.
enum class LensModel {
  /// Brown's model with its rational and thin-prism extensions. Coefficients: k1, k2, p1, p2, k3, k4, k5, k6,
  /// s1, s2, s3, s4, τx, τy, in OpenCV's order; those that a calibration lacks are 0.
  radial_tangential,
  /// Kannala and Brandt's model of a fisheye lens, equidistant with four coefficients k1 to k4.
  equidistant,
  /// Mei and Rives's model of mirrors and very wide lenses: a point on the unit sphere is seen from ξ behind its
  /// centre, and bent by Brown's model. Coefficients: ξ, 0 or more, k1, k2, p1, p2.
  omnidirectional,
  /// Usenko, Demmel and Cremers's double sphere. Coefficients: ξ, between −1 and 1, and α, 0…1. Focal lengths
  /// are those of the model, as in Kalibr.
  double_sphere,
  /// Khomutenko, Garcia and Martinet's extended unified model. Coefficients: α, 0…1, and β, above 0.
  extended_unified,
};

/// A camera: sizes, focal lengths and centres are in pixels.
struct Camera {
  Size size;                                       ///< of its images
  double focal_x = 0;                              ///< focal length over the width of a pixel
  double focal_y = 0;                              ///< focal length over the height of a pixel
  double centre_x = 0;                             ///< column of the principal point
  double centre_y = 0;                             ///< row of the principal point
  LensModel model = LensModel::radial_tangential;  ///< what the coefficients mean
  std::array<double, 14> distortion = {};          ///< the coefficients; all 0 = a pinhole

  bool operator==(const Camera&) const = default;  ///< compares every member
};

/// Two cameras and where the right one is. A point X in the left camera's coordinates is rotation · X +
/// translation in the right one's, as in OpenCV. For a horizontal pair of upright cameras, translation[0] is
/// about −baseline.
struct Rig {
  Camera left;                                     ///< the camera whose image is the matcher's left one
  Camera right;                                    ///< the camera to its right
  Matrix3 rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< from the left camera's axes to the right one's
  Vector3 translation = {};                        ///< in the unit that depth will have

  bool operator==(const Rig&) const = default;  ///< compares every member
};

/// Refuses a rig that cannot be rectified: a side of an image not from 1 to 1,000,000 pixels, a focal length
/// that is not positive, a value that is not finite, a rotation that is not orthonormal to 1e-4 (files round
/// it) or mirrors, coefficients out of the range of their model, no baseline, or a right camera to the left of the left one, by its position −rotationᵀ ·
/// translation. A baseline that is mostly vertical is valid, and so is a camera mounted upside down.
/// \throws Error (argument) that begins with the member, such as "left.focal_x".
void validate(const Rig& rig);

/// The same two cameras with their names exchanged.
Rig exchanged(const Rig& rig);

/// Returns a rig as JSON, which rig_from_json() reads to the same values.
/// \throws Error (argument) as validate() does.
std::string to_json(const Rig& rig);

/// Parses the JSON of a rig. Every key is needed:
/// \code{.json}
/// {"left": {"size": [1280, 720], "focal": [700, 700], "centre": [639.5, 359.5],
///           "model": "radial-tangential", "distortion": [-0.17, 0.03, 0, 0]},
///  "right": {…},
///  "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
///  "translation": [-0.12, 0, 0]}
/// \endcode
/// `model` is "radial-tangential", with 0, 4, 5, 8, 12 or 14 coefficients in the order of Camera::distortion,
/// "equidistant", with 4, "omnidirectional", with 5, "double-sphere" or "extended-unified", with 2. \p name
/// appears in errors.
/// \throws Error (file) when the text is not such JSON, a key is unknown or missing, or validate() refuses
/// the rig.
Rig rig_from_json(std::string_view text, const std::string& name);

}  // namespace parallax
#pragma GCC visibility pop
