#include "tools/parallax/command_line.h"
#include "tools/parallax/method_options.h"

namespace parallax::tool {
namespace {

const Choices<CensusTransform> transforms = {{"census-5x5", CensusTransform::census_5x5},
                                             {"census-7x7", CensusTransform::census_7x7},
                                             {"census-9x7", CensusTransform::census_9x7},
                                             {"census-9x9", CensusTransform::census_9x9},
                                             {"modified-5x5", CensusTransform::modified_5x5},
                                             {"modified-7x7", CensusTransform::modified_7x7},
                                             {"modified-9x7", CensusTransform::modified_9x7},
                                             {"modified-9x9", CensusTransform::modified_9x9},
                                             {"sparse-modified-7x7", CensusTransform::sparse_modified_7x7}};
const Choices<CensusCost> census_costs = {{"hamming", CensusCost::hamming},
                                          {"ad-census", CensusCost::ad_census}};

}  // namespace

void add_options(CLI::App& app, CensusParameters& parameters) {
  const std::string group = "Census matching";
  add_choice(app, "--transform", parameters.transform, transforms, "What describes a pixel")->group(group);
  add_choice(app, "--cost", parameters.cost, census_costs, "Cost of a pixel")->group(group);
  app.add_option("--ad-truncation", parameters.ad_truncation,
                 "Gray levels up to which differences count in ad-census")
      ->group(group);
  app.add_option("--window", parameters.window, "Side of the window: odd, 1 to 15")->group(group);
  app.add_option("--pyramid-levels", parameters.pyramid_levels,
                 "Levels of the pyramid, the image included; 1 = search it all at full resolution")
      ->group(group);
  app.add_option("--search-radius", parameters.search_radius,
                 "Disparities searched beyond the estimates of the level above")
      ->group(group);
  app.add_option("--uniqueness", parameters.uniqueness,
                 "Reject pixels with a rival within this many per cent; 0 = none")
      ->group(group);
  add_choice(app, "--sub-pixel", parameters.sub_pixel, sub_pixel_choices(), "Fraction of a pixel")
      ->group(group);
  add_refine_options(app, parameters.refine);
}

void settle_options(const CLI::App&, CensusParameters&) {}

bool fixes_range(const CensusParameters& preset) {
  return preset.disparities != CensusParameters{}.disparities;
}

nlohmann::ordered_json to_json(const CensusParameters& p) {
  nlohmann::ordered_json json{{"min_disparity", p.min_disparity},
                              {"disparities", p.disparities},
                              {"transform", name_of(transforms, p.transform)},
                              {"cost", name_of(census_costs, p.cost)},
                              {"ad_truncation", p.ad_truncation},
                              {"window", p.window},
                              {"pyramid_levels", p.pyramid_levels},
                              {"search_radius", p.search_radius},
                              {"uniqueness", p.uniqueness},
                              {"sub_pixel", name_of(sub_pixel_choices(), p.sub_pixel)}};
  add_to_json(json, p.refine);
  return json;
}

}  // namespace parallax::tool
