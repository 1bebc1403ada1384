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

void add_model_options(CLI::App& app, Parameters& parameters) {
  const std::string group = "Tiled belief propagation";
  app.add_option("--tile", parameters.tile, "Side of a tile, in pixels; 0 = the whole image")->group(group);
  app.add_option("--outer", parameters.outer,
                 "Outer iterations: each visits all tiles in raster order, and in reverse")
      ->group(group);
  app.add_option("--inner", parameters.inner, "Inner iterations of a visit: four sweeps each")->group(group);
  add_choice(app, "--sweep-order", parameters.sweep_order, sweep_orders, "Order of the sweeps")->group(group);
  app.add_option("--discontinuity-cost", parameters.discontinuity_cost,
                 "Cost of one label between neighbours, in whole units")
      ->group(group);
  app.add_option("--discontinuity-truncation", parameters.discontinuity_truncation,
                 "Labels from which a jump costs no more")
      ->group(group);
  add_choice(app, "--message-width", parameters.message_width, message_widths, "Bits of a message's values")
      ->group(group);
  app.add_flag("--early-out,!--no-early-out", parameters.early_out,
               "A visit ends once an iteration changes no message")
      ->group(group);
}

}  // namespace

void add_options(CLI::App& app, Parameters& parameters) {
  add_model_options(app, parameters);
  const std::string group = "Data costs and beliefs";
  add_belief_options(app, parameters, data_cost_choices(), group);
  app.add_option("--frame", parameters.frame, "Pixels nearer to the border than this have no data costs")
      ->group(group);
  const std::string cuda = "Tiled belief propagation on cuda (never changes a result)";
  add_choice(app, "--scheduler", parameters.cuda.scheduler, schedulers, "How tiles wait for each other")
      ->group(cuda);
  add_choice(app, "--tile-messages", parameters.cuda.messages, tile_messages, "Where messages in a tile are")
      ->group(cuda);
  app.add_option("--threads-per-pixel", parameters.cuda.threads_per_pixel,
                 "Threads that share the labels of a pixel; 0 = what is fastest")
      ->group(cuda);
  add_refine_options(app, parameters.refine);
}

void settle_options(const CLI::App& app, Parameters&) {
  check_outside_cost(app);
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
