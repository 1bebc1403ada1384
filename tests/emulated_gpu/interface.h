// SPDX-License-Identifier: Apache-2.0
// The interface between compiled kernels and the machine that runs them. It has no system headers, because
// kernels include this file.
#pragma once

namespace emulated {

struct Index {
  unsigned x, y, z;
};

// Operations of the lanes of a warp.
enum class Collective {
  synchronise,
  exchange,
  ballot,
  match,
  add,
  least,
  most,
  min_signed,
  max_signed,
  all_bits,
  any_bits,
  odd_bits
};

struct Kernel;

// The machine as a running thread sees it.
struct Machine {
  Index thread, block, block_size, grid_size;
  unsigned lane;
  void* dynamic_shared;
  // Returns the number of threads of the block with a true predicate.
  unsigned (*barrier)(bool predicate);
  // Only an exchange uses `source_lane`.
  unsigned long long (*collective)(Collective kind, unsigned mask, unsigned long long value,
                                   unsigned source_lane);
  // Lets other threads run, for a thread that waits for a write.
  void (*yield)();
  // Launches another kernel; its arguments are copied.
  void (*launch)(const Kernel& kernel, Index grid, Index block, void** arguments);
  // Makes the launch fail; does not return.
  void (*trap)(const char* reason);
};

// A kernel, which its module exports as emulated_NAME.
struct Kernel {
  void (*call)(void** arguments);
  const unsigned long* argument_bytes;
  unsigned argument_count;
  unsigned max_threads_a_block;
};

}  // namespace emulated
