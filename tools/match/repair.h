// SPDX-License-Identifier: Apache-2.0
// 'check --repair' and 'match --repair'.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "parallax/repair.h"

#include "tools/files/frames.h"
#include "tools/files/rigs/rig_files.h"
#include "tools/match/match.h"

namespace parallax::tool {

struct RepairRequest {
  std::vector<std::string> output;  // the repaired rig
  std::vector<std::string> rig;     // the rig to repair; empty = it is guessed
  RigChoices choices;
  double focal = 0;  // focal length of a guessed rig, in pixels; 0 = it is guessed, too
  CheckParameters check;
  bool json = false;
};

// \throws UsageError for outputs whose format their names do not tell
void check_repair_request(const RepairRequest& request);

// The exit status. `frames` is null for a single pair.
int repair_and_report(const RepairRequest& request, const Input& pair, FrameSource* frames);

// For 'match --repair': repairs a pair, or the first frames of a sequence until the repair converges, and
// reports the result. `frames` is null for a single pair.
// \throws Error (file) if it is refused
void repair(MatchRequest& request, FrameSource* frames);

nlohmann::ordered_json repair_json(const RigRepair& repair);

}  // namespace parallax::tool
