// SPDX-License-Identifier: Apache-2.0
// The early end of a call: by another thread, which cancels an object's calls, or by the caller's function
// that long calls ask. Work looks often, with stop_if_cancelled(): Workers do before each part and each row.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "parallax/error.h"

namespace parallax {

// Cancels the calls of an object.
class Cancellation {
 public:
  // Ends the calls that have begun; those that begin later go on. Any thread may call this.
  void cancel() noexcept { ++count_; }

 private:
  friend class CancellableCall;
  std::atomic<unsigned> count_ = 0;
};

// What this thread works on until the end of the scope can be cancelled, with what it was part of before.
class CancellableCall {
 public:
  explicit CancellableCall(const Cancellation& cancellation);
  ~CancellableCall();
  CancellableCall(const CancellableCall&) = delete;
  CancellableCall& operator=(const CancellableCall&) = delete;

  bool is_cancelled() const noexcept {
    for (const CancellableCall* call = this; call != nullptr; call = call->outer_)
      if (call->cancellation_.count_.load(std::memory_order_relaxed) != call->count_at_start_) return true;
    return false;
  }

 private:
  const Cancellation& cancellation_;
  const unsigned count_at_start_;
  const CancellableCall* const outer_;
};

// Another thread's work on a call, until the end of the scope. Null: work that cannot be cancelled, such as
// the host's part of a match on a GPU, which must not end while the GPU uses its memory.
class WorkOnCall {
 public:
  explicit WorkOnCall(const CancellableCall* call) noexcept;
  ~WorkOnCall();
  WorkOnCall(const WorkOnCall&) = delete;
  WorkOnCall& operator=(const WorkOnCall&) = delete;

 private:
  const CancellableCall* const before_;
  const bool asked_before_;
};

// \throws Error (cancelled) if the call on which this thread works was cancelled, or if the thread's
// interrupt function says so
void stop_if_cancelled();

// Sets the function that long calls of this thread ask from time to time whether they shall end: not 0; null
// = none.
using InterruptFunction = int (*)(void* user);
constexpr int usual_milliseconds_between_questions = 40;
void set_interrupt(InterruptFunction function, void* user,
                   int milliseconds_between_questions = usual_milliseconds_between_questions);
// Makes the next stop_if_cancelled() of this thread ask.
void ask_next_time();
// The time after which a thread that waits should call stop_if_cancelled() again; 0 = it need not.
std::chrono::milliseconds time_between_questions();

// Locks a mutex, but asks the thread's interrupt function while it waits.
// \throws Error (cancelled); the mutex is not locked then
inline std::unique_lock<std::timed_mutex> lock_interruptibly(std::timed_mutex& mutex) {
  const std::chrono::milliseconds time = time_between_questions();
  if (time.count() == 0) return std::unique_lock(mutex);
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock && !lock.try_lock_for(time)) stop_if_cancelled();
  return lock;
}

// Waits until is_ready(), likewise.
// \throws Error (cancelled)
template <class IsReady>
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                        const IsReady& is_ready) {
  const std::chrono::milliseconds time = time_between_questions();
  if (time.count() == 0) return changed.wait(lock, is_ready);
  struct Locked {
    explicit Locked(std::unique_lock<std::mutex>& held) : lock(held) { lock.unlock(); }
    ~Locked() { lock.lock(); }
    std::unique_lock<std::mutex>& lock;
  };
  while (!changed.wait_for(lock, time, is_ready)) {
    // The function may use what the mutex guards.
    const Locked afterwards(lock);
    stop_if_cancelled();
  }
}

Error cancelled_error(const std::string& by = "");

}  // namespace parallax
