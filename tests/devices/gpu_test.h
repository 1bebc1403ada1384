// SPDX-License-Identifier: Apache-2.0
// What tests of the cuda device share: a GPU, which may be the emulated one, and what that one can be told.
#pragma once

#include <cstddef>
#include <optional>

#include <dlfcn.h>

#include "devices/cuda/context.h"
#include "devices/device_test.h"

namespace parallax::test {

// The functions of tests/emulated_gpu that no real driver or compiler has.
struct Emulated {
  void (*fail_call)(const char* name, int nth, int result);
  std::size_t (*live_objects)();
  int (*calls)();
  int (*calls_of)(const char* name);
  int (*allocations)();
  int (*synchronisations)();
  void (*set_memory)(std::size_t bytes);
  void (*set_device_count)(int count);
  void (*set_architecture)(int architecture);
  void (*set_lazy)(int is_lazy);
  int (*compilations)();
  const char* (*compilation)(int index);
};

template <class Function>
bool find_emulated(const char* library, const char* name, Function& function) {
  void* loaded = dlopen(library, RTLD_NOW);
  function = loaded == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(loaded, name));
  return function != nullptr;
}

inline std::optional<Emulated> find_emulated() {
  Emulated e;
  const auto find = [](const char* name, auto& function) {
    return find_emulated("libcuda.so.1", name, function);
  };
  const bool complete =
      find("emulated_fail_call", e.fail_call) && find("emulated_live_objects", e.live_objects) &&
      find("emulated_calls", e.calls) && find("emulated_calls_of", e.calls_of) &&
      find("emulated_allocations", e.allocations) && find("emulated_synchronisations", e.synchronisations) &&
      find("emulated_set_memory", e.set_memory) && find("emulated_set_device_count", e.set_device_count) &&
      find("emulated_set_architecture", e.set_architecture) && find("emulated_set_lazy", e.set_lazy) &&
      find_emulated("libnvrtc.so.13", "emulated_compilations", e.compilations) &&
      find_emulated("libnvrtc.so.13", "emulated_compilation", e.compilation);
  return complete ? std::optional(e) : std::nullopt;
}

// Null where the GPU is a real one, or there is none.
inline const Emulated* emulated() {
  static const std::optional<Emulated> found = find_emulated();
  return found ? &*found : nullptr;
}

#define PARALLAX_NEEDS_EMULATED_GPU() \
  if (emulated() == nullptr) GTEST_SKIP() << "needs the emulated GPU: see tests/emulated_gpu/README.md"

// Whatever the emulated GPU is told, it is told for one test.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const cuda::Gpus gpus = cuda::find_gpus();
    if (gpus.list.empty()) GTEST_SKIP() << "no GPU: " << gpus.none_because;
    count_ = static_cast<int>(gpus.list.size());
    first_ = gpus.list.front();
  }

  void TearDown() override {
    if (emulated() == nullptr || count_ == 0) return;
    emulated()->set_lazy(0);
    emulated()->set_device_count(count_);
    emulated()->set_architecture(first_.architecture);
    emulated()->set_memory(first_.memory_bytes);
  }

  bool has_second_gpu() const { return count_ > 1; }

 private:
  int count_ = 0;
  cuda::Gpu first_;
};

inline Device gpu(int index = 0) {
  Device device{DeviceKind::cuda};
  device.index = index;
  return device;
}

// Small, and with every step that a match can have.
inline BeliefPropagationParameters small_belief_propagation(Arithmetic arithmetic = Arithmetic::fixed8) {
  BeliefPropagationParameters parameters;
  parameters.disparities = 5;
  parameters.levels = 2;
  parameters.iterations = 2;
  parameters.arithmetic = arithmetic;
  parameters.refine.speckle_size = 3;
  return parameters;
}

}  // namespace parallax::test
