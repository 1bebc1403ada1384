// SPDX-License-Identifier: Apache-2.0
#include "multiprocessor.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace emulated {

struct Multiprocessor::Worker {
  Worker(Multiprocessor& owner) : multiprocessor(owner), fiber(work, this) {}

  static void work(void* worker) {
    auto& self = *static_cast<Worker*>(worker);
    self.multiprocessor.work(self);
  }

  Multiprocessor& multiprocessor;
  Fiber fiber;
};

struct Multiprocessor::Thread {
  Index index{};
  std::size_t number = 0;
  Worker* worker = nullptr;
  Waiting waiting = Waiting::no;
  // The collective in which the thread waits.
  Collective kind{};
  unsigned mask = 0, source_lane = 0;
  unsigned long long value = 0, result = 0;

  unsigned lane() const { return static_cast<unsigned>(number % warp_lanes); }
};

// The state of a block of a cooperative launch while another one runs.
struct Multiprocessor::Block {
  Index index{};
  bool has_ended = false;
  GarbageMemory dynamic_shared;
  std::vector<unsigned char> static_shared;
  std::vector<Thread> threads;
  std::vector<Thread*> ready, yielding;
  std::size_t next = 0, next_ready = 0, ended = 0;
  unsigned at_barrier = 0, true_at_barrier = 0, barrier_result = 0;
};

namespace {

// After this many turns a wait is considered endless.
constexpr int max_idle_turns = 100'000;

// There is only one multiprocessor, and its callbacks have no argument for it.
Multiprocessor* running = nullptr;

bool is_in(unsigned mask, unsigned lane) {
  return (mask >> lane & 1) != 0;
}

std::string hexadecimal(unsigned mask) {
  std::ostringstream text;
  text << "0x" << std::hex << mask;
  return text.str();
}

std::string text_of(Index index) {
  std::ostringstream text;
  text << "(" << index.x << ", " << index.y << ", " << index.z << ")";
  return text.str();
}

unsigned reduced(Collective kind, unsigned a, unsigned b) {
  switch (kind) {
    case Collective::add:
      return a + b;
    case Collective::least:
      return std::min(a, b);
    case Collective::most:
      return std::max(a, b);
    case Collective::min_signed:
      return static_cast<unsigned>(std::min(static_cast<int>(a), static_cast<int>(b)));
    case Collective::max_signed:
      return static_cast<unsigned>(std::max(static_cast<int>(a), static_cast<int>(b)));
    case Collective::all_bits:
      return a & b;
    case Collective::any_bits:
      return a | b;
    default:
      return a ^ b;
  }
}

}  // namespace

Multiprocessor::Multiprocessor() {
  machine_.barrier = [](bool predicate) { return running->barrier(predicate); };
  machine_.collective = [](Collective kind, unsigned mask, unsigned long long value, unsigned source_lane) {
    return running->collective(kind, mask, value, source_lane);
  };
  machine_.yield = [] { running->yield(); };
  machine_.launch = [](const Kernel& kernel, Index grid, Index block, void** arguments) {
    running->children_.push_back({&kernel, grid, block, Arguments(kernel, arguments)});
  };
  machine_.trap = [](const char* reason) {
    running->fail(reason);
    running->abandon();
  };
}

Multiprocessor::~Multiprocessor() = default;

namespace {

std::uint64_t blocks_of(const Launch& launch) {
  return std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
}

Index block_at(const Launch& launch, std::uint64_t number) {
  const auto row = number / launch.grid.x;
  return {static_cast<unsigned>(number % launch.grid.x), static_cast<unsigned>(row % launch.grid.y),
          static_cast<unsigned>(row / launch.grid.y)};
}

}  // namespace

std::string Multiprocessor::run(const Launch& launch, void** arguments) {
  prepare_launch(launch, arguments);
  if (launch.is_cooperative)
    run_in_turns(launch);
  else
    run_one_by_one(launch);
  if (failure_.empty()) return "";
  // Some threads are still suspended.
  workers_.clear();
  return std::string("kernel ") + launch.name + ", block " + text_of(machine_.block) + ": " + failure_;
}

