// SPDX-License-Identifier: Apache-2.0
#include "matchers/semi_global/semi_global.h"

#include <string>

#include "core/checks.h"
#include "core/floating_point.h"
#include "data_cost/scene.h"

namespace parallax {

std::vector<float> semi_global_costs(const SemiGlobalParameters& parameters, const StereoPair& pair) {
  const DefaultFloatingPoint environment;
  return data_cost::Scene(semi_global::make_model(data_cost::validated(parameters)), pair).volume();
}

namespace semi_global {

std::span<const Step> steps_of(int paths) {
  // Those of StereoSGBM first.
  static constexpr Step eight[] = {{1, 0}, {-1, 0}, {1, 1}, {0, 1}, {-1, 1}, {1, -1}, {0, -1}, {-1, -1}};
  static constexpr Step four[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  if (paths == 4) return four;
  return std::span(eight).first(to_size(paths));
}

namespace {

// The highest data cost that leaves room for the rest of the window, for row offsets and P2 on each path.
int highest_cost_that_fits(const Model& model) {
  const SemiGlobalParameters& p = model.parameters;
  return (highest_sum / p.paths - model.highest_jump() - model.highest_row_cost()) / (p.window * p.window);
}

[[noreturn]] void refuse_largest(const Model& model) {
  const SemiGlobalParameters& p = model.parameters;
  const std::string rest = "window or paths: sums of costs exceed 16 bits";
  if (model.highest_row_cost() > model.highest_jump())
    refuse("row_prior", p.row_prior, "less of it, or of row_tolerance, " + rest);
  const bool is_large = model.highest_jump() == p.large_jump;
  refuse(is_large ? "large_jump" : "row_jump", model.highest_jump(), "less of it, or of " + rest);
}

void check_fits(const Model& model) {
  const SemiGlobalParameters& p = model.parameters;
  const int most = highest_cost_that_fits(model);
  if (most < 1) refuse_largest(model);
  const std::string others =
      model.row_offsets > 1 ? "large_jump, row_jump, row_prior or row_tolerance" : "or large_jump";
  if (p.outside_cost.value_or(0) > most)
    refuse("outside_cost", *p.outside_cost,
           "at most " + std::to_string(most) + ", or less of window, paths, " + others);
  if (p.cost == DataCost::volume) return;
  if (model.data_cost(model.differences) > static_cast<float>(most))
    refuse("data_weight", p.data_weight,
           "less of it, or of data_truncation, window, paths, " + others + ": sums of costs exceed 16 bits");
  if (model.data_cost(model.differences) < 1)
    refuse("data_weight", p.data_weight, "more: with this data_truncation, all data costs round to 0");
}

}  // namespace

Model make_model(const SemiGlobalParameters& p) {
  auto model = data_cost::model_of<Model>(p, p.row_tolerance);
  model.integer = true;
  model.cost_scale = p.data_weight / data_cost::per_level;
  model.volume_scale = 1;
  model.volume_limit = static_cast<float>(highest_cost_that_fits(model));
  model.outside = static_cast<float>(p.outside_cost.value_or(0));
  for (int levels = 0; levels < static_cast<int>(data_cost::edge_table_size); ++levels) {
    const double weight = data_cost::edge_weight(levels, p.edge_contrast, p.edge_floor);
    model.large_jumps.push_back(
        std::max(p.small_jump + 1, static_cast<int>(std::floor(weight * p.large_jump + 0.5))));
  }
  check_fits(model);
  return model;
}

// Paths have no end, so tiles are approximate.
Margins margins(const SemiGlobalParameters& parameters, const ImageFormat& format, int padding) {
  return data_cost::margins(make_model(parameters), format.size, parameters.refine.left_right_check,
                            padding + parameters.window / 2);
}

double energy(const SemiGlobalParameters& parameters, const StereoPair& pair, View<const float> disparity) {
  const Model model = make_model(data_cost::validated(parameters));
  data_cost::check_without_rows(model);
  const auto discontinuity = [&](std::size_t edge, int label, int label2) {
    const int jump = std::abs(label - label2);
    return static_cast<float>(jump <= 1 ? jump * parameters.small_jump : model.large_jumps[edge]);
  };
  return data_cost::Scene(model, pair).energy(disparity, discontinuity);
}

}  // namespace semi_global
}  // namespace parallax
