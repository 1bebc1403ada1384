// SPDX-License-Identifier: Apache-2.0
// Tunables that all plans on a processor share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "parallax/image.h"

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

// The most threads that a match of an image keeps busy. With fewer pixels each, they wait for each other more
// than they work: on 32 cores, 640×480 was fastest on 16 threads.
inline int busy_threads(Size size) {
  constexpr std::int64_t least = 4, pixels_of_thread = 1 << 14;
  return static_cast<int>(std::max(least, std::int64_t{size.width} * size.height / pixels_of_thread));
}

// The threads of a match on the processor.
inline Workers match_workers(int threads, Size size, const detail::Configuration& configuration = {}) {
  require_vectors();
  const int usual = threads > 0 ? threads : Workers(0).threads();
  return Workers(std::min(usual, busy_threads(size)),
                 configuration.value("ranges_per_thread", Workers::usual_ranges_per_thread));
}

// The footprint of a plan whose tasks work on `bytes` each. A working set larger than a core's own cache
// counts as 0 bytes on chip.
inline detail::Footprint footprint(int tasks, const Workers& workers, std::size_t bytes) {
  return {divide_round_up(tasks, workers.slots()), bytes <= second_level_cache_bytes() ? bytes : 0};
}

}  // namespace parallax::cpu
