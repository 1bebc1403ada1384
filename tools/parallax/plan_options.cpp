// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/plan_options.h"

namespace parallax::tool {

void add_plan_argument(Options& options, PlanFile& plan) {
  options.add("PLAN", plan.path, "Plan written by 'parallax plan'").required();
}

void add_path_map_option(Options& options, PlanFile& plan) {
  options
      .add_text(
          "--path-map", "FROM=TO", "", "FROM=TO",
          [&plan](const std::string& text) {
            plan.maps.push_back(text);
            return true;
          },
          "Files of the plan below folder FROM are below TO on this machine; may be repeated")
      .repeats();
}

}  // namespace parallax::tool
