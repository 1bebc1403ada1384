// SPDX-License-Identifier: Apache-2.0
// 'parallax match --plan FILE --tile RANGES'.
#include "tools/jobs/tiles/runner.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {

int match_planned_tiles(const Arguments& arguments) {
  PlanFile plan;
  std::string ranges;
  TileRun run;
  Options options("match", "Match tiles of a plan, with the method and options that it records.");
  options.add("--plan FILE", plan.path, "Plan written by 'parallax plan'").required();
  options
      .add("--tile RANGES", ranges,
           "Tiles, such as 0-19,40, or - to read them from standard input, line by line; for each tile, a "
           "line of JSON is printed, and added to a log beside the results")
      .required();
  options.add("--device", run.device, "Where to match; default: as the plan says; see 'parallax devices'");
  options.add("--threads N", run.threads, "Threads of the cpu device; 0 = as the plan says").range(0, 1024);
  options.add_memory("--max-memory", run.max_memory, "Memory limit of this process; 0 = as the plan says");
  options.add_flag(
      "--verify", run.verify,
      "Compare the contents of pictures with the plan, even if size and modification time are the same");
  add_path_map_option(options, plan);
  options.read(arguments);
  if (!run.device.empty()) Device::parse(run.device);
  return match_tiles(plan.open(), run, ranges);
}

}  // namespace parallax::tool