void Multiprocessor::run_one_by_one(const Launch& launch) {
  const std::uint64_t blocks = blocks_of(launch);
  for (std::uint64_t turn = 0; turn < blocks && failure_.empty(); ++turn) {
    prepare_block(launch, block_at(launch, last_first_ ? blocks - 1 - turn : turn));
    run_block();
  }
}

// Each block runs until all its threads wait for others.
void Multiprocessor::run_in_turns(const Launch& launch) {
  std::vector<Block> blocks(blocks_of(launch));
  for (std::uint64_t number = 0; number < blocks.size(); ++number) {
    blocks[number].static_shared.resize(launch.static_shared_bytes);
    // Memory of size 0 has an address too.
    dynamic_shared_ = GarbageMemory(launch.dynamic_shared_bytes);
    prepare_block(launch, block_at(launch, number));
    exchange(blocks[number], launch);
  }
  for (std::size_t running_blocks = blocks.size(); running_blocks > 0;) {
    for (std::size_t turn = 0; turn < blocks.size(); ++turn) {
      Block& block = blocks[last_first_ ? blocks.size() - 1 - turn : turn];
      if (block.has_ended) continue;
      exchange(block, launch);
      block.has_ended = run_turn();
      if (!failure_.empty()) return;
      if (block.has_ended) --running_blocks;
      exchange(block, launch);
    }
  }
}

// Exchanges the state of the running block with that of another one.
void Multiprocessor::exchange(Block& other, const Launch& launch) {
  std::swap(machine_.block, other.index);
  std::swap(dynamic_shared_, other.dynamic_shared);
  machine_.dynamic_shared = dynamic_shared_.get();
  auto* shared = static_cast<unsigned char*>(launch.static_shared);
  std::swap_ranges(other.static_shared.begin(), other.static_shared.end(), shared);
  std::swap(threads_, other.threads);
  std::swap(ready_, other.ready);
  std::swap(yielding_, other.yielding);
  std::swap(next_, other.next);
  std::swap(next_ready_, other.next_ready);
  std::swap(ended_, other.ended);
  std::swap(at_barrier_, other.at_barrier);
  std::swap(true_at_barrier_, other.true_at_barrier);
  std::swap(barrier_result_, other.barrier_result);
}

void Multiprocessor::prepare_launch(const Launch& launch, void** arguments) {
  running = this;
  kernel_ = launch.kernel;
  arguments_ = arguments;
  failure_.clear();
  machine_.grid_size = launch.grid;
  machine_.block_size = launch.block;
  // Memory of size 0 has an address too.
  dynamic_shared_ = GarbageMemory(launch.dynamic_shared_bytes);
  idle_turns_ = 0;
  idle_.clear();
  for (const std::unique_ptr<Worker>& worker : workers_) idle_.push_back(worker.get());
}

void Multiprocessor::prepare_block(const Launch& launch, Index block) {
  machine_.block = block;
  dynamic_shared_.fill();
  machine_.dynamic_shared = dynamic_shared_.get();
  if (launch.static_shared_bytes > 0) std::memset(launch.static_shared, garbage, launch.static_shared_bytes);
  threads_.clear();
  Index index{};
  for (index.z = 0; index.z < launch.block.z; ++index.z)
    for (index.y = 0; index.y < launch.block.y; ++index.y)
      for (index.x = 0; index.x < launch.block.x; ++index.x) {
        Thread& thread = threads_.emplace_back();
        thread.index = index;
        thread.number = threads_.size() - 1;
      }
  ready_.clear();
  yielding_.clear();
  next_ = next_ready_ = ended_ = 0;
  at_barrier_ = true_at_barrier_ = 0;
}

