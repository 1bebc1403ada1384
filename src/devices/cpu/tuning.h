// SPDX-License-Identifier: Apache-2.0
// Tunables that all plans on a processor share.
#pragma once

#include <cstddef>

#include "core/integers.h"
#include "core/tuning.h"
#include "core/workers.h"
#include "devices/devices.h"

namespace parallax::cpu {

// Ranges of rows per thread in each step that works by rows: fewer ranges have less overhead, more ranges
// balance the load better.
inline detail::Tunable ranges_per_thread() {
  return {"ranges_per_thread", "Ranges of rows per thread in each step that works by rows", {1, 2, 8, 16}};
}

inline int ranges_per_thread(const detail::Configuration& configuration) {
  return configuration.value("ranges_per_thread", Workers::usual_ranges_per_thread);
}

// The footprint of a plan whose tasks work on `bytes` each. A working set larger than a core's own cache
// counts as 0 bytes on chip.
inline detail::Footprint footprint(int tasks, const Workers& workers, std::size_t bytes) {
  return {divide_round_up(tasks, workers.slots()), bytes <= second_level_cache_bytes() ? bytes : 0};
}

}  // namespace parallax::cpu
