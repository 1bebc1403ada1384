// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "parallax/flow.h"
#include "parallax/matcher.h"
#include "parallax/motion.h"

namespace parallax {

MotionResult match_motion(const ImageView& first, const ImageView& second, const MotionParameters& parameters,
                          const Device& device) {
  Result result = match(first, second, parameters, device);
  return {flow_of(result.disparity.view(), result.row_offset.view()), std::move(result.status)};
}

}  // namespace parallax
