// SPDX-License-Identifier: Apache-2.0
// A call that can be left in the middle and gone on with: what a thread of the GPU runs on.
#pragma once

#include <cstddef>
#include <memory>

namespace emulated {

class Fiber {
 public:
  // Nothing runs before the first resume(). `body` does not return.
  Fiber(void (*body)(void*), void* argument);
  // What is left in the middle is dropped.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it suspends itself.
  void resume();
  // Called by the body only: goes back to where it was resumed.
  void suspend();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace emulated
