// SPDX-License-Identifier: Apache-2.0
#include "rows/corner_rows.h"

#include <algorithm>
#include <cmath>

#include "rows/least_squares.h"

namespace parallax::rows {
namespace {

constexpr std::size_t terms = RowModel::terms;
constexpr std::size_t first_terms = 3;  // shift, rotation, scale
constexpr int draws = 300;              // draws of three points; a third of good points suffices
constexpr double coarse = 3;            // pixels from the first model that a good point may have
constexpr int rounds = 12;
// Standard deviations that the coefficients have before any point is seen, in pixels. They only decide what
// points do not hold.
constexpr double unlikely_first = 1000, unlikely = 20;
constexpr double held_below = 1;  // uncertainty in pixels

struct Equation {
  Vector<terms> terms_at;
  double rows_off;
  double variance;
};

Vector<terms> terms_at(const RowModel& model, double right_x, double left_y, double disparity) {
  const double h = model.half_width;
  const double u = (right_x - model.centre_x) / h, v = (left_y - model.centre_y) / h;
  const double w = (disparity - model.centre_disparity) / h;
  return {1, u, v, u * v, v * v, w, v * w, v * (u * u + v * v)};
}

std::array<Estimate RowModel::*, terms> coefficients() {
  return {&RowModel::shift, &RowModel::rotation, &RowModel::scale,   &RowModel::yaw,
          &RowModel::pitch, &RowModel::shear,    &RowModel::forward, &RowModel::distortion};
}

template <std::size_t n>
double residual(const Equation& equation, const Vector<n>& model) {
  return rows::residual(model, equation.terms_at, equation.rows_off);
}

// Its own generator, so that every machine draws the same samples: xorshift (Marsaglia 2003).
class Draw {
 public:
  std::size_t below(std::size_t count) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return to_size(state_ % count);
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

std::optional<Vector<first_terms>> plane_through(const std::array<const Equation*, 3>& points) {
  NormalEquations<first_terms> equations;
  for (const Equation* point : points) {
    const Vector<terms>& at = point->terms_at;
    equations.add({at[0], at[1], at[2]}, point->rows_off);
  }
  const auto factor = Cholesky<first_terms>::of(equations.products);
  if (!factor) return std::nullopt;
  return factor->solve(equations.sums);
}

double cost(const std::vector<Equation>& equations, const Vector<first_terms>& model) {
  double sum = 0;
  for (const Equation& equation : equations) {
    const double rest = residual(equation, model);
    sum += std::min(rest * rest, coarse * coarse);
  }
  return sum;
}

Vector<terms> first_model(const std::vector<Equation>& equations) {
  Draw draw;
  Vector<first_terms> best{};
  double least = cost(equations, best);
  for (int i = 0; i < draws; ++i) {
    const auto point = [&] { return &equations[draw.below(equations.size())]; };
    const std::array<const Equation*, 3> drawn = {point(), point(), point()};
    const auto model = plane_through(drawn);
    if (!model) continue;
    const double sum = cost(equations, *model);
    if (sum >= least) continue;
    least = sum;
    best = *model;
  }
  return {best[0], best[1], best[2]};
}

// The standard deviation of residuals, from the median of their absolute values among points near the model.
double noise_of(const std::vector<Equation>& equations, const Vector<terms>& model, double near) {
  std::vector<double> distances;
  for (const Equation& equation : equations) {
    const double distance = std::abs(residual(equation, model));
    if (distance < near) distances.push_back(distance);
  }
  return std::max(min_noise, deviation(distances));
}

struct Fit {
  Vector<terms> values{};
  Vector<terms> uncertainties{};
  double noise = 0;
};

// One round of reweighting; false if the equations could not be solved.
bool improve(const std::vector<Equation>& equations, double noise, Fit& fit) {
  NormalEquations<terms> normal;
  for (const Equation& equation : equations) {
    const double weight = tukey_weight(residual(equation, fit.values), noise * noise + equation.variance);
    normal.add(equation.terms_at, equation.rows_off, weight);
  }
  for (std::size_t i = 0; i < terms; ++i) {
    const double prior = i < first_terms ? unlikely_first : unlikely;
    normal.products[i][i] += 1 / (prior * prior);
  }
  const auto factor = Cholesky<terms>::of(normal.products);
  if (!factor) return false;
  fit.values = factor->solve(normal.sums);
  for (std::size_t i = 0; i < terms; ++i) fit.uncertainties[i] = std::sqrt(factor->inverse_diagonal(i));
  return true;
}

Fit fit_all(const std::vector<Equation>& equations) {
  Fit fit;
  fit.values = first_model(equations);
  double near = coarse;
  for (int round = 0; round < rounds; ++round) {
    fit.noise = noise_of(equations, fit.values, near);
    if (!improve(equations, fit.noise, fit)) break;
    near = std::max(wrong, 4 * fit.noise);
  }
  return fit;
}

RowModel empty_model(Size size, const std::vector<CheckedPoint>& points) {
  RowModel model;
  model.centre_x = 0.5 * (size.width - 1);
  model.centre_y = 0.5 * (size.height - 1);
  model.half_width = 0.5 * size.width;
  std::vector<double> disparities;
  for (const CheckedPoint& point : points) disparities.push_back(point.disparity());
  model.centre_disparity = quantile(disparities, 0.5);
  return model;
}

void measure_residuals(std::vector<CheckedPoint>& points, double noise, RowModel& model) {
  for (CheckedPoint& point : points)
    point.residual =
        point.rows_off() - static_cast<float>(model.rows_off(point.right_x, point.left_y, point.disparity()));
  const double limit = std::max(wrong, 4 * noise);
  std::erase_if(points, [&](const CheckedPoint& point) { return std::abs(point.residual) > limit; });
  std::vector<double> distances;
  for (const CheckedPoint& point : points) distances.push_back(std::abs(point.residual));
  model.residual = quantile(distances, 0.5);
  model.residual_95 = quantile(distances, 0.95);
}

}  // namespace

RowModel fit_corners(Size size, std::vector<CheckedPoint>& points) {
  RowModel model = empty_model(size, points);
  if (points.size() < first_terms) return model;
  std::vector<Equation> equations;
  for (const CheckedPoint& point : points)
    equations.push_back({terms_at(model, point.right_x, point.left_y, point.disparity()), point.rows_off(),
                         static_cast<double>(point.uncertainty) * point.uncertainty});
  const Fit fit = fit_all(equations);
  const auto members = coefficients();
  for (std::size_t i = 0; i < terms; ++i)
    model.*members[i] = {fit.values[i], fit.uncertainties[i], fit.uncertainties[i] < held_below};
  measure_residuals(points, fit.noise, model);
  return model;
}

}  // namespace parallax::rows

namespace parallax {

double RowModel::rows_off(double right_x, double left_y, double disparity) const {
  const auto values = rows::terms_at(*this, right_x, left_y, disparity);
  const auto members = rows::coefficients();
  double sum = 0;
  for (std::size_t i = 0; i < terms; ++i) sum += values[i] * (this->*members[i]).value;
  return sum;
}

double RowModel::rotation_degrees() const {
  return std::atan(rotation.value / half_width) * 57.29577951308232;
}

double RowModel::shear_degrees() const {
  return std::atan(shear.value / half_width) * 57.29577951308232;
}

}  // namespace parallax
