// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cost_fields.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"
#include "refine/refine.h"

namespace parallax {
namespace tiled_belief_propagation {
namespace {

using detail::Audience, detail::Fields;

void add_model_fields(Fields& fields, TiledBeliefPropagationParameters& p) {
  fields.group(detail::matching_group)
      .add("tile", p.tile, detail::range(0, 4096),
           {"Side of a tile in pixels; 0 = the whole image", "pixels"})
      .add("outer", p.outer, detail::range(1, 1000),
           {"Outer iterations, each of which visits all tiles in raster order, then in reverse"})
      .add("inner", p.inner, detail::range(1, 1000),
           {"Inner iterations per visit of a tile, of four sweeps each"})
      .add("sweep_order", p.sweep_order,
           {{"right-left-down-up", SweepOrder::right_left_down_up},
            {"right-left-up-down", SweepOrder::right_left_up_down}},
           {"Order of the four sweeps", "", Audience::experts})
      .add("discontinuity_cost", p.discontinuity_cost, detail::range(1, highest_truncation),
           {"Cost per label of a jump between neighbours", "units"})
      .add("discontinuity_truncation", p.discontinuity_truncation, detail::range(1, 1024),
           {"Jump, in labels, beyond which the cost no longer grows", "labels"})
      .add("message_width", p.message_width,
           {{"automatic", MessageWidth::automatic}, {"8", MessageWidth::bits8}, {"16", MessageWidth::bits16}},
           {"Bits per message value", "bits", Audience::experts})
      .add("early_out", p.early_out,
           {"End a visit when an iteration changes no message", "", Audience::experts});
}

Fields fields(TiledBeliefPropagationParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 2, 1024);
  add_model_fields(fields, p);
  data_cost::add_cost_fields(fields, p,
                             {{"absolute-difference", DataCost::absolute_difference},
                              {"absolute-difference-colour", DataCost::absolute_difference_colour},
                              {"census", DataCost::census},
                              {"birchfield-tomasi", DataCost::birchfield_tomasi},
                              {"mean-absolute-difference", DataCost::mean_absolute_difference},
                              {"volume", DataCost::volume}},
                             "units", highest_truncation);
  fields.add("frame", p.frame, detail::range(0, 1'000'000),
             {"Width of the border without data costs, in pixels", "pixels", Audience::experts});
  data_cost::add_rows_field(fields, p.rows);
  refine::add_sub_pixel_field(fields, p.sub_pixel);
  fields.add("min_confidence", p.min_confidence, detail::range(0, 1),
             {"Reject pixels of lower confidence (0 to 1); 0 = none"});
  refine::add_fields(fields, p.refine);
  return fields;
}

// The contest's common parameters, without tile size and iterations.
TiledBeliefPropagationParameters contest() {
  TiledBeliefPropagationParameters parameters;
  parameters.disparities = 16;
  parameters.sweep_order = SweepOrder::right_left_up_down;
  parameters.discontinuity_cost = 16;
  parameters.discontinuity_truncation = 2;
  parameters.cost = DataCost::mean_absolute_difference;
  parameters.data_weight = 1;
  parameters.outside_cost.reset();
  parameters.frame = 18;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

TiledBeliefPropagationParameters memocode_2013() {
  TiledBeliefPropagationParameters parameters = contest();
  parameters.tile = 13;
  parameters.inner = 1;
  return parameters;
}

TiledBeliefPropagationParameters memocode_2013_tuned() {
  TiledBeliefPropagationParameters parameters = contest();
  parameters.smoothing = 0.7f;
  parameters.tile = 32;
  parameters.inner = 1;
  return parameters;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<TiledBeliefPropagationParameters>(
      {.name = "tiled-bp",
       .presets = {{"default", [] { return TiledBeliefPropagationParameters{}; }},
                   {"memocode-2013", memocode_2013},
                   {"memocode-2013-tuned", memocode_2013_tuned}},
       .fields = fields,
       .margins = margins,
       .energy = energy,
       .approximate_tiles = true,
       .volume = true,
       .rows = &TiledBeliefPropagationParameters::rows,
       .backends = {On::backend<reference, make_reference>(), On::tuned<cpu, make_cpu, cpu_tuning_space>(),
                    On::tuned<cuda, make_cuda, cuda_tuning_space>().without("reject_unseen")}});
}

}  // namespace tiled_belief_propagation

void TiledBeliefPropagationParameters::validate() const {
  TiledBeliefPropagationParameters copy = *this;
  tiled_belief_propagation::fields(copy).check();
  tiled_belief_propagation::make_model(*this);
  data_cost::check_rows_of_volume(*this);
}

}  // namespace parallax
