// SPDX-License-Identifier: Apache-2.0
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/checks.h"
#include "core/floating_point.h"
#include "data_cost/scene.h"

namespace parallax {
namespace {

using tiled_belief_propagation::make_model;
using tiled_belief_propagation::Model;

// With which a belief, 8·T + 1, fits in 16 bits.
constexpr int highest_truncation = 8191;

// Without tiles and iterations.
TiledBeliefPropagationParameters contest() {
  TiledBeliefPropagationParameters parameters;
  parameters.disparities = 16;
  parameters.sweep_order = SweepOrder::right_left_up_down;
  parameters.discontinuity_cost = 16;
  parameters.discontinuity_truncation = 2;
  parameters.cost = DataCost::mean_absolute_difference;
  parameters.data_weight = 1;
  parameters.outside_cost.reset();
  parameters.frame = 18;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

// Of checked parameters.
Model checked_model(const TiledBeliefPropagationParameters& parameters) {
  parameters.validate();
  return make_model(parameters);
}

}  // namespace

void TiledBeliefPropagationParameters::validate() const {
  check_range("min_disparity", min_disparity, -1'000'000, 1'000'000);
  check_range("disparities", disparities, 2, 1024);
  check_range("tile", tile, 0, 4096);
  check_range("outer", outer, 1, 1000);
  check_range("inner", inner, 1, 1000);
  check_choice("sweep_order", sweep_order, SweepOrder::right_left_up_down);
  check_range("discontinuity_cost", discontinuity_cost, 1, highest_truncation);
  check_range("discontinuity_truncation", discontinuity_truncation, 1, 1024);
  check_choice("message_width", message_width, MessageWidth::bits16);
  check_choice("cost", cost, DataCost::mean_absolute_difference);
  check_range("data_weight", data_weight, 1e-6f, 1000.0f);
  check_range("data_truncation", data_truncation, 0.0f, 256.0f);
  if (outside_cost) check_range("outside_cost", *outside_cost, 0, highest_truncation);
  check_range("smoothing", smoothing, 0.0f, 30.0f);
  check_range("frame", frame, 0, 1'000'000);
  check_choice("sub_pixel", sub_pixel, SubPixel::v_shape);
  check_range("min_confidence", min_confidence, 0.0f, 1.0f);
  check_choice("scheduler", cuda.scheduler, TileScheduler::tile_flags);
  check_choice("messages", cuda.messages, TileMessages::global_memory);
  const int threads = cuda.threads_per_pixel;
  if (threads < 0 || threads > 32 || (threads & (threads - 1)) != 0)
    refuse("threads_per_pixel", threads, "0, 1, 2, 4, 8, 16 or 32");
  refine.validate();
  make_model(*this);
}

std::vector<std::string_view> tiled_belief_propagation_presets() {
  return {"default", "memocode-2013", "memocode-2013-tuned"};
}

TiledBeliefPropagationParameters tiled_belief_propagation_preset(std::string_view name) {
  if (name == "default") return {};
  TiledBeliefPropagationParameters parameters = contest();
  if (name == "memocode-2013") {
    parameters.tile = 13;
    parameters.inner = 1;
    return parameters;
  }
  if (name == "memocode-2013-tuned") {
    parameters.smoothing = 0.7f;
    parameters.tile = 32;
    parameters.inner = 1;
    return parameters;
  }
  refuse("preset", name, "default, memocode-2013 or memocode-2013-tuned");
}

std::vector<float> tiled_belief_propagation_costs(const TiledBeliefPropagationParameters& parameters,
                                                  const StereoPair& pair) {
  const DefaultFloatingPoint environment;
  return data_cost::Scene(checked_model(parameters), pair).volume();
}

double tiled_belief_propagation_energy(const TiledBeliefPropagationParameters& parameters,
                                       const StereoPair& pair, View<const float> disparity) {
  const DefaultFloatingPoint environment;
  const Model model = checked_model(parameters);
  const auto discontinuity = [&](int, int, int, int, int label, int label2) {
    return static_cast<float>(std::min(std::abs(label - label2) * model.slope, model.truncation));
  };
  return data_cost::Scene(model, pair).energy(disparity, discontinuity);
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

// Parts begin where tiles do: so their tiles are the image's.
Margins margins(const TiledBeliefPropagationParameters& parameters, Size size, int padding) {
  Margins margins =
      data_cost::margins(make_model(parameters), size, parameters.refine.left_right_check, padding);
  margins.alignment = std::max(1, parameters.tile);
  return margins;
}

Model make_model(const TiledBeliefPropagationParameters& p) {
  Model model = {};
  model.parameters = p;
  model.cost = p.cost;
  model.min_disparity = p.min_disparity;
  model.labels = p.disparities;
  model.smoothing = p.smoothing;
  model.whole = true;
  model.cost_scale = p.data_weight / data_cost::per_level;
  model.volume_scale = 1;
  model.volume_limit = data_cost::highest_volume_cost;
  model.differences = data_cost::highest_counted(p.cost, p.data_truncation);
  model.has_outside = p.outside_cost.has_value();
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

}  // namespace tiled_belief_propagation
}  // namespace parallax
