// SPDX-License-Identifier: Apache-2.0
// Least squares of a few unknowns, and what makes them robust against wrong measurements.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/integers.h"

namespace parallax::rows {

template <std::size_t n>
using Vector = std::array<double, n>;

// The Cholesky factor of a symmetric, positive definite matrix, of which only the lower triangle is read.
template <std::size_t n>
class Cholesky {
 public:
  using Matrix = std::array<Vector<n>, n>;

  // Empty if the matrix is singular: if a pivot is not larger than this share of its diagonal element.
  static std::optional<Cholesky> of(const Matrix& matrix, double min_pivot = 1e-9) {
    Cholesky result;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = matrix[i][j];
        for (std::size_t k = 0; k < j; ++k) sum -= result.lower_[i][k] * result.lower_[j][k];
        if (i != j) {
          result.lower_[i][j] = sum / result.lower_[j][j];
        } else {
          if (!(sum > min_pivot * matrix[i][i])) return std::nullopt;
          result.lower_[i][i] = std::sqrt(sum);
        }
      }
    return result;
  }

  Vector<n> solve(Vector<n> b) const {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= lower_[i][k] * b[k];
      b[i] /= lower_[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) b[i] -= lower_[k][i] * b[k];
      b[i] /= lower_[i][i];
    }
    return b;
  }

  // Element (i, i) of the inverse.
  double inverse_diagonal(std::size_t i) const {
    Vector<n> unit{};
    unit[i] = 1;
    return solve(unit)[i];
  }

 private:
  Matrix lower_{};
};

// The normal equations of weighted least squares.
template <std::size_t n>
struct NormalEquations {
  typename Cholesky<n>::Matrix products{};  // the lower triangle
  Vector<n> sums{};

  // Adds the equation Σ terms[i]·unknown[i] = value.
  void add(const Vector<n>& terms, double value, double weight = 1) {
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] += weight * terms[i] * value;
      for (std::size_t j = 0; j <= i; ++j) products[i][j] += weight * terms[i] * terms[j];
    }
  }
};

// Residual of a value under a model of the first unknowns.
template <std::size_t n, std::size_t all>
double residual(const Vector<n>& model, const Vector<all>& terms, double value) {
  for (std::size_t i = 0; i < n; ++i) value -= model[i] * terms[i];
  return value;
}

// The unknowns of least absolute residuals, by least squares with weights of 1 / max(|residual|, 0.1) from
// one round to the next. for_each(add) calls add(terms, value, weight = 1) for every equation. `diagonal` is
// added to the matrix: small values keep it solvable. Empty if it is singular.
template <std::size_t n, class ForEach>
std::optional<Vector<n>> min_absolute(int rounds, const Vector<n>& diagonal, const ForEach& for_each) {
  constexpr double min_residual = 0.1;
  Vector<n> found{};
  for (int round = 0; round < rounds; ++round) {
    NormalEquations<n> equations;
    for_each([&](const Vector<n>& terms, double value, double weight = 1) {
      const double off = round == 0 ? 1 : std::max(min_residual, std::abs(residual(found, terms, value)));
      equations.add(terms, value, weight / off);
    });
    for (std::size_t i = 0; i < n; ++i) equations.products[i][i] += diagonal[i];
    const auto factor = Cholesky<n>::of(equations.products);
    if (!factor) return std::nullopt;
    found = factor->solve(equations.sums);
  }
  return found;
}

// Tukey's weight of a residual, over its variance; 95 % efficiency. 0 for wrong measurements.
inline double tukey_weight(double residual, double variance) {
  constexpr double tukey = 4.685;
  const double share = residual * residual / (tukey * tukey * variance);
  return share >= 1 ? 0 : (1 - share) * (1 - share) / variance;
}

// The value below which this share of the values lies; they are reordered. 0 without values.
inline double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto position = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + position, values.end());
  return values[to_size(position)];
}

// The standard deviation of residuals, by the median of their distances from 0; they are reordered.
inline double deviation(std::vector<double>& distances) {
  return 1.4826 * quantile(distances, 0.5);
}

}  // namespace parallax::rows
