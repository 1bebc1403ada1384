// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cost_fields.h"
#include "matchers/block/block.h"
#include "refine/refine.h"

namespace parallax {
namespace block {
namespace {

using detail::Audience, detail::Fields;

Fields fields(BlockParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 1, 1'000'000);
  fields.group(detail::matching_group)
      .add("full_row", p.full_row, {"Search the whole row instead of a range of disparities"})
      .add("window", p.window, detail::odd(1, 31),
           {"Side of the window in pixels, odd, from 1 to 31", "pixels"})
      .add("cost", p.cost, {{"sad", BlockCost::sad}, {"ssd", BlockCost::ssd}, {"zncc", BlockCost::zncc}},
           {"Cost of a window"})
      .add("prefilter", p.prefilter, {{"none", Prefilter::none}, {"x-sobel", Prefilter::x_sobel}},
           {"Filter applied to both images first"})
      .add("prefilter_cap", p.prefilter_cap, detail::range(1, 127),
           {"Limit of the Sobel response", "8-bit gray levels", Audience::experts})
      .add("uniqueness", p.uniqueness, detail::range(0, 100),
           {"Reject pixels whose second-best cost is within this percentage of the best; 0 = none",
            "per cent"})
      .add("texture_threshold", p.texture_threshold, detail::not_negative(),
           {"Reject windows with less texture; 0 = none", "8-bit gray levels"});
  data_cost::add_rows_field(fields, p.rows);
  data_cost::add_row_tolerance_field(fields, p.row_tolerance);
  data_cost::add_row_prior_field(fields, p.row_prior);
  refine::add_sub_pixel_field(fields, p.sub_pixel);
  refine::add_fields(fields, p.refine);
  return fields;
}

BlockParameters full_row_study() {
  BlockParameters parameters;
  parameters.full_row = true;
  parameters.window = 5;
  parameters.prefilter = Prefilter::none;
  parameters.sub_pixel = SubPixel::none;
  parameters.refine = RefineParameters::none();
  return parameters;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<BlockParameters>(
      {.name = "block",
       .presets = {{"default", [] { return BlockParameters{}; }}, {"sad-full-row", full_row_study}},
       .fields = fields,
       .margins = margins,
       .full_row = &BlockParameters::full_row,
       .row_tolerance = &BlockParameters::row_tolerance,
       .rows = &BlockParameters::rows,
       .backends = {
           On::backend<reference, make_reference>(), On::tuned<cpu, make_cpu, cpu_tuning_space>(),
           On::tuned<cuda, make_cuda, cuda_tuning_space>().without("row_tolerance").without("reject_unseen"),
           On::tuned<opencl, make_opencl, opencl_tuning_space>()
               .without("row_tolerance")
               .without("reject_unseen")}});
}

}  // namespace block

void BlockParameters::validate() const {
  BlockParameters copy = *this;
  block::fields(copy).check();
  data_cost::check_row_tolerance(*this);
}

}  // namespace parallax
