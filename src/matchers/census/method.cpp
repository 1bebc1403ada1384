// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cost_fields.h"
#include "matchers/census/census.h"
#include "refine/refine.h"

namespace parallax {
namespace census {
namespace {

using detail::Audience, detail::Fields;

Fields fields(CensusParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 1, 1'000'000);
  fields.group(detail::matching_group)
      .add("transform", p.transform,
           {{"census-5x5", CensusTransform::census_5x5},
            {"census-7x7", CensusTransform::census_7x7},
            {"census-9x7", CensusTransform::census_9x7},
            {"census-9x9", CensusTransform::census_9x9},
            {"modified-5x5", CensusTransform::modified_5x5},
            {"modified-7x7", CensusTransform::modified_7x7},
            {"modified-9x7", CensusTransform::modified_9x7},
            {"modified-9x9", CensusTransform::modified_9x9},
            {"sparse-modified-7x7", CensusTransform::sparse_modified_7x7}},
           {"Descriptor of a pixel"})
      .add("cost", p.cost, {{"hamming", CensusCost::hamming}, {"ad-census", CensusCost::ad_census}},
           {"Cost of a pixel"})
      .add("ad_truncation", p.ad_truncation, detail::range(1, 127),
           {"Limit to which the differences of ad-census are truncated, in gray levels", "gray levels",
            Audience::experts})
      .add("window", p.window, detail::odd(1, 15),
           {"Side of the window in pixels, odd, from 1 to 15", "pixels"})
      .add("pyramid_levels", p.pyramid_levels, detail::range(1, 30),
           {"Levels of the image pyramid; 1 = search all disparities at full resolution"})
      .add("search_radius", p.search_radius, detail::range(1, 1000),
           {"Radius of the search around the estimate of the coarser level", "pixels"})
      .add("uniqueness", p.uniqueness, detail::range(0, 100),
           {"Reject pixels whose second-best cost is within this percentage of the best; 0 = none",
            "per cent"});
  data_cost::add_rows_field(fields, p.rows);
  data_cost::add_row_tolerance_field(fields, p.row_tolerance);
  data_cost::add_row_prior_field(fields, p.row_prior);
  refine::add_sub_pixel_field(fields, p.sub_pixel);
  refine::add_fields(fields, p.refine);
  return fields;
}

CensusParameters balanced() {
  return {};
}

CensusParameters fast() {
  CensusParameters parameters;
  parameters.transform = CensusTransform::census_5x5;
  parameters.window = 7;
  parameters.search_radius = 2;
  parameters.refine.median = 3;
  return parameters;
}

CensusParameters accurate() {
  CensusParameters parameters;
  parameters.window = 7;
  parameters.refine.median = 0;
  parameters.refine.weighted_median = 11;
  parameters.refine.bilateral = 7;
  return parameters;
}

CensusParameters mobile_gpu_2015() {
  CensusParameters parameters;
  parameters.disparities = 60;
  parameters.transform = CensusTransform::modified_9x9;
  parameters.window = 5;
  parameters.search_radius = 2;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine.speckle_size = 0;
  parameters.refine.fill = Fill::row;
  parameters.refine.median = 3;
  return parameters;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<CensusParameters>(
      {.name = "census",
       .presets = {{"default", balanced},
                   {"mobile-gpu-2015", mobile_gpu_2015},
                   {"fast", fast},
                   {"balanced", balanced},
                   {"accurate", accurate}},
       .fields = fields,
       .margins = margins,
       .row_tolerance = &CensusParameters::row_tolerance,
       .rows = &CensusParameters::rows,
       .backends = {
           On::backend<reference, make_reference>(), On::tuned<cpu, make_cpu, cpu_tuning_space>(),
           On::tuned<cuda, make_cuda, cuda_tuning_space>().without("row_tolerance").without("reject_unseen"),
           On::tuned<opencl, make_opencl, opencl_tuning_space>()
               .without("row_tolerance")
               .without("reject_unseen")}});
}

}  // namespace census

void CensusParameters::validate() const {
  CensusParameters copy = *this;
  census::fields(copy).check();
  data_cost::check_row_tolerance(*this);
}

}  // namespace parallax
