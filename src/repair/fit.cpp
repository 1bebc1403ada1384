// SPDX-License-Identifier: Apache-2.0
// Estimates the unknowns by iteratively reweighted least squares: first with the weights of least absolute
// differences, then with Tukey's, around a prior belief.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "repair/repair.h"
#include "rows/corner_rows.h"

namespace parallax::repair {
namespace {

constexpr int coarse_rounds = 4, rounds = 20;
constexpr double close_enough = 1e-4;  // last step, in pixels
// A frame counts as at most this many points, because errors of points have common causes, which no number of
// points averages out: interpolation, surfaces that are not flat, lenses.
constexpr double max_independent = 100;

double noise_of(const std::vector<double>& rows) {
  std::vector<double> distances;
  for (const double difference : rows)
    if (std::isfinite(difference)) distances.push_back(std::abs(difference));
  return std::max(rows::min_noise, rows::deviation(distances));
}

double weight_of(double difference, double uncertainty, double noise, bool coarse) {
  const double variance = noise * noise + uncertainty * uncertainty;
  if (coarse) return 1 / (std::sqrt(variance) * std::max(std::abs(difference), std::sqrt(variance)));
  return rows::tukey_weight(difference, variance);
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
                             rig.right.model <= LensModel::equidistant ? parameters.distortion : 0,
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
    rows::NormalEquations<unknowns> equations{before.information, {}};
    const double share = std::min(1.0, max_independent / static_cast<double>(std::max(1, result.points)));
    for (std::size_t i = 0; i < unknowns; ++i)
      for (std::size_t j = 0; j < unknowns; ++j)
        equations.sums[i] +=
            before.information[std::max(i, j)][std::min(i, j)] * (values[j] - before.mean[j]);
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
      equations.add(d, differences[p], weight);
    }
    const auto factor = Factor::of(equations.products, min_pivot);
    if (!factor) return std::nullopt;
    const Values step = factor->solve(equations.sums);
    double moved = 0;
    for (const Values& derivative : derivatives) {
      double rows_moved = 0;
      for (std::size_t k = 0; k < unknowns; ++k) rows_moved += before.kept[k] ? 0 : derivative[k] * step[k];
      if (std::isfinite(rows_moved)) moved = std::max(moved, std::abs(rows_moved));
    }
    for (std::size_t k = 0; k < unknowns; ++k)
      if (!before.kept[k]) values[k] -= step[k];
    result.belief.information = equations.products;
    if (moved < close_enough && round > coarse_rounds) break;
  }
  return result;
}

// The noise of disparities is below a pixel.
bool in_one_plane(const std::vector<Rectified>& points) {
  constexpr int fits = 5;
  constexpr double flat = 1.5;  // pixels
  const auto for_points = [&](const auto& each) {
    for (const Rectified& point : points) each(rows::Vector<3>{1, point.x, point.y}, point.disparity);
  };
  const auto plane = rows::min_absolute<3>(fits, {}, for_points);
  if (!plane) return false;
  std::vector<double> distances;
  for_points([&](const rows::Vector<3>& terms, double disparity) {
    distances.push_back(std::abs(rows::residual(*plane, terms, disparity)));
  });
  return rows::quantile(distances, 0.95) < flat;
}

}  // namespace parallax::repair
