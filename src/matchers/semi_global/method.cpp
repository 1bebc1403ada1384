// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cost_fields.h"
#include "matchers/semi_global/semi_global.h"
#include "refine/refine.h"

namespace parallax {
namespace semi_global {
namespace {

using detail::Audience, detail::Fields;

Fields fields(SemiGlobalParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 2, 1024);
  fields.group(detail::matching_group)
      .add("paths", p.paths, detail::one_of({4, 5, 8}), {"Paths through each pixel"})
      .add("aggregation", p.aggregation, {{"sgm", Aggregation::sgm}, {"mgm", Aggregation::mgm}},
           {"What a path brings to a pixel: the costs before it (sgm), or the mean of those and the costs "
            "beside it (mgm)"});
  data_cost::add_cost_fields(fields, p,
                             {{"absolute-difference", DataCost::absolute_difference},
                              {"absolute-difference-colour", DataCost::absolute_difference_colour},
                              {"census", DataCost::census},
                              {"birchfield-tomasi", DataCost::birchfield_tomasi},
                              {"census-centre-symmetric", DataCost::census_centre_symmetric},
                              {"gradient-birchfield-tomasi", DataCost::gradient_birchfield_tomasi},
                              {"volume", DataCost::volume}},
                             "units", highest_jump);
  fields
      .add("window", p.window, detail::odd(1, 15),
           {"Side of the square window over which data costs are added up", "pixels"})
      .add("small_jump", p.small_jump, detail::range(1, highest_jump),
           {"P1: cost of a change by one label along a path", "units"})
      .add("large_jump", p.large_jump, detail::range(2, highest_jump),
           {"P2: cost of any larger change", "units"})
      .add("edge_contrast", p.edge_contrast, detail::range(0, 256),
           {"Contrast of an edge that lowers P2 to 1/e; 0 = ignore edges", "gray levels", Audience::experts})
      .add("edge_floor", p.edge_floor, detail::range(0, 1),
           {"Fraction of P2 that remains at any edge", "", Audience::experts});
  data_cost::add_rows_field(fields, p.rows);
  data_cost::add_row_tolerance_field(fields, p.row_tolerance);
  fields.add("row_jump", p.row_jump, detail::range(1, highest_jump),
             {"P3: cost of any change of the row offset", "units", Audience::experts});
  data_cost::add_row_prior_field(fields, p.row_prior);
  refine::add_sub_pixel_field(fields, p.sub_pixel);
  fields
      .add("uniqueness", p.uniqueness, detail::range(0, 100),
           {"Reject pixels whose second-best sum is within this share of the best; 0 = none", "percent"})
      .add("min_confidence", p.min_confidence, detail::range(0, 1),
           {"Reject pixels of lower confidence (0 to 1); 0 = none"})
      .add("right_map", p.right_map,
           {{"sums", RightMap::sums}, {"winners", RightMap::winners}, {"match", RightMap::match}},
           {"Right map of the left-right check: the best of the left image's sums, the best of its winners, "
            "or that of another match"});
  refine::add_fields(fields, p.refine);
  return fields;
}

SemiGlobalParameters mgm() {
  SemiGlobalParameters parameters;
  parameters.paths = 8;
  parameters.aggregation = Aggregation::mgm;
  parameters.small_jump = 16;
  parameters.right_map = RightMap::match;
  parameters.refine.speckle_size = 0;
  return parameters;
}

// What OpenCV 4.6 makes of the default arguments of StereoSGBM::create().
SemiGlobalParameters opencv_sgbm() {
  SemiGlobalParameters parameters;
  parameters.paths = 5;
  parameters.cost = DataCost::gradient_birchfield_tomasi;
  parameters.data_truncation = 0;
  parameters.window = 3;
  parameters.outside_cost.reset();
  parameters.small_jump = 2;
  parameters.large_jump = 5;
  parameters.edge_contrast = 0;
  parameters.sub_pixel = SubPixel::parabola;
  parameters.right_map = RightMap::winners;
  parameters.refine = RefineParameters::none();
  parameters.refine.left_right_check = true;
  parameters.refine.median = 3;
  return parameters;
}

SemiGlobalParameters opencv_sgbm_hh() {
  SemiGlobalParameters parameters = opencv_sgbm();
  parameters.paths = 8;
  return parameters;
}

// The settings of libSGM's README.
SemiGlobalParameters libsgm() {
  SemiGlobalParameters parameters;
  parameters.paths = 8;
  parameters.cost = DataCost::census_centre_symmetric;
  parameters.data_truncation = 0;
  parameters.small_jump = 10;
  parameters.large_jump = 120;
  parameters.edge_contrast = 0;
  parameters.sub_pixel = SubPixel::none;
  parameters.uniqueness = 5;
  parameters.refine = RefineParameters::none();
  parameters.refine.left_right_check = true;
  parameters.refine.median = 3;
  return parameters;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<SemiGlobalParameters>(
      {.name = "sgm",
       .presets = {{"default", [] { return SemiGlobalParameters{}; }},
                   {"mgm", mgm},
                   {"opencv-sgbm", opencv_sgbm},
                   {"opencv-sgbm-hh", opencv_sgbm_hh},
                   {"libsgm", libsgm}},
       .fields = fields,
       .margins = margins,
       .energy = energy,
       .approximate_tiles = true,
       .volume = true,
       .row_tolerance = &SemiGlobalParameters::row_tolerance,
       .rows = &SemiGlobalParameters::rows,
       .backends = {
           On::backend<reference, make_reference>(), On::backend<cpu, make_cpu>(),
           On::tuned<cuda, make_cuda, cuda_tuning_space>().without("row_tolerance").without("reject_unseen"),
           On::backend<opencl, make_opencl>().without("row_tolerance").without("reject_unseen")}});
}

}  // namespace semi_global

void SemiGlobalParameters::validate() const {
  if (cost == DataCost::mean_absolute_difference)
    refuse("cost", "mean_absolute_difference", "another: only tiled belief propagation has it");
  SemiGlobalParameters copy = *this;
  semi_global::fields(copy).check();
  if (aggregation == Aggregation::mgm && paths == 5) refuse("paths", paths, "4 or 8 with aggregation mgm");
  if (large_jump <= small_jump) refuse("large_jump", large_jump, "more than small_jump");
  semi_global::make_model(*this);
  data_cost::check_rows_of_volume(*this);
  data_cost::check_row_tolerance(*this);
}

}  // namespace parallax
