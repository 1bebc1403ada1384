// SPDX-License-Identifier: Apache-2.0
// Options that both methods of belief propagation have.
#pragma once

#include "tools/parallax/method_options.h"

namespace parallax::tool {

// Data costs, and what is done with beliefs.
template <class Parameters>
void add_belief_options(Options& options, Parameters& parameters, const Choices<DataCost>& costs) {
  options.add_choice("--cost", parameters.cost, costs, "Data cost");
  options.add("--data-weight X", parameters.data_weight, "Cost of a difference of one gray level, or bit");
  options.add("--data-truncation X", parameters.data_truncation,
              "Largest difference that counts, in gray levels or bits; 0 = any");
  options
      .add("--outside-cost", parameters.outside_cost,
           "Data cost of a label that points outside the right image")
      .expert();
  options.add_flag("--no-outside-cost", "No data cost at all for pixels with labels that point outside")
      .expert();
  options.add("--smoothing X", parameters.smoothing,
              "Sigma in pixels of a Gaussian applied to both images; 0 = none");
  options.add_choice("--sub-pixel", parameters.sub_pixel, sub_pixel_choices(),
                     "Interpolation between labels");
  options.add("--min-confidence X", parameters.min_confidence,
              "Reject pixels whose confidence, 0 to 1, is lower; 0 = none");
}

// Of --outside-cost and --no-outside-cost. \throws UsageError when both are given
template <class Parameters>
void settle_outside_cost(const Options& options, Parameters& parameters) {
  if (!options.given("--no-outside-cost")) return;
  if (options.given("--outside-cost"))
    throw UsageError("--outside-cost and --no-outside-cost exclude each other: give one of them");
  parameters.outside_cost.reset();
}

}  // namespace parallax::tool
