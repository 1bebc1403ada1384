// SPDX-License-Identifier: Apache-2.0
#include "core/workers.h"

#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include "parallax/error.h"
#include "parallax/process.h"

#include "core/cancellation.h"

// This file is compiled without ThreadSanitizer, like the packaged oneTBB, because the sanitizer would see
// only half of its synchronisation. Two lines declare the synchronisation instead.
#ifdef PARALLAX_THREAD_SANITIZER
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#else
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace parallax {

using oneapi::tbb::task_arena;

namespace {

// Unused arenas by number of threads. Arenas are reused because oneTBB, at least up to 2021.8, never frees an
// arena's memory.
class IdleArenas {
 public:
  std::unique_ptr<task_arena> take(int threads) {
    const std::lock_guard guard(mutex_);
    auto& arenas = by_threads_[threads];
    if (arenas.empty()) return std::make_unique<task_arena>(threads);
    std::unique_ptr<task_arena> arena = std::move(arenas.back());
    arenas.pop_back();
    return arena;
  }

  // Destroys an arena that cannot be stored.
  void give_back(int threads, std::unique_ptr<task_arena> arena) noexcept {
    try {
      const std::lock_guard guard(mutex_);
      by_threads_[threads].push_back(std::move(arena));
    } catch (const std::bad_alloc&) {
    }
  }

  // A forked process has none of the arenas' threads, so it abandons the arenas.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child() {
    for (auto& [threads, arenas] : by_threads_)
      for (std::unique_ptr<task_arena>& arena : arenas) static_cast<void>(arena.release());
    by_threads_.clear();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<task_arena>>> by_threads_;
};

// Never destroyed, because matchers may be destroyed as late as the process ends.
IdleArenas& idle_arenas() {
  static IdleArenas& arenas = []() -> IdleArenas& {
    auto& made = *new IdleArenas;
    pthread_atfork([] { idle_arenas().before_fork(); }, [] { idle_arenas().after_fork_in_parent(); },
                   [] { idle_arenas().after_fork_in_child(); });
    return made;
  }();
  return arenas;
}

// Makes what an arena needs. If memory runs out meanwhile, oneTBB 2022 waits forever for a lock that it holds,
// so there must be enough.
void initialize(task_arena& arena) {
  constexpr std::size_t enough = std::size_t{1} << 20;
  {
    const std::unique_ptr<volatile std::byte[]> reserve(new volatile std::byte[enough]);
    reserve[0] = std::byte{0};
  }
  arena.initialize();
}

// Handles an exception of oneTBB, which throws std::runtime_error when it cannot start a thread.
[[noreturn]] void refuse_threads() {
  try {
    throw;
  } catch (const std::runtime_error& error) {
    throw Error(ErrorCategory::memory,
                std::string("the system refused a thread (") + error.what() +
                    "): use fewer threads, or raise the limits of memory and threads",
                true);
  }
}

}  // namespace

struct Workers::Implementation {
  explicit Implementation(int count) : threads(count), arena(idle_arenas().take(count)) {}
  ~Implementation() { idle_arenas().give_back(threads, std::move(arena)); }
  int threads;
  std::unique_ptr<task_arena> arena;
};

Workers::Workers(int threads, int ranges_per_thread) : ranges_per_thread_(ranges_per_thread) {
  static const int cores = oneapi::tbb::info::default_concurrency();
  threads_ = threads > 0 ? threads : available_threads();
  // oneTBB accepts more threads than there are cores, but prints a warning.
  slots_ = std::min(threads_, cores);
  if (slots_ > 1) implementation_ = std::make_unique<Implementation>(slots_);
}

Workers::~Workers() = default;
Workers::Workers(Workers&&) noexcept = default;

void Workers::run(int count, Call call, void* context) const {
  if (!implementation_ || count <= 1) {
    for (int index = 0; index < count; ++index) {
      stop_if_cancelled();
      call(context, index, 0);
    }
    return;
  }
  struct Joined {
    ~Joined() { __tsan_acquire(this); }
  } joined;
  // The first failure, which ends the work of the other threads.
  Cancellation others;
  const CancellableCall all(others);
  std::atomic<bool> has_failed = false;
  std::exception_ptr failure;
  __tsan_release(context);
  const auto body = [&](int index) {
    __tsan_acquire(context);
    try {
      const WorkOnCall work(&all);
      stop_if_cancelled();
      call(context, index, oneapi::tbb::this_task_arena::current_thread_index());
    } catch (...) {
      if (!has_failed.exchange(true)) failure = std::current_exception();
      others.cancel();
      __tsan_release(&joined);
      throw;
    }
    __tsan_release(&joined);
  };
  // An arena's threads compute in the floating-point environment of the arena's first use; this makes it the
  // default one.
  try {
    task_arena& arena = *implementation_->arena;
    if (!arena.is_active()) initialize(arena);
    arena.execute([&] { oneapi::tbb::parallel_for(0, count, body); });
  } catch (...) {
    __tsan_acquire(&joined);  // what oneTBB caught may be another thread's exception, and ends here
    if (has_failed) std::rethrow_exception(failure);
    refuse_threads();
  }
}

}  // namespace parallax
