// SPDX-License-Identifier: Apache-2.0
// Runs the blocks of a launch one after another. Their threads are fibers, which take turns when they wait
// for each other. The blocks of a cooperative launch take turns, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"
#include "garbage_memory.h"
#include "interface.h"

namespace emulated {

constexpr unsigned warp_lanes = 32;

struct Launch {
  const char* name = "";
  const Kernel* kernel = nullptr;
  Index grid{}, block{};
  std::size_t dynamic_shared_bytes = 0;
  // The range of memory that holds the module's __shared__ variables.
  void* static_shared = nullptr;
  std::size_t static_shared_bytes = 0;
  bool is_cooperative = false;
};

// The arguments of a kernel at the time of its launch.
class Arguments {
 public:
  Arguments(const Kernel& kernel, void** arguments) {
    for (unsigned i = 0; i < kernel.argument_count; ++i) {
      const std::size_t bytes = kernel.argument_bytes[i];
      values_.emplace_back(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
      if (values_.back() == nullptr) throw std::bad_alloc();
      std::memcpy(values_.back().get(), arguments[i], bytes);
    }
  }

  std::vector<void*> pointers() const {
    std::vector<void*> pointers;
    for (const auto& value : values_) pointers.push_back(value.get());
    return pointers;
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  static constexpr std::size_t alignment = 64;

  std::vector<std::unique_ptr<void, Free>> values_;
};

// A launch of a kernel by another kernel.
struct Child {
  const Kernel* kernel;
  Index grid, block;
  Arguments arguments;
};

class Multiprocessor {
 public:
  Multiprocessor();
  ~Multiprocessor();
  Multiprocessor(const Multiprocessor&) = delete;
  Multiprocessor& operator=(const Multiprocessor&) = delete;

  // The machine given to modules.
  const Machine& machine() const { return machine_; }

  // Whether blocks and threads run from the last to the first: a missing barrier then changes the results.
  void set_last_first(bool last_first) { last_first_ = last_first; }

  // Returns why the launch failed; empty if it succeeded.
  std::string run(const Launch& launch, void** arguments);
  // Returns the launches by kernels since the last call.
  std::vector<Child> take_children() { return std::exchange(children_, {}); }

 private:
  enum class Waiting { no, at_barrier, in_collective };
  struct Thread;
  struct Worker;
  struct Block;

  void prepare_launch(const Launch& launch, void** arguments);
  void prepare_block(const Launch& launch, Index block);
  void run_one_by_one(const Launch& launch);
  void run_in_turns(const Launch& launch);
  void exchange(Block& other, const Launch& launch);
  void run_block();
  // Runs the block as far as possible without others; returns true if it has ended or failed.
  bool run_turn();
  void finish_block();
  void run_ready_or_next();
  Worker* idle_worker();
  void work(Worker& worker);
  void run_thread(Thread& thread, Worker& worker);
  std::size_t in_order(std::size_t turn) const;
  void become(Thread& thread);
  void wait(Waiting why);
  void make_ready(Thread& thread);
  void fail(const std::string& reason);
  void abandon();
  std::string describe_deadlock();

  void yield();
  unsigned barrier(bool predicate);
  void open_barrier_when_complete();
  unsigned long long collective(Collective kind, unsigned mask, unsigned long long value,
                                unsigned source_lane);
  bool all_have_come(const Thread& last);
  void complete(const Thread& last);
  unsigned long long result_for(const Thread& self);
  // Null if the block has no such thread.
  Thread* lane_of_current_warp(unsigned lane);

  Machine machine_{};
  bool last_first_ = false;
  const Kernel* kernel_ = nullptr;
  void** arguments_ = nullptr;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  std::string failure_;
  std::vector<Child> children_;
  // The number of times a thread ended, or could continue because others had arrived.
  std::uint64_t events_ = 0;
  // Turns without progress.
  int idle_turns_ = 0;

  // The state of the running block.
  GarbageMemory dynamic_shared_;
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  std::vector<Thread*> yielding_;
  std::size_t next_ = 0, next_ready_ = 0, ended_ = 0;
  Thread* current_ = nullptr;
  unsigned at_barrier_ = 0, true_at_barrier_ = 0, barrier_result_ = 0;
};

}  // namespace emulated
