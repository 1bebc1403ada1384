#include "tools/parallax/command_line.h"
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

void add_options(CLI::App& app, BlockParameters& parameters) {
  const std::string group = "Block matching";
  app.add_flag("--full-row", parameters.full_row, "Search every column of the row")->group(group);
  app.add_option("--window", parameters.window, "Side of the window: odd, 1 to 31")->group(group);
  add_choice(app, "--cost", parameters.cost, block_costs, "Window cost")->group(group);
  add_choice(app, "--prefilter", parameters.prefilter, prefilters, "Filter of both images")->group(group);
  app.add_option("--prefilter-cap", parameters.prefilter_cap, "Bound of the Sobel response")->group(group);
  app.add_option("--uniqueness", parameters.uniqueness,
                 "Reject pixels with a rival within this many per cent; 0 = none")
      ->group(group);
  app.add_option("--texture-threshold", parameters.texture_threshold,
                 "Reject windows with less texture; 0 = none")
      ->group(group);
  add_choice(app, "--sub-pixel", parameters.sub_pixel, sub_pixel_choices(), "Fraction of a pixel")
      ->group(group);
  const std::string cuda = "Block matching on cuda (never changes a result)";
  add_choice(app, "--strategy", parameters.cuda.strategy, strategies, "How to search")->group(cuda);
  app.add_option("--rows-per-thread", parameters.cuda.rows_per_thread,
                 "Rows of a thread, about; 0 = what is fastest")
      ->group(cuda);
  app.add_option("--streams", parameters.cuda.streams, "Streams of --strategy streams")->group(cuda);
  add_refine_options(app, parameters.refine);
}

void settle_options(const CLI::App& app, BlockParameters& parameters) {
  const bool range = app.count("--disparities") > 0 || app.count("--min-disparity") > 0;
  if (range && app.count("--full-row") > 0)
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
