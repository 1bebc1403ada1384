// SPDX-License-Identifier: Apache-2.0
#include "tools/match/row_offsets.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "tools/command/json.h"

namespace parallax::tool {
namespace {

constexpr double max_samples = 100'000;

using Sample = RowOffsetSampler::Sample;

double quantile(std::vector<double>& values, double share) {
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

using Coefficients = std::array<double, 3>;

double product(const Coefficients& coefficients, const Sample& sample) {
  double sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) sum += coefficients[i] * sample.terms[i];
  return sum;
}

// The normal equations by Gaussian elimination; a small diagonal keeps them solvable.
Coefficients solve(std::array<std::array<double, 4>, 3> rows) {
  constexpr std::size_t n = 3;
  for (std::size_t i = 0; i < n; ++i) rows[i][i] += 1e-6;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      const double factor = rows[k][i] / rows[i][i];
      for (std::size_t j = i; j <= n; ++j) rows[k][j] -= factor * rows[i][j];
    }
  Coefficients solution{};
  for (std::size_t i = n; i-- > 0;) {
    solution[i] = rows[i][n];
    for (std::size_t j = i + 1; j < n; ++j) solution[i] -= rows[i][j] * solution[j];
    solution[i] /= rows[i][i];
  }
  return solution;
}

// The least absolute residuals, by least squares with weights.
Coefficients fit(const std::vector<Sample>& samples) {
  constexpr int rounds = 10;
  constexpr double min_residual = 0.1;
  Coefficients coefficients{};
  for (int round = 0; round < rounds; ++round) {
    std::array<std::array<double, 4>, 3> equations{};
    for (const Sample& sample : samples) {
      const double residual = std::abs(sample.rows - product(coefficients, sample));
      const double weight = round == 0 ? 1 : 1 / std::max(residual, min_residual);
      for (std::size_t i = 0; i < coefficients.size(); ++i) {
        for (std::size_t j = 0; j < coefficients.size(); ++j)
          equations[i][j] += weight * sample.terms[i] * sample.terms[j];
        equations[i].back() += weight * sample.terms[i] * sample.rows;
      }
    }
    coefficients = solve(equations);
  }
  return coefficients;
}

}  // namespace

RowOffsetSampler::RowOffsetSampler(Size map)
    : map_(map),
      step_(static_cast<int>(
          std::ceil(std::sqrt(std::max(1.0, static_cast<double>(map.pixels()) / max_samples))))) {}

void RowOffsetSampler::add(int first_row, View<const float> disparity, View<const float> row_offset) {
  const auto [width, height] = map_;
  const double half_width = width / 2.0;
  for (int row = 0; row < row_offset.size.height; ++row) {
    for (int x = 0; x < width; ++x) pixels_ += std::isfinite(row_offset.at(x, row));
    const int y = first_row + row;
    if (y % step_ != step_ / 2) continue;
    for (int x = step_ / 2; x < width; x += step_) {
      const double d = disparity.at(x, row), rows = row_offset.at(x, row);
      if (!std::isfinite(d) || !std::isfinite(rows)) continue;
      samples_.push_back(
          {{1, (x - d - (width - 1) / 2.0) / half_width, (y - (height - 1) / 2.0) / half_width}, rows});
    }
  }
}

RowOffsetSummary RowOffsetSampler::summary() const {
  RowOffsetSummary summary;
  summary.pixels = pixels_;
  if (samples_.empty()) return summary;
  std::vector<double> rows, off;
  for (const Sample& sample : samples_) {
    summary.mean += sample.rows / static_cast<double>(samples_.size());
    rows.push_back(sample.rows);
    off.push_back(std::abs(sample.rows));
  }
  summary.percentile_5 = quantile(rows, 0.05);
  summary.median = quantile(rows, 0.5);
  summary.percentile_95 = quantile(rows, 0.95);
  summary.rows_off = quantile(off, 0.5);
  summary.rows_off_95 = quantile(off, 0.95);
  const Coefficients model = fit(samples_);
  summary.shift = model[0];
  summary.rotation = model[1];
  summary.scale = model[2];
  return summary;
}

RowOffsetSummary summarise_row_offsets(View<const float> disparity, View<const float> row_offset) {
  RowOffsetSampler sampler(row_offset.size);
  sampler.add(0, disparity, row_offset);
  return sampler.summary();
}

std::string describe_row_offsets(const RowOffsetSummary& summary) {
  if (summary.pixels == 0) return "rows off: no pixel has a row offset\n";
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << "rows off: median " << summary.rows_off << " px, 95 % "
       << summary.rows_off_95 << " px (" << summary.pixels
       << " pixels); 5, 50, 95 %: " << summary.percentile_5 << ", " << summary.median << ", "
       << summary.percentile_95 << " px\nmodel of the row offsets, pixels at the edge of the picture: shift "
       << summary.shift << " px, rotation " << summary.rotation << " px, scale " << summary.scale << " px\n";
  return text.str();
}

nlohmann::ordered_json row_offsets_json(const RowOffsetSummary& summary) {
  return {{"pixels", summary.pixels},
          {"median", summary.rows_off},
          {"95", summary.rows_off_95},
          {"offsets",
           {{"mean", summary.mean},
            {"5", summary.percentile_5},
            {"50", summary.median},
            {"95", summary.percentile_95}}},
          {"model", {{"shift", summary.shift}, {"rotation", summary.rotation}, {"scale", summary.scale}}}};
}

}  // namespace parallax::tool
