// SPDX-License-Identifier: Apache-2.0
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/checks.h"
#include "core/floating_point.h"
#include "data_cost/scene.h"

namespace parallax {

std::vector<float> tiled_belief_propagation_costs(const TiledBeliefPropagationParameters& parameters,
                                                  const StereoPair& pair) {
  const DefaultFloatingPoint environment;
  return data_cost::Scene(tiled_belief_propagation::make_model(data_cost::validated(parameters)), pair)
      .volume();
}

namespace tiled_belief_propagation {
namespace {

constexpr int highest_byte = 255;

int message_bytes(const TiledBeliefPropagationParameters& p, int truncation) {
  if (truncation > highest_truncation)
    refuse("discontinuity_truncation", p.discontinuity_truncation,
           "at most " + std::to_string(highest_truncation / p.discontinuity_cost) +
               ", or a smaller discontinuity_cost: their product is at most " +
               std::to_string(highest_truncation));
  if (p.message_width != MessageWidth::bits8)
    return p.message_width == MessageWidth::automatic && truncation <= highest_byte ? 1 : 2;
  if (truncation > highest_byte)
    throw Error(ErrorCategory::argument,
                "message_width is 8 bits, and messages reach discontinuity_cost times "
                "discontinuity_truncation = " +
                    std::to_string(truncation) + ": choose 16 bits, or a product of at most " +
                    std::to_string(highest_byte));
  return 1;
}

}  // namespace

void check_tile_count(int columns, int rows) {
  constexpr std::int64_t most = 1 << 24;
  const std::int64_t count = std::int64_t{columns} * rows;
  if (count > most)
    throw Error(ErrorCategory::argument, "the image has " + std::to_string(count) +
                                             " tiles: choose a larger tile, for at most " +
                                             std::to_string(most));
}

// Parts begin at tile borders, so their tiles are the image's.
Margins margins(const TiledBeliefPropagationParameters& parameters, const ImageFormat& format, int padding) {
  Margins margins =
      data_cost::margins(make_model(parameters), format.size, parameters.refine.left_right_check, padding);
  margins.alignment = std::max(1, parameters.tile);
  return margins;
}

Model make_model(const TiledBeliefPropagationParameters& p) {
  auto model = data_cost::model_of<Model>(p);
  model.integer = true;
  model.cost_scale = p.data_weight / data_cost::per_level;
  model.volume_scale = 1;
  model.volume_limit = data_cost::highest_volume_cost;
  model.outside = static_cast<float>(p.outside_cost.value_or(0));
  model.frame = p.frame;
  model.slope = p.discontinuity_cost;
  model.truncation = p.discontinuity_cost * p.discontinuity_truncation;
  model.message_bytes = message_bytes(p, model.truncation);
  if (p.cost != DataCost::volume && model.data_cost(model.differences) < 1)
    refuse("data_weight", p.data_weight, "more: with this data_truncation, all data costs round to 0");
  return model;
}

bool fits_bytes(const Model& model) {
  return model.message_bytes == 1 && 6 * model.truncation + 1 <= highest_byte;
}

std::string variant(const Model& model) {
  const auto count = [](int number) { return std::to_string(number); };
  const TiledBeliefPropagationParameters& parameters = model.parameters;
  return "tile " + count(parameters.tile) + ", outer " + count(parameters.outer) + ", inner " +
         count(parameters.inner) + (fits_bytes(model) ? ", 8 bits" : ", 16 bits");
}

double energy(const TiledBeliefPropagationParameters& parameters, const StereoPair& pair,
              View<const float> disparity) {
  const Model model = make_model(data_cost::validated(parameters));
  const auto discontinuity = [&](std::size_t, int label, int label2) {
    return static_cast<float>(std::min(std::abs(label - label2) * model.slope, model.truncation));
  };
  return data_cost::Scene(model, pair).energy(disparity, discontinuity);
}

}  // namespace tiled_belief_propagation
}  // namespace parallax
