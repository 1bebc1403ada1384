// SPDX-License-Identifier: Apache-2.0
// The limits of a multiprocessor, from sm_80 on.
#pragma once

#include <cstddef>

#include "core/tuning.h"

namespace parallax::cuda {

namespace multiprocessor {
inline constexpr int threads = 2048, registers = 65536;
// shared memory that CUDA reserves for each block
inline constexpr int reserved_bytes_a_block = 1024;
}  // namespace multiprocessor

// Footprint of the blocks resident on one multiprocessor; each keeps `bytes_a_block` in registers and shared
// memory.
inline detail::Footprint footprint(int blocks, int threads_a_block, std::size_t bytes_a_block) {
  return {100 * blocks * threads_a_block / multiprocessor::threads,
          static_cast<std::size_t>(blocks) * bytes_a_block};
}

}  // namespace parallax::cuda
