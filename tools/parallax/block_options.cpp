#include "tools/parallax/block_options.h"

#include "tools/parallax/command.h"

namespace parallax::tool {
namespace {

const std::vector<std::pair<std::string, BlockCost>> costs = {
    {"sad", BlockCost::sad}, {"ssd", BlockCost::ssd}, {"zncc", BlockCost::zncc}};
const std::vector<std::pair<std::string, Prefilter>> prefilters = {{"none", Prefilter::none},
                                                                   {"x-sobel", Prefilter::x_sobel}};
const std::vector<std::pair<std::string, SubPixel>> sub_pixels = {{"none", SubPixel::none},
                                                                  {"parabola", SubPixel::parabola}};
const std::vector<std::pair<std::string, Fill>> fills = {{"none", Fill::none}, {"row", Fill::row}};

template <class Value>
std::string name_of(const std::vector<std::pair<std::string, Value>>& choices, Value value) {
  for (const auto& [name, choice] : choices)
    if (choice == value) return name;
  return "";
}

void add_refine_options(CLI::App& app, RefineParameters& refine) {
  const std::string group = "Refinement";
  app.add_flag("--left-right-check,!--no-left-right-check", refine.left_right_check,
               "Reject pixels on which the left and the right map disagree")
      ->group(group);
  app.add_option("--left-right-tolerance", refine.left_right_tolerance, "Pixels by which they may differ")
      ->group(group);
  app.add_option("--speckle-size", refine.speckle_size, "Reject regions of fewer pixels; 0 = none")
      ->group(group);
  app.add_option("--speckle-range", refine.speckle_range, "Pixels by which neighbours of a region may differ")
      ->group(group);
  add_choice(app, "--fill", refine.fill, fills,
             "What pixels without a value get: row = the lower neighbour on the row")
      ->group(group);
  app.add_option("--median", refine.median, "Window of the median filter: 0 (none), 3 or 5")->group(group);
}

}  // namespace

void add_block_options(CLI::App& app, BlockParameters& parameters) {
  const std::string group = "Block matching";
  app.add_flag("--full-row", parameters.full_row, "Search every column of the row")->group(group);
  app.add_option("--window", parameters.window, "Side of the window: odd, 1 to 31")->group(group);
  add_choice(app, "--cost", parameters.cost, costs, "Window cost")->group(group);
  add_choice(app, "--prefilter", parameters.prefilter, prefilters, "Filter of both images")->group(group);
  app.add_option("--prefilter-cap", parameters.prefilter_cap, "Bound of the Sobel response")->group(group);
  app.add_option("--uniqueness", parameters.uniqueness,
                 "Reject pixels with a rival within this many per cent; 0 = none")
      ->group(group);
  app.add_option("--texture-threshold", parameters.texture_threshold,
                 "Reject windows with less texture; 0 = none")
      ->group(group);
  add_choice(app, "--sub-pixel", parameters.sub_pixel, sub_pixels, "Fraction of a pixel")->group(group);
  add_refine_options(app, parameters.refine);
}

void settle_block_options(const CLI::App& app, BlockParameters& parameters) {
  const bool range = app.count("--disparities") > 0 || app.count("--min-disparity") > 0;
  if (range && app.count("--full-row") > 0)
    throw UsageError("--full-row searches every column: leave out --disparities and --min-disparity");
  // A range given after a preset that searches the full row.
  if (range) parameters.full_row = false;
}

nlohmann::ordered_json to_json(const BlockParameters& p) {
  return {{"min_disparity", p.min_disparity},
          {"disparities", p.disparities},
          {"full_row", p.full_row},
          {"window", p.window},
          {"cost", name_of(costs, p.cost)},
          {"prefilter", name_of(prefilters, p.prefilter)},
          {"prefilter_cap", p.prefilter_cap},
          {"uniqueness", p.uniqueness},
          {"texture_threshold", p.texture_threshold},
          {"sub_pixel", name_of(sub_pixels, p.sub_pixel)},
          {"left_right_check", p.refine.left_right_check},
          {"left_right_tolerance", p.refine.left_right_tolerance},
          {"speckle_size", p.refine.speckle_size},
          {"speckle_range", p.refine.speckle_range},
          {"fill", name_of(fills, p.refine.fill)},
          {"median", p.refine.median}};
}

}  // namespace parallax::tool
