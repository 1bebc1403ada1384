// SPDX-License-Identifier: Apache-2.0
// The steps after a match, for the row offsets of a map: they follow the disparities.
#pragma once

#include "parallax/image.h"

#include "core/workers.h"

namespace parallax::rows {

// Gives pixels without a disparity the row offset of the nearest pixel on their row that has one (ties go to
// the left one); rows without any that of the nearest such row above, or else below, at most `reach` rows
// away.
void fill_row_offsets(const DisparityMap& map, int reach, const Workers& workers);
// Clears the row offsets of pixels without a disparity.
void clear_row_offsets(const DisparityMap& map, const Workers& workers);

}  // namespace parallax::rows
