// SPDX-License-Identifier: Apache-2.0
// A pipeline of overlapping stages, on oneTBB.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace parallax::tool {

struct PipelineStage {
  bool one_at_a_time;  // and in order; otherwise several items in parallel
  std::function<void(std::size_t slot)> run;
};

// Items occupy slots [0, slots), which are reused, so that at most `slots` items are in flight. `take` puts
// the next item into a slot and returns false at the end; each stage then processes it in turn. An exception
// in a stage ends the pipeline and is rethrown when the items in flight are done.
void run_pipeline(std::size_t slots, const std::function<bool(std::size_t slot)>& take,
                  const std::vector<PipelineStage>& stages);

// The number of slots that keeps all cores busy.
std::size_t pipeline_slots();

}  // namespace parallax::tool
