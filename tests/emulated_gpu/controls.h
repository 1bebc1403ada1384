// SPDX-License-Identifier: Apache-2.0
// The functions of the emulated driver and compiler that real ones lack: tests control the emulation with
// them.
#pragma once

#include <cstddef>

#include <dlfcn.h>

namespace emulated {

// library, result, name, arguments
#define EMULATED_CONTROLS(X)                                                  \
  X("libcuda.so.1", void, fail_call, (const char* name, int nth, int result)) \
  X("libcuda.so.1", void, lose_device, (int device))                          \
  X("libcuda.so.1", std::size_t, live_objects, ())                            \
  X("libcuda.so.1", int, calls, ())                                           \
  X("libcuda.so.1", int, calls_of, (const char* name))                        \
  X("libcuda.so.1", int, allocations, ())                                     \
  X("libcuda.so.1", int, synchronisations, ())                                \
  X("libcuda.so.1", void, set_driver_version, (int version))                  \
  X("libcuda.so.1", void, set_memory, (std::size_t bytes))                    \
  X("libcuda.so.1", void, set_device_count, (int count))                      \
  X("libcuda.so.1", void, set_architecture, (int architecture))               \
  X("libcuda.so.1", void, set_managed_memory, (int has_managed_memory))       \
  X("libcuda.so.1", void, set_lazy, (int is_lazy))                            \
  X("libcuda.so.1", void, set_last_first, (int last_first))                   \
  X("libnvrtc.so.13", int, compilations, ())                                  \
  X("libnvrtc.so.13", const char*, compilation, (int index))

// All controls are there, or all are null, if the GPU is a real one.
struct Controls {
#define EMULATED_DECLARE(library, result, name, arguments) result(*name) arguments = nullptr;
  EMULATED_CONTROLS(EMULATED_DECLARE)
#undef EMULATED_DECLARE
};

inline Controls find_controls() {
  Controls found;
#define EMULATED_FIND(library, result, name, arguments) \
  if (void* const loaded = dlopen(library, RTLD_NOW))   \
    found.name = reinterpret_cast<decltype(found.name)>(dlsym(loaded, "emulated_" #name));
  EMULATED_CONTROLS(EMULATED_FIND)
#undef EMULATED_FIND
  return found;
}

}  // namespace emulated
