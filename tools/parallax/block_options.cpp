// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tools/parallax/method_options.h"

namespace parallax::tool {
namespace {

const Choices<BlockCost> block_costs = {
    {"sad", BlockCost::sad}, {"ssd", BlockCost::ssd}, {"zncc", BlockCost::zncc}};
const Choices<Prefilter> prefilters = {{"none", Prefilter::none}, {"x-sobel", Prefilter::x_sobel}};

const Choices<CudaStrategy> strategies = {
    {"automatic", CudaStrategy::automatic},
    {"global-memory", CudaStrategy::global_memory},
    {"shared-memory", CudaStrategy::shared_memory},
    {"constant-and-shared-memory", CudaStrategy::constant_and_shared_memory},
    {"streams", CudaStrategy::streams},
    {"device-launch", CudaStrategy::device_launch}};

}  // namespace

void add_options(Options& options, BlockParameters& parameters) {
  options.group(matching_group);
  options.add_flag("--full-row", parameters.full_row, "Search the whole row, without a range");
  options.add("--window N", parameters.window, "Side of the window in pixels, odd, 1 to 31");
  options.add_choice("--cost", parameters.cost, block_costs, "Cost of a window");
  options.add_choice("--prefilter", parameters.prefilter, prefilters, "Filter applied to both images first");
  options.add("--prefilter-cap N", parameters.prefilter_cap, "Limit of the Sobel response").expert();
  options.add("--uniqueness P", parameters.uniqueness,
              "Reject pixels whose second best cost is within P per cent of the best; 0 = none");
  options.add("--texture-threshold N", parameters.texture_threshold,
              "Reject windows with less texture; 0 = none");
  options.add_choice("--sub-pixel", parameters.sub_pixel, sub_pixel_choices(),
                     "Interpolation between labels");
  options.group(kernels_group);
  options.add_choice("--strategy", parameters.cuda.strategy, strategies, "Which search kernel runs").expert();
  options.add("--rows-per-thread N", parameters.cuda.rows_per_thread, "Rows a thread searches; 0 = fastest")
      .expert();
  options.add("--streams N", parameters.cuda.streams, "Number of streams of --strategy streams").expert();
  add_refine_options(options, parameters.refine);
}

void settle_options(const Options& options, BlockParameters& parameters) {
  const bool range = options.given("--disparities") || options.given("--min-disparity");
  if (range && options.given("--full-row"))
    throw UsageError("--full-row searches every column: leave out --disparities and --min-disparity");
  // A range given after a preset that searches the full row.
  if (range) parameters.full_row = false;
}

bool fixes_range(const BlockParameters& preset) {
  return preset.full_row;
}

nlohmann::ordered_json to_json(const BlockParameters& p) {
  nlohmann::ordered_json json{{"min_disparity", p.min_disparity},
                              {"disparities", p.disparities},
                              {"full_row", p.full_row},
                              {"window", p.window},
                              {"cost", name_of(block_costs, p.cost)},
                              {"prefilter", name_of(prefilters, p.prefilter)},
                              {"prefilter_cap", p.prefilter_cap},
                              {"uniqueness", p.uniqueness},
                              {"texture_threshold", p.texture_threshold},
                              {"sub_pixel", name_of(sub_pixel_choices(), p.sub_pixel)},
                              {"strategy", name_of(strategies, p.cuda.strategy)},
                              {"rows_per_thread", p.cuda.rows_per_thread},
                              {"streams", p.cuda.streams}};
  add_to_json(json, p.refine);
  return json;
}

}  // namespace parallax::tool
