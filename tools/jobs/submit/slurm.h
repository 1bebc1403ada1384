// SPDX-License-Identifier: Apache-2.0
// A plan as jobs of SLURM: an array whose tasks match chunks of tiles, and a job after it that submits again what was lost, or
// merges.
#pragma once

#include "tools/jobs/submit/request.h"

namespace parallax::tool {

// Writes the scripts into the folder PLAN.jobs and submits them; with request.dry_run, prints them. \throws Error, UsageError
void submit_to_slurm(const SubmitRequest& request, const SubmittedWork& work);

}  // namespace parallax::tool
