// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tools/parallax/belief_options.h"

namespace parallax::tool {
namespace {

using Parameters = TiledBeliefPropagationParameters;

const Choices<SweepOrder> sweep_orders = {{"right-left-down-up", SweepOrder::right_left_down_up},
                                          {"right-left-up-down", SweepOrder::right_left_up_down}};
const Choices<MessageWidth> message_widths = {
    {"automatic", MessageWidth::automatic}, {"8", MessageWidth::bits8}, {"16", MessageWidth::bits16}};
const Choices<TileScheduler> schedulers = {{"automatic", TileScheduler::automatic},
                                           {"launch-per-diagonal", TileScheduler::launch_per_diagonal},
                                           {"grid-barrier", TileScheduler::grid_barrier},
                                           {"tile-flags", TileScheduler::tile_flags}};
const Choices<TileMessages> tile_messages = {{"automatic", TileMessages::automatic},
                                             {"registers", TileMessages::registers},
                                             {"shared-memory", TileMessages::shared_memory},
                                             {"global-memory", TileMessages::global_memory}};

void add_model_options(Options& options, Parameters& parameters) {
  options.add("--tile N", parameters.tile, "Side of a tile in pixels; 0 = the whole image");
  options.add("--outer N", parameters.outer,
              "Outer iterations: each visits all tiles in raster order, then in reverse");
  options.add("--inner N", parameters.inner, "Inner iterations of a visit: four sweeps each");
  options.add_choice("--sweep-order", parameters.sweep_order, sweep_orders, "Order of the four sweeps")
      .expert();
  options.add("--discontinuity-cost N", parameters.discontinuity_cost,
              "Cost of a jump of one label between neighbours");
  options.add("--discontinuity-truncation N", parameters.discontinuity_truncation,
              "Labels beyond which a larger jump costs no more");
  options.add_choice("--message-width", parameters.message_width, message_widths, "Bits of a message value")
      .expert();
  options.add_switch("--early-out", parameters.early_out, "End a visit when an iteration changes no message")
      .expert();
}

}  // namespace

void add_options(Options& options, Parameters& parameters) {
  options.group(matching_group);
  add_model_options(options, parameters);
  add_belief_options(options, parameters, data_cost_choices());
  options.add("--frame N", parameters.frame, "Width of a border that has no data costs, in pixels").expert();
  options.group(kernels_group);
  options.add_choice("--scheduler", parameters.cuda.scheduler, schedulers, "How tiles wait for each other")
      .expert();
  options
      .add_choice("--tile-messages", parameters.cuda.messages, tile_messages,
                  "Where messages of a tile are kept")
      .expert();
  options
      .add("--threads-per-pixel N", parameters.cuda.threads_per_pixel,
           "Threads that share the labels of a pixel; 0 = fastest")
      .expert();
  add_refine_options(options, parameters.refine);
}

void settle_options(const Options& options, Parameters& parameters) {
  settle_outside_cost(options, parameters);
}

bool fixes_range(const Parameters& preset) {
  return preset.disparities != Parameters{}.disparities;
}

nlohmann::ordered_json to_json(const Parameters& p) {
  nlohmann::ordered_json json{{"min_disparity", p.min_disparity},
                              {"disparities", p.disparities},
                              {"tile", p.tile},
                              {"outer", p.outer},
                              {"inner", p.inner},
                              {"sweep_order", name_of(sweep_orders, p.sweep_order)},
                              {"discontinuity_cost", p.discontinuity_cost},
                              {"discontinuity_truncation", p.discontinuity_truncation},
                              {"message_width", name_of(message_widths, p.message_width)},
                              {"cost", name_of_cost(p.cost)},
                              {"data_weight", p.data_weight},
                              {"data_truncation", p.data_truncation},
                              {"outside_cost", nullptr},
                              {"smoothing", p.smoothing},
                              {"frame", p.frame},
                              {"sub_pixel", name_of(sub_pixel_choices(), p.sub_pixel)},
                              {"min_confidence", p.min_confidence},
                              {"early_out", p.early_out},
                              {"scheduler", name_of(schedulers, p.cuda.scheduler)},
                              {"tile_messages", name_of(tile_messages, p.cuda.messages)},
                              {"threads_per_pixel", p.cuda.threads_per_pixel}};
  if (p.outside_cost) json["outside_cost"] = *p.outside_cost;
  add_to_json(json, p.refine);
  return json;
}

}  // namespace parallax::tool
