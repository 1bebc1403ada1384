// SPDX-License-Identifier: Apache-2.0
// A check of every frame of a sequence.
#pragma once

#include "parallax/check.h"

#include "tools/parallax/frames.h"

namespace parallax::tool {

// Prints the verdicts and the common range of disparities; returns the exit status.
int check_sequence(FrameSource& source, const CheckParameters& parameters, bool json);

}  // namespace parallax::tool
