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

void add_options(CLI::App& app, BeliefPropagationParameters& parameters) {
  const std::string group = "Belief propagation";
  app.add_option("--levels", parameters.levels, "Levels of the pyramid")->group(group);
  app.add_option("--iterations", parameters.iterations, "Iterations on each level")->group(group);
  add_choice(app, "--arithmetic", parameters.arithmetic, arithmetics, "What messages are kept in")
      ->group(group);
  add_belief_options(app, parameters, pyramid_costs(), group);
  app.add_option("--discontinuity-truncation", parameters.discontinuity_truncation,
                 "Labels from which a jump costs no more; 0 = disparities / 7.5")
      ->group(group);
  app.add_option("--edge-contrast", parameters.edge_contrast,
                 "Gray levels at which an edge weakens smoothness to 1/e; 0 = none does")
      ->group(group);
  app.add_option("--edge-floor", parameters.edge_floor, "Part of smoothness that no edge takes away")
      ->group(group);
  app.add_flag("--aligned,!--no-aligned", parameters.aligned,
               "Messages on 64-byte boundaries; to measure what that is worth")
      ->group(group);
  const std::string cuda = "Belief propagation on cuda (never changes a result)";
  app.add_option("--labels-per-thread", parameters.cuda.labels_per_thread,
                 "Labels that a thread computes, in fixed8 and fixed16; 0 = what is fastest")
      ->group(cuda);
  add_choice(app, "--index-order", parameters.cuda.index_order, index_orders, "Order of values, in floats")
      ->group(cuda);
  add_choice(app, "--message-values", parameters.cuda.message_values, message_values,
             "Where a thread keeps the message it is making, in floats")
      ->group(cuda);
  add_refine_options(app, parameters.refine);
}

void settle_options(const CLI::App& app, BeliefPropagationParameters&) {
  check_outside_cost(app);
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
