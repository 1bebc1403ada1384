// SPDX-License-Identifier: Apache-2.0
// What compiled kernels and the machine that runs them tell each other. Kernels include no system header,
// hence none here.
#pragma once

namespace emulated {

struct Index {
  unsigned x, y, z;
};

// What lanes of a warp do together.
enum class Collective {
  synchronise,
  exchange,
  ballot,
  match,
  add,
  least,
  most,
  least_signed,
  most_signed,
  all_bits,
  any_bits,
  odd_bits
};

struct Kernel;

// What a running thread sees of the machine.
struct Machine {
  Index thread, block, block_size, grid_size;
  unsigned lane;
  void* dynamic_shared;
  // How many threads of the block came with a true predicate.
  unsigned (*barrier)(bool predicate);
  // `source_lane` is for an exchange.
  unsigned long long (*collective)(Collective kind, unsigned mask, unsigned long long value,
                                   unsigned source_lane);
  // Lets others run, for one that waits for what they write.
  void (*yield)();
  // Launches another kernel; its arguments are copied.
  void (*launch)(const Kernel& kernel, Index grid, Index block, void** arguments);
  // Ends the launch, as a failed one; does not return.
  void (*trap)(const char* reason);
};

// A kernel, which its module exports as emulated_NAME.
struct Kernel {
  void (*call)(void** arguments);
  const unsigned long* argument_bytes;
  unsigned argument_count;
  unsigned most_threads_a_block;
};

}  // namespace emulated
