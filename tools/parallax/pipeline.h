// SPDX-License-Identifier: Apache-2.0
// Stages that overlap: while one item is in one stage, others are in others. On oneTBB.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace parallax::tool {

struct PipelineStage {
  bool one_at_a_time;  // and in the order of the items; otherwise several items at once
  std::function<void(std::size_t slot)> run;
};

// Items live in slots [0, slots) that are used again and again, so that no more than `slots` are under way.
// `take` puts the next item into a slot, and is false when there is none; then each stage works on it in
// turn. What a stage throws ends the pipeline, and is thrown again when the items under way have left it.
void run_pipeline(std::size_t slots, const std::function<bool(std::size_t slot)>& take,
                  const std::vector<PipelineStage>& stages);

// As many slots as keep all cores at work.
std::size_t pipeline_slots();

}  // namespace parallax::tool
