// SPDX-License-Identifier: Apache-2.0
#include "execution/tuned_plan.h"

#include "core/floating_point.h"
#include "execution/plans_in_flight.h"
#include "matchers/planning.h"
#include "tune/remembered_tuning.h"

namespace parallax::detail {
namespace {

// Calls make() with the given and the remembered values, or, if that fails, with the given ones alone.
template <class Make>
std::unique_ptr<Plan> make_with_remembered(const MatcherParameters& parameters, const Device& device,
                                           const ImageFormat& format, const TunedValues& values,
                                           const Make& make) {
  const DefaultFloatingPoint environment;
  const Configuration given = given_configuration(parameters, device, format, values);
  const Configuration configuration =
      remembered_configuration(find_backend(parameters, device), parameters, device, format, given);
  if (configuration == given) return make(given);
  std::string reason;
  try {
    return make(configuration);
  } catch (const Error& error) {
    reason = error.what();
  }
  std::unique_ptr<Plan> plan = make(given);
  refuse_remembered(reason);
  return plan;
}

}  // namespace

std::unique_ptr<Plan> make_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                      const ImageFormat& format, const TunedValues& configuration) {
  return make_with_remembered(parameters, device, format, configuration, [&](const Configuration& chosen) {
    return make_plan(parameters, device, format, chosen);
  });
}

std::unique_ptr<Plan> allocate_tuned_plan(const MatcherParameters& parameters, const Device& device,
                                          const ImageFormat& format, const PlanOptions& limits,
                                          const AroundPlan& around) {
  return make_with_remembered(
      parameters, device, format, limits.configuration, [&](const Configuration& chosen) {
        const auto make = [&] {
          std::unique_ptr<Plan> plan = make_plan(parameters, device, format, chosen);
          return around ? around(std::move(plan)) : std::move(plan);
        };
        std::unique_ptr<Plan> plan = plan_in_flight(device, limits.pairs_in_flight, make);
        allocate(*plan, limits);
        return plan;
      });
}

}  // namespace parallax::detail
