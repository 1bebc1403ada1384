// SPDX-License-Identifier: Apache-2.0
// Plans that use stored results of tuning.
#pragma once

#include <functional>
#include <memory>

#include "core/plan.h"

namespace parallax::detail {

// Makes a plan with the given configuration and, for other tunables, the stored tuning result where the plan
// accepts it.
// \throws Error as the constructor of Matcher does, except for memory
std::unique_ptr<Plan> make_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                      const ImageFormat& format, const TunedValues& configuration,
                                      bool both_maps = false);
// The same, allocated. `around`: makes a plan of each plan, before it is allocated.
using AroundPlan = std::function<std::unique_ptr<Plan>(std::unique_ptr<Plan>)>;
std::unique_ptr<Plan> allocate_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                          const ImageFormat& format, const PlanOptions& limits,
                                          const AroundPlan& around = {});

// The plan of a matcher.
// \throws Error (argument) where the matcher was moved from
Plan& plan_of(Plan* plan);
// Waits for a plan that is destroyed; null for a matcher that was moved from.
void finish(Plan* plan) noexcept;

}  // namespace parallax::detail
