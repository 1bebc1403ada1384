// SPDX-License-Identifier: Apache-2.0
// Functions that the implementations of parallax/flow.h share.
#pragma once

#include "parallax/flow.h"

namespace parallax {

bool has_vector(const FlowView& flow, int x, int y);
// \throws Error (argument) for views without data, or of different sizes
void check_flow(const char* what, const FlowView& flow);

}  // namespace parallax
