// SPDX-License-Identifier: Apache-2.0
// align_rows: a plan of any method and device, whose second match sees aligned rows.
#pragma once

#include <memory>

#include "core/plan.h"

namespace parallax::rows {

// A plan that matches with `plan`, moves the rows of the right image by the row offsets that the map shows
// (row_alignment.h), and matches again unless they were aligned already.
std::unique_ptr<detail::Plan> with_aligned_rows(std::unique_ptr<detail::Plan> plan, const ImageFormat& format,
                                                int threads);

}  // namespace parallax::rows
