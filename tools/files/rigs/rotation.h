// SPDX-License-Identifier: Apache-2.0
// Rotations in three dimensions.
#pragma once

#include "parallax/rig.h"

namespace parallax::tool {

Matrix3 product(const Matrix3& a, const Matrix3& b);
Vector3 product(const Matrix3& m, const Vector3& v);
Matrix3 transposed(const Matrix3& m);
double length(const Vector3& v);

// The rotation about a vector by its length in radians (Rodrigues' formula), and its inverse.
Matrix3 rotation_about(const Vector3& axis);
Vector3 axis_of(const Matrix3& rotation);

}  // namespace parallax::tool
