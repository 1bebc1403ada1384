// SPDX-License-Identifier: Apache-2.0
// A call that can be suspended and resumed: a thread of the GPU runs on it.
#pragma once

#include <cstddef>
#include <memory>

namespace emulated {

class Fiber {
 public:
  // Nothing runs before the first resume(). `body` does not return.
  Fiber(void (*body)(void*), void* argument);
  // Drops a suspended call.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it suspends itself.
  void resume();
  // Returns to where it was resumed. Only called by the body.
  void suspend();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace emulated
