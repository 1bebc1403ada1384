// SPDX-License-Identifier: Apache-2.0
// A plan as processes of this machine.
#pragma once

#include "tools/jobs/submit/request.h"

namespace parallax::tool {

// Matches what is missing, again what was lost, and merges. Returns an exit status. \throws Error
int run_locally(const SubmitRequest& request, SubmittedWork work);

}  // namespace parallax::tool
