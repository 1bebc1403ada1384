// SPDX-License-Identifier: Apache-2.0
#include "core/cancellation.h"

#include <cstdint>
#include <ctime>

namespace parallax {
namespace {

struct Interrupt {
  InterruptFunction function = nullptr;
  void* user = nullptr;
  int milliseconds_between = 0;
  std::int64_t next = 0;  // when to ask again
};

constinit thread_local const CancellableCall* current = nullptr;
constinit thread_local Interrupt interrupt = {};
constinit thread_local bool asks = true;

// A clock that takes nanoseconds to read, and moves on every few milliseconds.
std::int64_t milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * std::int64_t{1000} + now.tv_nsec / 1'000'000;
}

// The function may itself call the library, which then does not ask.
bool is_interrupted() {
  const std::int64_t now = milliseconds();
  if (now < interrupt.next) return false;
  const WorkOnCall uncancelled(nullptr);
  const bool stops = interrupt.function(interrupt.user) != 0;
  interrupt.next = milliseconds() + interrupt.milliseconds_between;
  return stops;
}

}  // namespace

CancellableCall::CancellableCall(const Cancellation& cancellation)
    : cancellation_(cancellation), count_at_start_(cancellation.count_), outer_(current) {
  current = this;
}

CancellableCall::~CancellableCall() {
  current = outer_;
}

WorkOnCall::WorkOnCall(const CancellableCall* call) noexcept : before_(current), asked_before_(asks) {
  current = call;
  asks = asks && call != nullptr;
}

WorkOnCall::~WorkOnCall() {
  current = before_;
  asks = asked_before_;
}

void stop_if_cancelled() {
  if (current != nullptr && current->is_cancelled()) throw cancelled_error();
  if (interrupt.function != nullptr && asks && is_interrupted()) throw cancelled_error();
}

void set_interrupt(InterruptFunction function, void* user, int milliseconds_between) {
  interrupt = {function, user, milliseconds_between};
}

void ask_next_time() {
  interrupt.next = 0;
}

std::chrono::milliseconds time_between_questions() {
  return std::chrono::milliseconds(interrupt.function != nullptr && asks ? interrupt.milliseconds_between
                                                                         : 0);
}

Error cancelled_error(const std::string& by) {
  return {ErrorCategory::cancelled, "cancelled" + by + ": what it wrote is incomplete; run it again"};
}

}  // namespace parallax
