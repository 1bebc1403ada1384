// SPDX-License-Identifier: Apache-2.0
// A plan that matches several pairs at once: PlanOptions::pairs_in_flight.
#pragma once

#include <functional>
#include <memory>

#include "core/plan.h"

namespace parallax::detail {

// Makes one plan for each pair that may be matched at once on the device; one where it matches pairs one by
// one.
// \throws Error (argument) when `pairs` is out of range
std::unique_ptr<Plan> plan_in_flight(const Device& device, int pairs,
                                     const std::function<std::unique_ptr<Plan>()>& make);

}  // namespace parallax::detail
