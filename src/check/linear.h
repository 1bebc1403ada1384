// SPDX-License-Identifier: Apache-2.0
// Least squares with few unknowns.
#pragma once

#include <array>
#include <cmath>
#include <optional>

namespace parallax::check {

template <int n>
using Vector = std::array<double, n>;

// The Cholesky factor of a symmetric, positive definite matrix, of which only the lower triangle is read.
template <int n>
class Cholesky {
 public:
  using Matrix = std::array<Vector<n>, n>;

  // Empty if the matrix is singular: if a pivot is not larger than `least_pivot` times its diagonal element.
  static std::optional<Cholesky> of(const Matrix& matrix, double least_pivot = 1e-9) {
    Cholesky result;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) {
        double sum = matrix[at(i)][at(j)];
        for (int k = 0; k < j; ++k) sum -= result.lower_[at(i)][at(k)] * result.lower_[at(j)][at(k)];
        if (i != j) {
          result.lower_[at(i)][at(j)] = sum / result.lower_[at(j)][at(j)];
        } else {
          if (!(sum > least_pivot * matrix[at(i)][at(i)])) return std::nullopt;
          result.lower_[at(i)][at(i)] = std::sqrt(sum);
        }
      }
    return result;
  }

  Vector<n> solve(Vector<n> b) const {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) b[at(i)] -= lower_[at(i)][at(k)] * b[at(k)];
      b[at(i)] /= lower_[at(i)][at(i)];
    }
    for (int i = n - 1; i >= 0; --i) {
      for (int k = i + 1; k < n; ++k) b[at(i)] -= lower_[at(k)][at(i)] * b[at(k)];
      b[at(i)] /= lower_[at(i)][at(i)];
    }
    return b;
  }

  // Element (i, i) of the inverse matrix.
  double inverse_diagonal(int i) const {
    Vector<n> unit{};
    unit[at(i)] = 1;
    return solve(unit)[at(i)];
  }

 private:
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }
  Matrix lower_{};
};

}  // namespace parallax::check
