// SPDX-License-Identifier: Apache-2.0
// Estimates the unknowns by iteratively reweighted least squares: first with the weights of least absolute
// differences, then with Tukey's, around a prior belief.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "check/check.h"
#include "repair/repair.h"

namespace parallax::repair {
namespace {

constexpr double least_noise = 0.03;  // pixels
constexpr double tukey = 4.685;       // 95 % efficiency
constexpr int coarse_rounds = 4, rounds = 20;
constexpr double close_enough = 1e-4;  // last step, in pixels
// A frame counts as at most this many points, because errors of points have common causes, which no number of
// points averages out: interpolation, surfaces that are not flat, lenses.
constexpr double most_independent = 100;

double noise_of(const std::vector<double>& rows) {
  std::vector<double> distances;
  for (const double difference : rows)
    if (std::isfinite(difference)) distances.push_back(std::abs(difference));
  return std::max(least_noise, 1.4826 * check::quantile(distances, 0.5));
}

double weight_of(double difference, double uncertainty, double noise, bool coarse) {
  const double variance = noise * noise + uncertainty * uncertainty;
  if (coarse) return 1 / (std::sqrt(variance) * std::max(std::abs(difference), std::sqrt(variance)));
  const double share = difference * difference / (tukey * tukey * variance);
  return share >= 1 ? 0 : (1 - share) * (1 - share) / variance;
}

}  // namespace

Belief belief_before(const Rig& rig, const RepairParameters& parameters) {
  const double radians = std::numbers::pi / 180;
  const double rotation = radians * parameters.rotation,
               direction = parameters.keep_left ? 0 : std::tan(radians * parameters.direction);
  const Values deviations = {rotation,
                             rotation,
                             rotation,
                             direction,
                             direction,
                             parameters.focal_ratio,
                             parameters.principal_row,
                             parameters.distortion,
                             rig.right.model == LensModel::radial_tangential ? parameters.decentring : 0};
  Belief belief;
  for (std::size_t k = 0; k < unknowns; ++k) {
    belief.kept[k] = deviations[k] == 0;
    belief.information[k][k] = belief.kept[k] ? 1 : 1 / (deviations[k] * deviations[k]);
  }
  return belief;
}

std::optional<Fit> fit(const Rows& rows, std::span<const PointPair> points, const Belief& before) {
  Fit result{before, static_cast<int>(points.size())};
  Values& values = result.belief.mean;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> differences = rows.at(values);
    const std::vector<Values> derivatives = rows.derivatives(values, differences);
    const double noise = noise_of(differences);
    Factor::Matrix products = before.information;
    Values slope{};
    const double share = std::min(1.0, most_independent / static_cast<double>(std::max(1, result.points)));
    for (std::size_t i = 0; i < unknowns; ++i)
      for (std::size_t j = 0; j < unknowns; ++j)
        slope[i] += before.information[std::max(i, j)][std::min(i, j)] * (values[j] - before.mean[j]);
    result.points = 0;
    for (std::size_t p = 0; p < differences.size(); ++p) {
      Values d = derivatives[p];
      if (!std::all_of(d.begin(), d.end(), [](double value) { return std::isfinite(value); })) continue;
      const double weight =
          share * weight_of(differences[p], points[p].uncertainty, noise, round < coarse_rounds);
      if (weight == 0) continue;
      ++result.points;
      for (std::size_t k = 0; k < unknowns; ++k)
        if (before.kept[k]) d[k] = 0;
      for (std::size_t i = 0; i < unknowns; ++i) {
        slope[i] += weight * d[i] * differences[p];
        for (std::size_t j = 0; j <= i; ++j) products[i][j] += weight * d[i] * d[j];
      }
    }
    const auto factor = Factor::of(products, least_pivot);
    if (!factor) return std::nullopt;
    const Values step = factor->solve(slope);
    double moved = 0;
    for (const Values& derivative : derivatives) {
      double rows_moved = 0;
      for (std::size_t k = 0; k < unknowns; ++k) rows_moved += before.kept[k] ? 0 : derivative[k] * step[k];
      if (std::isfinite(rows_moved)) moved = std::max(moved, std::abs(rows_moved));
    }
    for (std::size_t k = 0; k < unknowns; ++k)
      if (!before.kept[k]) values[k] -= step[k];
    result.belief.information = products;
    if (moved < close_enough && round > coarse_rounds) break;
  }
  return result;
}

// Decided by least squares; the noise of disparities is below a pixel.
bool in_one_plane(const std::vector<Rectified>& points) {
  constexpr double flat = 1.5;  // pixels
  using Plane3 = check::Cholesky<3>;
  check::Vector<3> plane{};
  const auto rest = [&](const Rectified& point) {
    return point.disparity - plane[0] - plane[1] * point.x - plane[2] * point.y;
  };
  for (int round = 0; round < 5; ++round) {
    Plane3::Matrix products{};
    check::Vector<3> sums{};
    for (const Rectified& point : points) {
      const check::Vector<3> terms = {1, point.x, point.y};
      const double weight = round == 0 ? 1 : 1 / std::max(0.1, std::abs(rest(point)));
      for (std::size_t i = 0; i < 3; ++i) {
        sums[i] += weight * terms[i] * point.disparity;
        for (std::size_t j = 0; j <= i; ++j) products[i][j] += weight * terms[i] * terms[j];
      }
    }
    const auto factor = Plane3::of(products);
    if (!factor) return false;
    plane = factor->solve(sums);
  }
  std::vector<double> distances;
  for (const Rectified& point : points) distances.push_back(std::abs(rest(point)));
  return check::quantile(distances, 0.95) < flat;
}

}  // namespace parallax::repair
