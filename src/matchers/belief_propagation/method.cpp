// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cost_fields.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidates.h"
#include "refine/refine.h"

namespace parallax {
namespace belief_propagation {
namespace {

using detail::Audience, detail::Fields;

Fields fields(BeliefPropagationParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 2, 1024);
  fields.group(detail::matching_group)
      .add("levels", p.levels, detail::range(1, 30), {"Levels of the image pyramid"})
      .add("iterations", p.iterations, detail::range(1, 1000), {"Iterations on each level"})
      .add("finest_iterations", p.finest_iterations, detail::range(0, 1000),
           {"Iterations on the finest level; 0 = as on the others"})
      .add("right_finest_iterations", p.right_finest_iterations, detail::range(0, 1000),
           {"The same in the right match of the left-right check; 0 = as in the left match"})
      .add("candidate_levels", p.candidate_levels, detail::range(0, 2),
           {"Finest levels that consider only labels near those of the next coarser level; 0 = none"})
      .add("candidate_slack", p.candidate_slack, detail::range(0, 1024),
           {"Labels considered on either side of each of those", "labels", Audience::experts})
      .add("candidate_ranges", p.candidate_ranges, detail::range(1, max_candidate_ranges),
           {"Most ranges of labels considered in a tile of 8×8 pixels", "", Audience::experts})
      .add("arithmetic", p.arithmetic,
           {{"fixed8", Arithmetic::fixed8},
            {"fixed16", Arithmetic::fixed16},
            {"float32", Arithmetic::float32},
            {"float16", Arithmetic::float16},
            {"bfloat16", Arithmetic::bfloat16}},
           {"Number format of messages"});
  data_cost::add_cost_fields(fields, p,
                             {{"absolute-difference", DataCost::absolute_difference},
                              {"absolute-difference-colour", DataCost::absolute_difference_colour},
                              {"census", DataCost::census},
                              {"birchfield-tomasi", DataCost::birchfield_tomasi},
                              {"volume", DataCost::volume}},
                             "", 1000);
  data_cost::add_rows_field(fields, p.rows);
  data_cost::add_row_tolerance_field(fields, p.row_tolerance);
  fields.add("row_weight", p.row_weight, detail::range(0, 1024),
             {"Cost of a change of the row offset by one", "labels", Audience::experts});
  data_cost::add_row_prior_field(fields, p.row_prior);
  refine::add_sub_pixel_field(fields, p.sub_pixel);
  fields
      .add("min_confidence", p.min_confidence, detail::range(0, 1),
           {"Reject pixels of lower confidence (0 to 1); 0 = none"})
      .add("discontinuity_truncation", p.discontinuity_truncation, detail::range(0, 1024),
           {"Jump, in labels, beyond which the cost no longer grows; 0 = disparities / 7.5", "labels"})
      .add("edge_contrast", p.edge_contrast, detail::range(0, 256),
           {"Contrast of an edge that lowers the cost of a jump to 1/e; 0 = ignore edges", "gray levels",
            Audience::experts})
      .add("edge_floor", p.edge_floor, detail::range(0, 1),
           {"Fraction of the cost of a jump that remains at any edge", "", Audience::experts});
  refine::add_fields(fields, p.refine);
  return fields;
}

// The published algorithm, without extensions.
BeliefPropagationParameters published() {
  BeliefPropagationParameters parameters;
  parameters.finest_iterations = 0;
  parameters.right_finest_iterations = 0;
  parameters.candidate_levels = 0;
  parameters.cost = DataCost::absolute_difference;
  parameters.data_truncation = 15;
  parameters.census_tolerance = 0;
  parameters.outside_cost.reset();
  parameters.edge_contrast = 0;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

BeliefPropagationParameters accurate() {
  BeliefPropagationParameters parameters;
  parameters.rows = ComparedRows::automatic;
  parameters.refine.weighted_median = 7;
  return parameters;
}

BeliefPropagationParameters video() {
  BeliefPropagationParameters parameters;
  parameters.iterations = 5;
  parameters.refine.left_right_check = false;
  parameters.refine.occlusion_check = true;
  parameters.refine.fill = Fill::directions;
  parameters.refine.median = 3;
  return parameters;
}

BeliefPropagationParameters grauer_gray_2010() {
  BeliefPropagationParameters parameters = published();
  parameters.disparities = 15;
  parameters.iterations = 10;
  parameters.smoothing = 1;
  parameters.data_weight = 0.07f;
  parameters.discontinuity_truncation = 1.7f;
  return parameters;
}

BeliefPropagationParameters grauer_gray_2019() {
  BeliefPropagationParameters parameters = published();
  parameters.data_weight = 0.1f;
  parameters.discontinuity_truncation = 0;
  return parameters;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<BeliefPropagationParameters>(
      {.name = "bp",
       .presets = {{"default", [] { return BeliefPropagationParameters{}; }},
                   {"accurate", accurate},
                   {"video", video},
                   {"grauer-gray-2010", grauer_gray_2010},
                   {"grauer-gray-2019", grauer_gray_2019}},
       .fields = fields,
       .margins = margins,
       .energy = energy,
       .approximate_tiles = true,
       .volume = true,
       .row_tolerance = &BeliefPropagationParameters::row_tolerance,
       .rows = &BeliefPropagationParameters::rows,
       .backends = {
           On::backend<reference, make_reference>(), On::tuned<cpu, make_cpu, cpu_tuning_space>(),
           On::tuned<cuda, make_cuda, cuda_tuning_space>().without("row_tolerance").without("reject_unseen"),
           On::backend<opencl, make_opencl>()
               .without("arithmetic", {"float32", "float16", "bfloat16"})
               .without("row_tolerance")
               .without("reject_unseen")}});
}

}  // namespace belief_propagation

void BeliefPropagationParameters::validate() const {
  if (cost == DataCost::mean_absolute_difference)
    refuse("cost", "mean_absolute_difference", "another: only tiled belief propagation has it");
  BeliefPropagationParameters copy = *this;
  belief_propagation::fields(copy).check();
  belief_propagation::make_model(*this);
  data_cost::check_rows_of_volume(*this);
  data_cost::check_row_tolerance(*this);
}

}  // namespace parallax
