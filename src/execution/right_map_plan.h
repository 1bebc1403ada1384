// SPDX-License-Identifier: Apache-2.0
// The map of the right image beside that of the left one.
#pragma once

#include <memory>

#include "core/plan.h"

namespace parallax::detail {

// A plan of any method and device that also writes DisparityMap::right: `plan` then matches the mirrored pair,
// too.
// \throws Error (argument) where `plan` takes the data costs of a caller, which are those of left pixels
std::unique_ptr<Plan> with_right_map(std::unique_ptr<Plan> plan, const ImageFormat& format, int threads);

}  // namespace parallax::detail
