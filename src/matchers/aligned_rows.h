// SPDX-License-Identifier: Apache-2.0
// ComparedRows::automatic and once, around a plan of any method and device.
#pragma once

#include <memory>

#include "parallax/parameters.h"
#include "parallax/rows.h"

#include "core/plan.h"

namespace parallax::detail {

// Moves the rows of the right image by what corners of both images show, unless they are aligned already, and
// matches with `plan`.
std::unique_ptr<Plan> with_aligned_rows(std::unique_ptr<Plan> plan, ComparedRows rows,
                                        const MatcherParameters& parameters, const ImageFormat& format,
                                        int threads);

}  // namespace parallax::detail
