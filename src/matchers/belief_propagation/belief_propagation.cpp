// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/belief_propagation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/arithmetic.h"
#include "core/checks.h"
#include "core/floating_point.h"
#include "data_cost/scene.h"
#include "matchers/belief_propagation/candidates.h"

namespace parallax {

std::vector<float> belief_propagation_costs(const BeliefPropagationParameters& parameters,
                                            const StereoPair& pair) {
  const DefaultFloatingPoint environment;
  const auto model = belief_propagation::make_model(data_cost::validated(parameters));
  std::vector<float> volume = data_cost::Scene(model, pair).volume();
  for (float& cost : volume) cost /= model.scale;
  return volume;
}

namespace belief_propagation {
namespace {

// Sums over the children of the coarsest level, and messages, must be finite. Costs of a volume are unknown
// before a run: they are clamped to the highest half.
void check_half(const Model& model) {
  const BeliefPropagationParameters& p = model.parameters;
  const double children = std::pow(4.0, p.levels - 1);
  if (p.cost == DataCost::volume ||
      (model.highest_data_cost() + model.row_prior * static_cast<float>(model.row_offsets - 1)) * children +
              4 * model.truncation <
          highest_half)
    return;
  throw Error(ErrorCategory::argument, "levels is " + std::to_string(p.levels) +
                                           ": data costs add up to more than float16 can hold; choose "
                                           "fewer, or arithmetic bfloat16 or float32");
}

}  // namespace

Model make_model(const BeliefPropagationParameters& p) {
  auto model = data_cost::model_of<Model>(p, p.row_tolerance);
  model.truncation =
      p.discontinuity_truncation > 0 ? p.discontinuity_truncation : static_cast<float>(p.disparities) / 7.5f;
  model.integer = is_integer(p.arithmetic);
  model.bound = p.arithmetic == Arithmetic::fixed8 ? 31 : 4095;
  model.scale = model.integer ? static_cast<float>(model.bound) / model.truncation : 1.0f;
  model.cost_scale = p.data_weight * model.scale / per_level;
  model.volume_scale = model.scale;
  model.volume_limit = p.arithmetic == Arithmetic::float16
                           ? highest_half
                           : std::min(data_cost::highest_volume_cost * model.scale, 1e38f);
  model.outside = model.rounded(p.outside_cost.value_or(0) * model.scale);
  const auto bounded = [&](float slope) {
    return model.integer ? std::clamp(slope, 1.0f, static_cast<float>(model.bound)) : slope;
  };
  model.row_slope = bounded(model.rounded(p.row_weight * model.scale));
  model.row_bound = model.rounded(model.truncation * model.scale);
  model.row_prior = p.row_prior * 0.1f * model.scale;
  for (int difference = 0; difference < static_cast<int>(edge_table_size); ++difference) {
    const double weight = data_cost::edge_weight(difference, p.edge_contrast, p.edge_floor);
    // The slope is at least one unit, because with 0 a message would say nothing; above the bound, a higher
    // slope has no further effect.
    const float truncation = model.rounded(static_cast<float>(weight) * model.truncation * model.scale);
    const float slope = model.rounded(static_cast<float>(weight) * model.scale);
    model.truncations.push_back(truncation);
    model.slopes.push_back(bounded(slope));
  }
  if (model.integer) data_cost::check_integers(model, model.truncation);
  if (p.arithmetic == Arithmetic::float16) check_half(model);
  return model;
}

std::string variant(const BeliefPropagationParameters& parameters) {
  return detail::name_of(parameters.arithmetic) + (parameters.edge_contrast > 0 ? ", edges" : "");
}

// Tiles begin at multiples of two pixels of the coarsest level, so their levels are parts of the image's
// levels, with the same checkerboard colours; and at multiples of the tiles that have candidates. In floats,
// the outermost pixels of a tile get no disparity.
Margins margins(const BeliefPropagationParameters& parameters, const ImageFormat& format, int padding) {
  const Size size = format.size;
  const Model model = make_model(parameters);
  Margins margins =
      data_cost::margins(model, size, parameters.refine.left_right_check, padding + (model.integer ? 0 : 1));
  const std::size_t levels = level_sizes(size, parameters.levels).size();
  margins.alignment = 1 << levels;
  for (std::size_t level = 0; model.has_candidates(level, levels); ++level)
    margins.alignment = std::max(margins.alignment, tile_side << level);
  return margins;
}

double energy(const BeliefPropagationParameters& parameters, const StereoPair& pair,
              View<const float> disparity) {
  const Model model = make_model(data_cost::validated(parameters));
  data_cost::check_without_rows(model);
  const auto discontinuity = [&](std::size_t edge, int label, int label2) {
    return std::min(static_cast<float>(std::abs(label - label2)) * model.slopes[edge],
                    model.truncations[edge]);
  };
  return data_cost::Scene(model, pair).energy(disparity, discontinuity) / model.scale;
}

}  // namespace belief_propagation
}  // namespace parallax
