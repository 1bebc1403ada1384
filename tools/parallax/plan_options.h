// SPDX-License-Identifier: Apache-2.0
// Options of the commands that work on a plan.
#pragma once

#include <string>
#include <vector>

#include "tools/command/options.h"
#include "tools/jobs/tiles/job.h"

namespace parallax::tool {

struct PlanFile {
  std::string path;
  std::vector<std::string> maps;  // of --path-map

  // \throws UsageError, Error (file)
  JobFile open() const { return JobFile(path, parse_path_maps(maps)); }
};

// PLAN, which is required.
void add_plan_argument(Options& options, PlanFile& plan);
// --path-map, which may be repeated.
void add_path_map_option(Options& options, PlanFile& plan);

}  // namespace parallax::tool