void Multiprocessor::run_block() {
  while (!run_turn()) {
  }
}

bool Multiprocessor::run_turn() {
  std::swap(ready_, yielding_);
  const std::uint64_t before = events_;
  while (failure_.empty() && (next_ready_ < ready_.size() || next_ < threads_.size())) run_ready_or_next();
  if (failure_.empty() && !yielding_.empty()) {
    idle_turns_ = events_ == before ? idle_turns_ + 1 : 0;
    if (idle_turns_ <= max_idle_turns) return false;
    failure_ = "its threads wait for what nobody writes";
  }
  finish_block();
  return true;
}

void Multiprocessor::finish_block() {
  if (!failure_.empty()) return;
  if (ended_ < threads_.size()) {
    failure_ = describe_deadlock();
  } else if (!dynamic_shared_.is_guard_intact()) {
    failure_ = "it wrote behind the " + std::to_string(dynamic_shared_.bytes()) +
               " bytes of its dynamic shared memory";
  }
}

void Multiprocessor::run_ready_or_next() {
  Worker* worker = nullptr;
  if (next_ready_ < ready_.size()) {
    Thread& thread = *ready_[next_ready_++];
    if (next_ready_ == ready_.size()) {
      ready_.clear();
      next_ready_ = 0;
    }
    become(thread);
    worker = thread.worker;
  } else {
    worker = idle_worker();
  }
  worker->fiber.resume();
}

Multiprocessor::Worker* Multiprocessor::idle_worker() {
  if (idle_.empty()) {
    workers_.push_back(std::make_unique<Worker>(*this));
    return workers_.back().get();
  }
  Worker* worker = idle_.back();
  idle_.pop_back();
  return worker;
}

// A worker runs threads in sequence. If one waits, so does its worker, and another worker takes the next
// thread.
void Multiprocessor::work(Worker& worker) {
  for (;;) {
    while (failure_.empty() && next_ < threads_.size()) run_thread(threads_[in_order(next_++)], worker);
    idle_.push_back(&worker);
    worker.fiber.suspend();
  }
}

void Multiprocessor::run_thread(Thread& thread, Worker& worker) {
  thread.worker = &worker;
  become(thread);
  kernel_->call(arguments_);
  ++events_;
  ++ended_;
  open_barrier_when_complete();
}

std::size_t Multiprocessor::in_order(std::size_t turn) const {
  return last_first_ ? threads_.size() - 1 - turn : turn;
}

void Multiprocessor::become(Thread& thread) {
  current_ = &thread;
  machine_.thread = thread.index;
  machine_.lane = thread.lane();
}

void Multiprocessor::wait(Waiting why) {
  current_->waiting = why;
  current_->worker->fiber.suspend();
}

void Multiprocessor::make_ready(Thread& thread) {
  ++events_;
  thread.waiting = Waiting::no;
  ready_.push_back(&thread);
}

void Multiprocessor::fail(const std::string& reason) {
  failure_ = "thread " + text_of(current_->index) + ": " + reason;
}

// Leaves the thread for good. Nothing on its stack may own a resource.
void Multiprocessor::abandon() {
  current_->worker->fiber.suspend();
}

void Multiprocessor::yield() {
  yielding_.push_back(current_);
  wait(Waiting::no);
}

unsigned Multiprocessor::barrier(bool predicate) {
  ++at_barrier_;
  true_at_barrier_ += predicate ? 1 : 0;
  Thread& self = *current_;
  self.waiting = Waiting::at_barrier;
  open_barrier_when_complete();
  // The last thread to arrive is ready, too, and takes its turn after the others.
  wait(self.waiting);
  return barrier_result_;
}

// Barriers do not wait for threads that have ended.
void Multiprocessor::open_barrier_when_complete() {
  if (at_barrier_ == 0 || at_barrier_ + ended_ < threads_.size()) return;
  barrier_result_ = true_at_barrier_;
  at_barrier_ = true_at_barrier_ = 0;
  for (std::size_t i = 0; i < threads_.size(); ++i)
    if (Thread& thread = threads_[in_order(i)]; thread.waiting == Waiting::at_barrier) make_ready(thread);
}

