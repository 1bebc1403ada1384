// SPDX-License-Identifier: Apache-2.0
// The access of a kernel to the machine that runs it, and the call of the kernel by the machine.
#pragma once

#include "interface.h"

using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));

extern "C" {
__attribute__((visibility("default"))) const emulated::Machine* emulated_machine = nullptr;
// Marks the memory of all __shared__ variables. Aligned, because the leak sanitizer misinterprets data that
// lies 16 bytes after the start of a page.
__attribute__((visibility("default"), aligned(128))) thread_local char emulated_shared_begin;
}

namespace emulated {

inline const Machine& machine() {
  return *emulated_machine;
}

inline void* dynamic_shared() {
  return machine().dynamic_shared;
}

inline void require(bool condition, const char* reason) {
  if (!condition) machine().trap(reason);
}

template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <unsigned... indices>
struct Indices {};
template <unsigned count, unsigned... indices>
struct CountTo : CountTo<count - 1, count - 1, indices...> {};
template <unsigned... indices>
struct CountTo<0, indices...> : Indices<indices...> {};

template <auto kernel>
struct Describe;

template <class... Arguments, void (*kernel)(Arguments...)>
struct Describe<kernel> {
  static constexpr unsigned long bytes[] = {sizeof(Arguments)..., 0};

  template <unsigned... indices>
  static void call_with(void** arguments, Indices<indices...>) {
    kernel(*static_cast<Arguments*>(arguments[indices])...);
  }
  static void call(void** arguments) { call_with(arguments, CountTo<sizeof...(Arguments)>()); }
};

template <auto kernel>
constexpr Kernel describe(unsigned max_threads_a_block = 1024, unsigned = 0, unsigned = 0) {
  return {Describe<kernel>::call, Describe<kernel>::bytes,
          sizeof Describe<kernel>::bytes / sizeof(unsigned long) - 1, max_threads_a_block};
}

// nvrtc.cpp translates kernel<<<grid, block>>>(…) in a kernel into this.
template <auto kernel>
struct ChildLaunch;

template <class... Arguments, void (*kernel)(Arguments...)>
struct ChildLaunch<kernel> {
  Index grid, block;
  void operator()(Arguments... arguments) const {
    static constexpr Kernel described = describe<kernel>();
    void* pointers[] = {&arguments..., nullptr};
    machine().launch(described, grid, block, pointers);
  }
};

inline Index extent(unsigned x) {
  return {x, 1, 1};
}
inline Index extent(Index index) {
  return index;
}

}  // namespace emulated
