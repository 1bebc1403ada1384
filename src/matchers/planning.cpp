// SPDX-License-Identifier: Apache-2.0
#include "matchers/planning.h"

#include "core/checks.h"
#include "core/floating_point.h"
#include "matchers/aligned_rows.h"
#include "matchers/method.h"

namespace parallax::detail {
namespace {

void check_request(const MatcherParameters& parameters, const Device& device, const ImageFormat& format) {
  check_format(format);
  check_threads(device.threads);
  parameters.validate();
}

}  // namespace

std::string owner_name(const MatcherParameters& parameters, const Device& device) {
  return "method " + method_name(parameters) + " on device " + device.text();
}

TuningSpace tuning_space(const MatcherParameters& parameters, const Device& device,
                         const ImageFormat& format) {
  const DefaultFloatingPoint environment;
  check_request(parameters, device, format);
  const Backend& backend = find_backend(parameters, device);
  return backend.tuning_space == nullptr ? TuningSpace{} : backend.tuning_space(parameters, device, format);
}

Configuration given_configuration(const MatcherParameters& parameters, const Device& device,
                                  const ImageFormat& format, const TunedValues& values) {
  check_request(parameters, device, format);
  if (values.empty()) return {};
  return read_configuration(values, tuning_space(parameters, device, format), Named::all,
                            owner_name(parameters, device));
}

std::unique_ptr<Plan> make_plan(const MatcherParameters& parameters, const Device& device,
                                const ImageFormat& format, const Configuration& configuration) {
  const DefaultFloatingPoint environment;
  check_request(parameters, device, format);
  std::unique_ptr<Plan> plan =
      find_backend(parameters, device).make(parameters, device, format, configuration);
  const ComparedRows rows = method_of(parameters).compared_rows(parameters);
  if (rows == ComparedRows::given) return plan;
  return with_aligned_rows(std::move(plan), rows, parameters, format,
                           device.kind == DeviceKind::reference ? 1 : device.threads);
}

}  // namespace parallax::detail