unsigned long long Multiprocessor::collective(Collective kind, unsigned mask, unsigned long long value,
                                              unsigned source_lane) {
  Thread& self = *current_;
  self.kind = kind;
  self.mask = mask;
  self.value = value;
  self.source_lane = source_lane;
  const bool is_complete = all_have_come(self);
  if (!failure_.empty()) abandon();
  if (is_complete)
    complete(self);
  else
    wait(Waiting::in_collective);
  return self.result;
}

Multiprocessor::Thread* Multiprocessor::lane_of_current_warp(unsigned lane) {
  const std::size_t number = current_->number / warp_lanes * warp_lanes + lane;
  return number < threads_.size() ? &threads_[number] : nullptr;
}

bool Multiprocessor::all_have_come(const Thread& last) {
  if (!is_in(last.mask, last.lane())) {
    fail("a collective with the mask " + hexadecimal(last.mask) + ", without itself");
    return false;
  }
  // Lanes run in turn, so the highest one is usually the last to come.
  for (unsigned lane = warp_lanes; lane-- > 0;) {
    if (!is_in(last.mask, lane) || lane == last.lane()) continue;
    const Thread* other = lane_of_current_warp(lane);
    if (other == nullptr || other->waiting != Waiting::in_collective || other->mask != last.mask)
      return false;
    if (other->kind != last.kind) {
      fail("another collective than lane " + std::to_string(lane) + " waits in");
      return false;
    }
  }
  return true;
}

// Each lane gets its result before any of them continues.
void Multiprocessor::complete(const Thread& last) {
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    if (is_in(last.mask, lane)) lane_of_current_warp(lane)->result = result_for(*lane_of_current_warp(lane));
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    if (is_in(last.mask, lane) && lane != last.lane()) make_ready(*lane_of_current_warp(lane));
}

unsigned long long Multiprocessor::result_for(const Thread& self) {
  if (self.kind == Collective::synchronise) return 0;
  if (self.kind == Collective::exchange) {
    // A lane that does not take part has no value.
    constexpr unsigned long long nothing = 0xA5A5A5A5A5A5A5A5;
    return is_in(self.mask, self.source_lane) ? lane_of_current_warp(self.source_lane)->value : nothing;
  }
  unsigned result = 0;
  bool is_first = true;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if (!is_in(self.mask, lane)) continue;
    const unsigned long long value = lane_of_current_warp(lane)->value;
    if (self.kind == Collective::ballot) {
      result |= static_cast<unsigned>(value) << lane;
    } else if (self.kind == Collective::match) {
      result |= (value == self.value ? 1u : 0u) << lane;
    } else {
      result =
          is_first ? static_cast<unsigned>(value) : reduced(self.kind, result, static_cast<unsigned>(value));
    }
    is_first = false;
  }
  return result;
}

std::string Multiprocessor::describe_deadlock() {
  std::string text = "its threads wait for what cannot come: " + std::to_string(ended_) + " of " +
                     std::to_string(threads_.size()) + " have ended, " + std::to_string(at_barrier_) +
                     " wait at a barrier";
  for (Thread& thread : threads_) {
    if (thread.waiting != Waiting::in_collective) continue;
    current_ = &thread;
    unsigned missing = 0;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      const Thread* other = lane_of_current_warp(lane);
      if (is_in(thread.mask, lane) &&
          (other == nullptr || other->waiting != Waiting::in_collective || other->mask != thread.mask))
        missing |= 1u << lane;
    }
    return text + ", thread " + text_of(thread.index) + " waits in a collective with the mask " +
           hexadecimal(thread.mask) + " for the lanes " + hexadecimal(missing);
  }
  return text;
}

}  // namespace emulated
