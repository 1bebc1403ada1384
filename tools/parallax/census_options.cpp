// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

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

void add_options(Options& options, CensusParameters& parameters) {
  options.group(matching_group);
  options.add_choice("--transform", parameters.transform, transforms, "Descriptor of a pixel");
  options.add_choice("--cost", parameters.cost, census_costs, "Cost of a pixel");
  options
      .add("--ad-truncation N", parameters.ad_truncation,
           "Largest difference that counts in ad-census, in gray levels")
      .expert();
  options.add("--window N", parameters.window, "Side of the window in pixels, odd, 1 to 15");
  options.add("--pyramid-levels N", parameters.pyramid_levels,
              "Levels of the image pyramid; 1 = search everything at full resolution");
  options.add("--search-radius N", parameters.search_radius,
              "Disparities searched around the estimates of the level above");
  options.add("--uniqueness P", parameters.uniqueness,
              "Reject pixels whose second best cost is within P per cent of the best; 0 = none");
  options.add_choice("--sub-pixel", parameters.sub_pixel, sub_pixel_choices(),
                     "Interpolation between labels");
  add_refine_options(options, parameters.refine);
}

void settle_options(const Options&, CensusParameters&) {}

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
