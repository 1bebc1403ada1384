// SPDX-License-Identifier: Apache-2.0
// A check of every frame of a sequence.
#pragma once

#include "parallax/check.h"

#include "tools/files/frames.h"
#include "tools/match/dense_check.h"
#include "tools/match/match_plan.h"

namespace parallax::tool {

// Prints the verdicts and the common range of disparities; returns the exit status. The plan rectifies the frames.
int check_sequence(FrameSource& source, MatchPlan& plan, const CheckParameters& parameters,
                   const DenseRequest& dense, bool json);

}  // namespace parallax::tool
