// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/checks.h"
#include "core/memory.h"
#include "data_cost/cost_fields.h"
#include "matchers/motion/motion.h"
#include "refine/vectors.h"

namespace parallax {
namespace motion {
namespace {

using detail::Audience, detail::Fields;

Fields fields(MotionParameters& p) {
  constexpr int max_labels = 4096;
  Fields fields;
  detail::add_range_fields(fields, p.min_disparity, p.disparities, 1, max_labels);
  fields
      .add("min_row_offset", p.min_row_offset, detail::range(-1'000'000, 1'000'000),
           {"Lowest row offset, downwards; may be negative", "pixels"})
      .add("row_offsets", p.row_offsets, detail::range(1, max_labels), {"Number of row offsets", "pixels"});
  fields.group(detail::matching_group)
      .add("active_window", p.active_window, detail::odd_or_zero(3, 7),
           {"Side of the square of labels around the motion found at the next coarser scale: 0 (all labels, "
            "no scales), or "
            "odd from 3 to 7",
            "pixels"})
      .add("prediction_weight", p.prediction_weight, detail::range(0, 1000),
           {"Cost of each pixel of difference from that motion", "", Audience::experts})
      .add("levels", p.levels, detail::range(1, 30), {"Levels of the pyramid of messages over all labels"})
      .add("iterations", p.iterations, detail::range(1, 1000), {"Iterations on each level and scale"})
      .add("finest_iterations", p.finest_iterations, detail::range(0, 1000),
           {"Iterations on the image itself; 0 = as on the others"})
      .add("arithmetic", p.arithmetic,
           {{"fixed8", Arithmetic::fixed8},
            {"fixed16", Arithmetic::fixed16},
            {"float32", Arithmetic::float32}},
           {"Number format of messages"})
      .add("cost", p.cost,
           {{"census", DataCost::census}, {"absolute-difference", DataCost::absolute_difference}},
           {"Data cost"})
      .add("data_weight", p.data_weight, detail::range(1e-6f, 1000),
           {"Cost per gray level, or bit, of difference"})
      .add("data_truncation", p.data_truncation, detail::range(0, 256),
           {"Limit to which differences are truncated, in gray levels or bits; 0 = no limit",
            "gray levels or bits"})
      .add("outside_cost", p.outside_cost, detail::range(0, 1000),
           {"Data cost of a label that points outside the second frame", "", Audience::experts})
      .add("smoothing", p.smoothing, detail::range(0, 30),
           {"Sigma in pixels of the Gaussian blur of both images; 0 = none", "pixels"});
  refine::add_sub_pixel_field(fields, p.sub_pixel);
  fields
      .add("min_confidence", p.min_confidence, detail::range(0, 1),
           {"Reject pixels of lower confidence (0 to 1); 0 = none"})
      .add("discontinuity_truncation", p.discontinuity_truncation, detail::range(1e-3f, 1024),
           {"Jump, in labels, beyond which the cost no longer grows", "labels"})
      .add("edge_contrast", p.edge_contrast, detail::range(0, 256),
           {"Contrast of an edge that lowers the cost of a jump to 1/e; 0 = ignore edges", "gray levels",
            Audience::experts})
      .add("edge_floor", p.edge_floor, detail::range(0, 1),
           {"Fraction of the cost of a jump that remains at any edge", "", Audience::experts});
  refine::add_vector_fields(fields, p.refine);
  return fields;
}

MotionParameters all_labels() {
  MotionParameters parameters;
  parameters.min_disparity = -15;
  parameters.disparities = 31;
  parameters.min_row_offset = -7;
  parameters.row_offsets = 15;
  parameters.active_window = 0;
  parameters.iterations = 7;
  parameters.finest_iterations = 4;
  return parameters;
}

// A plan that says, where all labels need too much memory, what windows of labels need.
template <DeviceKind kind, auto* make, class... Configuration>
std::unique_ptr<detail::Plan> with_remedy(const MotionParameters& parameters, const Device& device,
                                          const ImageFormat& format, const Configuration&... configuration) {
  if constexpr (!detail::is_in_build(kind)) {
    return nullptr;  // there is no such make()
  } else {
    auto plan = make(parameters, device, format, configuration...);
    if (parameters.active_window == 0)
      plan->remedy = [=] {
        MotionParameters coarse_to_fine = parameters;
        coarse_to_fine.active_window = MotionParameters().active_window;
        return ", or set active_window to " + std::to_string(coarse_to_fine.active_window) +
               ", which needs " +
               bytes_text(make(coarse_to_fine, device, format, configuration...)->memory_bytes());
      };
    return plan;
  }
}

}  // namespace

std::unique_ptr<detail::Method> method() {
  using enum DeviceKind;
  return detail::declare<MotionParameters>(
      {.name = "motion",
       .presets = {{"default", [] { return MotionParameters{}; }}, {"all-labels", all_labels}},
       .fields = fields,
       .margins = margins,
       .approximate_tiles = true,
       .two_axes = true,
       .backends = {
           On::backend<reference, with_remedy<reference, make_reference>>(),
           On::backend<cpu, with_remedy<cpu, make_cpu>>(),
           On::tuned<cuda, with_remedy<cuda, make_cuda, detail::Configuration>, cuda_tuning_space>()}});
}

}  // namespace motion

void MotionParameters::validate() const {
  MotionParameters copy = *this;
  motion::fields(copy).check();
  refine::check_vector_parameters(refine);
  motion::make_model(*this);
}

}  // namespace parallax
