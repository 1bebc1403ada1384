// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tools/parallax/belief_options.h"

namespace parallax::tool {
namespace {

const Choices<Arithmetic> arithmetics = {{"fixed8", Arithmetic::fixed8},
                                         {"fixed16", Arithmetic::fixed16},
                                         {"float32", Arithmetic::float32},
                                         {"float16", Arithmetic::float16},
                                         {"bfloat16", Arithmetic::bfloat16}};

const Choices<IndexOrder> index_orders = {{"coalesced", IndexOrder::coalesced}, {"naive", IndexOrder::naive}};
const Choices<MessageValues> message_values = {{"automatic", MessageValues::automatic},
                                               {"registers", MessageValues::registers},
                                               {"shared-memory", MessageValues::shared_memory},
                                               {"local-memory", MessageValues::local_memory},
                                               {"hybrid", MessageValues::hybrid}};

// All but the mean over a window.
Choices<DataCost> pyramid_costs() {
  Choices<DataCost> costs = data_cost_choices();
  std::erase_if(costs,
                [](const auto& choice) { return choice.second == DataCost::mean_absolute_difference; });
  return costs;
}

}  // namespace

void add_options(Options& options, BeliefPropagationParameters& parameters) {
  options.group(matching_group);
  options.add("--levels N", parameters.levels, "Levels of the image pyramid");
  options.add("--iterations N", parameters.iterations, "Iterations on each level");
  options.add_choice("--arithmetic", parameters.arithmetic, arithmetics, "Number format of messages");
  add_belief_options(options, parameters, pyramid_costs());
  options.add("--discontinuity-truncation X", parameters.discontinuity_truncation,
              "Labels beyond which a larger jump costs no more; 0 = disparities / 7.5");
  options
      .add("--edge-contrast X", parameters.edge_contrast,
           "Gray levels at which an edge lowers the cost of a jump to 1/e; 0 = edges are ignored")
      .expert();
  options.add("--edge-floor X", parameters.edge_floor, "Part of the cost of a jump that remains at any edge")
      .expert();
  options
      .add_switch("--aligned", parameters.aligned, "Align messages to 64 bytes; off measures what that gains")
      .expert();
  options.group(kernels_group);
  options
      .add("--labels-per-thread N", parameters.cuda.labels_per_thread,
           "Labels a thread computes, in fixed8 and fixed16; 0 = fastest")
      .expert();
  options
      .add_choice("--index-order", parameters.cuda.index_order, index_orders,
                  "Order of messages in memory, in floats")
      .expert();
  options
      .add_choice("--message-values", parameters.cuda.message_values, message_values,
                  "Where a thread keeps the message it computes, in floats")
      .expert();
  add_refine_options(options, parameters.refine);
}

void settle_options(const Options& options, BeliefPropagationParameters& parameters) {
  settle_outside_cost(options, parameters);
}

bool fixes_range(const BeliefPropagationParameters& preset) {
  return preset.disparities != BeliefPropagationParameters{}.disparities;
}

nlohmann::ordered_json to_json(const BeliefPropagationParameters& p) {
  nlohmann::ordered_json json{{"min_disparity", p.min_disparity},
                              {"disparities", p.disparities},
                              {"levels", p.levels},
                              {"iterations", p.iterations},
                              {"arithmetic", name_of(arithmetics, p.arithmetic)},
                              {"cost", name_of_cost(p.cost)},
                              {"data_weight", p.data_weight},
                              {"data_truncation", p.data_truncation},
                              {"outside_cost", nullptr},
                              {"smoothing", p.smoothing},
                              {"discontinuity_truncation", p.discontinuity_truncation},
                              {"edge_contrast", p.edge_contrast},
                              {"edge_floor", p.edge_floor},
                              {"sub_pixel", name_of(sub_pixel_choices(), p.sub_pixel)},
                              {"min_confidence", p.min_confidence},
                              {"aligned", p.aligned},
                              {"labels_per_thread", p.cuda.labels_per_thread},
                              {"index_order", name_of(index_orders, p.cuda.index_order)},
                              {"message_values", name_of(message_values, p.cuda.message_values)}};
  if (p.outside_cost) json["outside_cost"] = *p.outside_cost;
  add_to_json(json, p.refine);
  return json;
}

}  // namespace parallax::tool
