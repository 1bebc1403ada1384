// SPDX-License-Identifier: Apache-2.0
#include "core/checks.h"
#include "core/floating_point.h"
#include "matchers/method.h"
#include "tiles/tiles.h"

namespace parallax {
namespace {

void check_steps(const RefineParameters& steps) {
  if (steps.refit > 0)
    throw Error(
        ErrorCategory::argument,
        "refit is not available in tiles, because it needs both images after their maps are joined: match "
        "without it");
  if (steps.reject_unseen)
    throw Error(
        ErrorCategory::argument,
        "reject_unseen is not available in tiles, because regions may be as large as the image: match "
        "without it");
}

}  // namespace

Margins margins(const MatcherParameters& parameters, const ImageFormat& format, int padding) {
  const DefaultFloatingPoint environment;
  check_format(format);
  check_range("padding", padding, 0, 1'000'000);
  parameters.validate();
  check_steps(parameters.refine());
  const detail::Method& method = detail::method_of(parameters);
  if (method.compared_rows(parameters) != ComparedRows::given)
    throw Error(
        ErrorCategory::argument,
        "tiles take rows as given, because aligning them looks at the whole image: choose rows given");
  return method.margins(parameters, format, padding);
}

namespace tiles {

MatcherParameters tile_parameters(MatcherParameters parameters) {
  RefineParameters check = RefineParameters::none();
  check.left_right_check = parameters.refine().left_right_check;
  check.left_right_tolerance = parameters.refine().left_right_tolerance;
  parameters.refine() = check;
  return parameters;
}

RefineParameters steps_after_tiles(const MatcherParameters& parameters) {
  RefineParameters steps = parameters.refine();
  check_steps(steps);
  steps.left_right_check = false;
  return steps;
}

}  // namespace tiles
}  // namespace parallax
