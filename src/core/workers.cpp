#include "core/workers.h"

#include <algorithm>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

// This file is compiled without ThreadSanitizer, as the packaged oneTBB is: its synchronisation, of which the
// sanitizer would see only half, is told to it in two lines instead.
#ifdef PARALLAX_THREAD_SANITIZER
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#else
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace parallax {

struct Workers::Implementation {
  explicit Implementation(int threads) : arena(threads) {}
  oneapi::tbb::task_arena arena;
};

Workers::Workers(int threads, int ranges_per_thread) : ranges_per_thread_(ranges_per_thread) {
  const int cores = oneapi::tbb::info::default_concurrency();
  threads_ = threads > 0 ? threads : cores;
  // Asked for more threads than there are cores, oneTBB would give as many, but print a warning.
  slots_ = std::min(threads_, cores);
  if (slots_ > 1) implementation_ = std::make_unique<Implementation>(slots_);
}

Workers::~Workers() = default;
Workers::Workers(Workers&&) noexcept = default;

void Workers::run(int count, Call call, void* context) const {
  if (!implementation_ || count <= 1) {
    for (int index = 0; index < count; ++index) call(context, index, 0);
    return;
  }
  int joined = 0;
  __tsan_release(context);
  implementation_->arena.execute([&] {
    oneapi::tbb::parallel_for(0, count, [&](int index) {
      __tsan_acquire(context);
      call(context, index, oneapi::tbb::this_task_arena::current_thread_index());
      __tsan_release(&joined);
    });
  });
  __tsan_acquire(&joined);
}

}  // namespace parallax
