// Options that both methods of belief propagation have.
#pragma once

#include <optional>
#include <string>

#include "tools/parallax/command_line.h"
#include "tools/parallax/method_options.h"

namespace parallax::tool {

// --outside-cost and --no-outside-cost; see check_outside_cost().
template <class Cost>
void add_outside_cost(CLI::App& app, std::optional<Cost>& outside_cost, const std::string& group) {
  app.add_option_function<Cost>(
         "--outside-cost", [&](Cost cost) { outside_cost = cost; },
         "Cost of a label that leads out of the right image")
      ->default_str(outside_cost ? CLI::detail::to_string(*outside_cost) : "none")
      ->run_callback_for_default(false)
      ->group(group);
  app.add_flag_callback(
         "--no-outside-cost", [&] { outside_cost.reset(); },
         "Pixels with labels that lead out of the right image have no data cost")
      ->group(group);
}

// Of data costs, and of what becomes of beliefs.
template <class Parameters>
void add_belief_options(CLI::App& app, Parameters& parameters, const Choices<DataCost>& costs,
                        const std::string& group) {
  add_choice(app, "--cost", parameters.cost, costs, "Data cost")->group(group);
  app.add_option("--data-weight", parameters.data_weight, "Cost of a gray level, or bit, of difference")
      ->group(group);
  app.add_option("--data-truncation", parameters.data_truncation,
                 "Differences count up to this many gray levels, or bits; 0 = all")
      ->group(group);
  add_outside_cost(app, parameters.outside_cost, group);
  app.add_option("--smoothing", parameters.smoothing, "Sigma of a Gaussian over both images, in pixels")
      ->group(group);
  add_choice(app, "--sub-pixel", parameters.sub_pixel, sub_pixel_choices(), "Fraction of a pixel")
      ->group(group);
  app.add_option("--min-confidence", parameters.min_confidence, "Reject pixels less sure, 0 to 1; 0 = none")
      ->group(group);
}

}  // namespace parallax::tool
