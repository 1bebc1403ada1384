// SPDX-License-Identifier: Apache-2.0
#include "tools/jobs/tiles/merge.h"

#include "tools/command/options.h"
#include "tools/parallax/pair_options.h"

namespace parallax::tool {

int merge_command(const Arguments& arguments) {
  PlanFile plan;
  bool keep = false;
  int pair = -1;
  Options options("merge", "Merge the tiles of a plan into maps, for all pairs whose tiles are matched.");
  add_plan_argument(options, plan);
  options.add("--pair K", pair, "Only this pair, counted from 0; by default, all").without_default();
  options.add_flag("--keep", keep, "Keep the results of the tiles");
  add_path_map_option(options, plan);
  options.read(arguments);

  const JobFile file = plan.open();
  const int last = file.head().pairs - 1;
  if (!options.given("--pair")) return merge_pairs(file, 0, last, keep);
  if (pair < 0 || pair > last)
    throw UsageError("--pair is " + std::to_string(pair) + ": this plan has pairs 0 to " +
                     std::to_string(last));
  return merge_pairs(file, pair, pair, keep);
}

}  // namespace parallax::tool
