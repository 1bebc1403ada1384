// SPDX-License-Identifier: Apache-2.0
#include "parallax/rig.h"

#include <cmath>

#include "core/checks.h"
#include "core/floating_point.h"
#include "core/length.h"
#include "geometry/turn.h"

namespace parallax {
namespace {

void check_focal(const std::string& what, double focal) {
  check_finite(what, focal);
  if (!(focal > 0)) refuse(what, focal, "a focal length above 0");
}

void check_coefficients(const std::string& what, const Camera& camera) {
  const auto& k = camera.distortion;
  const auto in_words = [&](bool fits, const char* range) {
    if (!fits) refuse(what + " has coefficients out of the range of their model: choose " + range);
  };
  if (camera.model == LensModel::omnidirectional) in_words(k[0] >= 0, "ξ of 0 or more");
  if (camera.model == LensModel::double_sphere)
    in_words(k[0] > -1 && k[0] < 1 && k[1] >= 0 && k[1] <= 1, "ξ between -1 and 1, and α from 0 to 1");
  if (camera.model == LensModel::extended_unified)
    in_words(k[0] >= 0 && k[0] <= 1 && k[1] > 0, "α from 0 to 1, and β above 0");
}

void check_camera(const std::string& which, const Camera& camera) {
  check_size(camera.size, which + ".size");
  check_focal(which + ".focal_x", camera.focal_x);
  check_focal(which + ".focal_y", camera.focal_y);
  check_finite(which + ".centre_x", camera.centre_x);
  check_finite(which + ".centre_y", camera.centre_y);
  check_choice(which + ".model", camera.model, LensModel::extended_unified);
  for (const double coefficient : camera.distortion) check_finite(which + ".distortion", coefficient);
  check_coefficients(which + ".distortion", camera);
}

double dot_of_rows(const Matrix3& m, std::size_t a, std::size_t b) {
  return m[3 * a] * m[3 * b] + m[3 * a + 1] * m[3 * b + 1] + m[3 * a + 2] * m[3 * b + 2];
}

double determinant(const Matrix3& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
         m[2] * (m[3] * m[7] - m[4] * m[6]);
}

void check_rotation(const Matrix3& rotation) {
  constexpr double tolerance = 1e-4;
  for (const double element : rotation) check_finite("rotation", element);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b)
      if (!(std::abs(dot_of_rows(rotation, a, b) - (a == b ? 1 : 0)) <= tolerance))
        refuse("rotation has rows that are not orthonormal: give a rotation matrix");
  if (determinant(rotation) < 0) refuse("rotation mirrors, its determinant is -1: give a rotation matrix");
}

void check_translation(const Rig& rig) {
  for (const double element : rig.translation) check_finite("translation", element);
  const auto [x, y, z] = rig.translation;
  if (std::hypot(x, y, z) == 0) refuse("translation is 0, so the rig has no baseline: calibrate it again");
  const auto [right, down, forward] = exchanged(rig).translation;
  if (-right > detail::length_of(down, forward) && turns_of(rig).is_exchanged)
    refuse(
        "translation says that the second camera is left of the first: exchange the two pictures, and the "
        "cameras "
        "of the rig");
}

}  // namespace

void validate(const Rig& rig) {
  const DefaultFloatingPoint environment;
  check_camera("left", rig.left);
  check_camera("right", rig.right);
  check_rotation(rig.rotation);
  check_translation(rig);
}

Rig exchanged(const Rig& rig) {
  const DefaultFloatingPoint environment;
  Rig result;
  result.left = rig.right;
  result.right = rig.left;
  for (std::size_t row = 0; row < 3; ++row) {
    result.translation[row] = 0;
    for (std::size_t column = 0; column < 3; ++column) {
      result.rotation[3 * row + column] = rig.rotation[3 * column + row];
      result.translation[row] -= rig.rotation[3 * column + row] * rig.translation[column];
    }
  }
  return result;
}

}  // namespace parallax
