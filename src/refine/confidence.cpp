// SPDX-License-Identifier: Apache-2.0
#include "refine/confidence.h"

#include "devices/program.h"

namespace parallax::refine {

std::vector<std::string> confidence_definitions() {
  using gpu::define;
  return {define("NEAR_STEP", near_step),
          define("FAR_STEP", far_step),
          define("CONFIDENCE_RADIUS", confidence_radius),
          define("AGREEMENT_TOLERANCE", agreement_tolerance),
          define("MOST_DOUBT", most_doubt),
          define("MATCHED_WEIGHT", matched_weight),
          define("CONFIDENCE_UNIT", confidence_unit)};
}

}  // namespace parallax::refine
