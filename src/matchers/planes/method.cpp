// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data_cost/cost_fields.h"
#include "data_cost/data_cost.h"
#include "matchers/planes/planes.h"
#include "refine/refine.h"

namespace parallax {
namespace planes {
namespace {

using detail::Audience, detail::Fields;

Fields fields(PlanesParameters& p) {
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 2, 1024);
  fields.group(detail::matching_group)
      .add("rounds", p.rounds, detail::range(1, 100), {"Rounds of moves of each size"})
      .add("data_weight", p.data_weight, detail::range(1e-3f, 0.25f),
           {"Cost of one bit of difference between census signatures", "pixels of jump"})
      .add("discontinuity_truncation", p.discontinuity_truncation, detail::range(1e-2f, 2),
           {"Jump between the planes of neighbours beyond which the cost no longer grows", "pixels"})
      .add("edge_contrast", p.edge_contrast, detail::range(0, 256),
           {"Contrast of an edge that lowers the cost of a jump to 1/e; 0 = ignore edges", "gray levels",
            Audience::experts})
      .add("edge_floor", p.edge_floor, detail::range(0, 1),
           {"Fraction of the cost of a jump that remains at any edge", "", Audience::experts});
  data_cost::add_rows_field(fields, p.rows);
  fields.add("min_confidence", p.min_confidence, detail::range(0, 1),
             {"Reject pixels of lower confidence (0 to 1); 0 = none"});
  refine::add_fields(fields, p.refine);
  return fields;
}

// Moves reach from one cell to the next, so a tile's margins only approximate what surrounds it. Its cells are
// the image's.
Margins margins(const PlanesParameters& parameters, const ImageFormat& format, int padding) {
  MatcherParameters start = start_parameters(parameters);
  set_parameter(start, "left_right_check", parameters.refine.left_right_check ? "true" : "false");
  Margins margins = detail::method_of(start).margins(start, format, padding + largest_region);
  margins.alignment = std::max(margins.alignment, cell_sides.back());
  return margins;
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<PlanesParameters>(
      {.name = "planes",
       .presets = {{"default", [] { return PlanesParameters{}; }}},
       .fields = fields,
       .margins = margins,
       .approximate_tiles = true,
       .rows = &PlanesParameters::rows,
       .backends = {On::backend<reference, make_reference>(), On::backend<cpu, make_cpu>(),
                    On::tuned<cuda, make_cuda, cuda_tuning_space>().without("reject_unseen")}});
}

}  // namespace planes

void PlanesParameters::validate() const {
  PlanesParameters copy = *this;
  planes::fields(copy).check();
}

}  // namespace parallax
