// SPDX-License-Identifier: Apache-2.0
// The fixture for tests of the emulated GPU. They use the interfaces of NVIDIA's driver and compiler, so that
// they also run on a real GPU, where only tests that need emulated::Controls are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "controls.h"
#include "devices/cuda/driver.h"

namespace emulated_test {

using parallax::cuda::Compiler;
using parallax::cuda::CompilerProgram;
using parallax::cuda::ContextHandle;
using parallax::cuda::DeviceAddress;
using parallax::cuda::Driver;
using parallax::cuda::EventHandle;
using parallax::cuda::FunctionHandle;
using parallax::cuda::GraphExecHandle;
using parallax::cuda::GraphHandle;
using parallax::cuda::LaunchConfiguration;
using parallax::cuda::ModuleHandle;
using parallax::cuda::Result;
using parallax::cuda::StreamHandle;

using emulated::Controls;

struct Libraries {
  Driver driver;
  Compiler compiler;
  Controls controls;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

inline const Libraries& libraries() {
  static const Libraries loaded = [] {
    Libraries found;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* compiler = dlopen("libnvrtc.so.13", RTLD_NOW);
    if (driver == nullptr || compiler == nullptr) throw std::runtime_error(dlerror());
#define EMULATED_FIND(name, arguments) find(driver, #name, found.driver.name);
    PARALLAX_DRIVER_FUNCTIONS(EMULATED_FIND)
#undef EMULATED_FIND
#define EMULATED_FIND(name, arguments) find(compiler, #name, found.compiler.name);
    PARALLAX_COMPILER_FUNCTIONS(EMULATED_FIND)
#undef EMULATED_FIND
    found.controls = emulated::find_controls();
    return found;
  }();
  return loaded;
}

struct Compiled {
  Result result = 0;
  std::string log, code;
};

inline Compiled compile(const std::string& source, std::vector<std::string> options = {},
                        const std::vector<std::pair<std::string, std::string>>& headers = {}) {
  const Compiler& compiler = libraries().compiler;
  options.insert(options.begin(), {"--gpu-architecture=sm_90", "--std=c++17", "--fmad=false"});
  std::vector<const char*> option_texts, names, texts;
  for (const std::string& option : options) option_texts.push_back(option.c_str());
  for (const auto& [name, text] : headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  CompilerProgram program = nullptr;
  EXPECT_EQ(compiler.nvrtcCreateProgram(&program, source.c_str(), "test.cu", static_cast<int>(texts.size()),
                                        texts.data(), names.data()),
            0);
  Compiled compiled;
  compiled.result =
      compiler.nvrtcCompileProgram(program, static_cast<int>(option_texts.size()), option_texts.data());
  std::size_t bytes = 0;
  EXPECT_EQ(compiler.nvrtcGetProgramLogSize(program, &bytes), 0);
  compiled.log.resize(bytes);
  EXPECT_EQ(compiler.nvrtcGetProgramLog(program, compiled.log.data()), 0);
  if (compiled.result == 0) {
    EXPECT_EQ(compiler.nvrtcGetCUBINSize(program, &bytes), 0);
    compiled.code.resize(bytes);
    EXPECT_EQ(compiler.nvrtcGetCUBIN(program, compiled.code.data()), 0);
  }
  EXPECT_EQ(compiler.nvrtcDestroyProgram(&program), 0);
  return compiled;
}

// Threads of a block, blocks of a grid.
struct Shape {
  unsigned x = 1, y = 1, z = 1;
};

// A device, a stream, and the objects that a test loads or allocates; all are released at its end.
class Gpu : public testing::Test {
 protected:
  const Driver& driver = libraries().driver;
  const Controls& controls = libraries().controls;
  ContextHandle context = nullptr;
  StreamHandle stream = nullptr;

  void SetUp() override {
    ASSERT_EQ(driver.cuInit(0), 0);
    if (controls.live_objects != nullptr) live_before_ = controls.live_objects();
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), 0);
    ASSERT_EQ(driver.cuCtxPushCurrent_v2(context), 0);
    constexpr unsigned non_blocking = 1;
    ASSERT_EQ(driver.cuStreamCreate(&stream, non_blocking), 0);
  }

  void TearDown() override {
    for (ModuleHandle module : modules_) driver.cuModuleUnload(module);
    for (DeviceAddress address : allocations_) driver.cuMemFree_v2(address);
    driver.cuStreamDestroy_v2(stream);
    ContextHandle popped = nullptr;
    EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), 0);
    EXPECT_EQ(popped, context);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), 0);
    if (controls.live_objects != nullptr) {
      EXPECT_EQ(controls.live_objects(), live_before_);
    }
  }

  ModuleHandle load(const std::string& source, const std::vector<std::string>& options = {}) {
    const Compiled compiled = compile(source, options);
    EXPECT_EQ(compiled.result, 0) << compiled.log;
    ModuleHandle module = nullptr;
    EXPECT_EQ(driver.cuModuleLoadData(&module, compiled.code.data()), 0);
    modules_.push_back(module);
    return module;
  }

  FunctionHandle kernel(ModuleHandle module, const char* name) {
    FunctionHandle function = nullptr;
    EXPECT_EQ(driver.cuModuleGetFunction(&function, module, name), 0) << name;
    return function;
  }

  FunctionHandle kernel(const char* name, const std::string& source) { return kernel(load(source), name); }

  DeviceAddress allocate(std::size_t bytes) {
    DeviceAddress address = 0;
    EXPECT_EQ(driver.cuMemAlloc_v2(&address, bytes), 0);
    allocations_.push_back(address);
    return address;
  }

  template <class T>
  DeviceAddress upload(const std::vector<T>& values) {
    const DeviceAddress address = allocate(values.size() * sizeof(T));
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, values.data(), values.size() * sizeof(T), stream), 0);
    return address;
  }

  template <class T>
  std::vector<T> download(DeviceAddress address, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(values.data(), address, count * sizeof(T), stream), 0);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), 0);
    return values;
  }

  LaunchConfiguration configuration(Shape grid, Shape block, unsigned shared_bytes = 0) const {
    return {grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, stream, nullptr, 0};
  }

  // All blocks run at once.
  template <class... Arguments>
  Result launch_cooperatively(FunctionHandle function, Shape grid, Shape block, unsigned shared_bytes,
                              Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    parallax::cuda::LaunchAttribute attribute{parallax::cuda::cooperative, 0, {}};
    attribute.value.cooperative = 1;
    LaunchConfiguration with = configuration(grid, block, shared_bytes);
    with.attributes = &attribute;
    with.attribute_count = 1;
    return driver.cuLaunchKernelEx(&with, function, pointers, nullptr);
  }

  template <class... Arguments>
  Result launch(FunctionHandle function, Shape grid, Shape block, unsigned shared_bytes,
                Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    const LaunchConfiguration with = configuration(grid, block, shared_bytes);
    return driver.cuLaunchKernelEx(&with, function, pointers, nullptr);
  }

 private:
  std::size_t live_before_ = 0;
  std::vector<ModuleHandle> modules_;
  std::vector<DeviceAddress> allocations_;
};

template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(generator());
  return values;
}

}  // namespace emulated_test
