// SPDX-License-Identifier: Apache-2.0
#include "tools/command/pipeline.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include "parallax/process.h"

// oneTBB is compiled without ThreadSanitizer, which must be told of synchronisation: src/core/workers.cpp.
#ifdef PARALLAX_THREAD_SANITIZER
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#else
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace parallax::tool {

namespace tbb = oneapi::tbb;

namespace {

// Tells it that work on this address happens after earlier work on it, even after an exception.
class Synchronized {
 public:
  explicit Synchronized(char* address) : address_(address) {
    if (address_ != nullptr) __tsan_acquire(address_);
  }
  Synchronized(const Synchronized&) = delete;
  Synchronized& operator=(const Synchronized&) = delete;
  ~Synchronized() {
    if (address_ != nullptr) __tsan_release(address_);
  }

 private:
  char* address_;
};

}  // namespace

void run_pipeline(std::size_t slots, const std::function<bool(std::size_t slot)>& take,
                  const std::vector<PipelineStage>& stages) {
  // Addresses for the synchronisation of each item and each stage.
  std::vector<char> items(slots), turns(stages.size() + 1);
  const auto guarded = [&](char* item, char* turn, const auto& body) {
    const Synchronized with_item(item), with_turn(turn);
    body();
  };
  // Items begin and end in order: the slot of the item that began `slots` items ago is free.
  std::size_t taken = 0;
  tbb::filter<void, std::size_t> chain = tbb::make_filter<void, std::size_t>(
      tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) -> std::size_t {
        const std::size_t slot = taken++ % slots;
        bool any = false;
        guarded(&items[slot], &turns.back(), [&] { any = take(slot); });
        if (!any) control.stop();
        return slot;
      });
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto mode =
        stages[i].one_at_a_time ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
    chain =
        chain & tbb::make_filter<std::size_t, std::size_t>(mode, [&, i](std::size_t slot) {
          guarded(&items[slot], stages[i].one_at_a_time ? &turns[i] : nullptr, [&] { stages[i].run(slot); });
          return slot;
        });
  }
  const auto leave =
      tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, [](std::size_t) {});
  // A matcher never runs on this thread, so one more worker makes up for it. Workers go to the matcher first,
  // which takes longest.
  const tbb::global_control one_more(tbb::global_control::max_allowed_parallelism,
                                     static_cast<std::size_t>(available_threads()) + 1);
  tbb::task_arena arena(tbb::task_arena::automatic, 1, tbb::task_arena::priority::low);
  const auto acquire_all = [&] {
    for (char& item : items) __tsan_acquire(&item);
    for (char& turn : turns) __tsan_acquire(&turn);
  };
  try {
    arena.execute([&] { tbb::parallel_pipeline(slots, chain & leave); });
  } catch (...) {
    acquire_all();
    throw;
  }
  acquire_all();
}

std::size_t pipeline_slots() {
  return static_cast<std::size_t>(available_threads()) + 2;
}

}  // namespace parallax::tool
