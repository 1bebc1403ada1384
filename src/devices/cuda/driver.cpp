// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/driver.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <dlfcn.h>

namespace parallax::cuda {
namespace {

// CUDA 12 is the first to launch run-time compiled programs from graphs.
constexpr int oldest_driver = 12000;
constexpr int oldest_compiler = 12, newest_compiler = 13;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCategory::device, message);
}

struct Close {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

Library open(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(library);
  return nullptr;
}

template <class Function>
void find(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library.get(), name));
}

std::string describe(Result result, const Driver& driver) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  return std::string(name != nullptr ? name : "error") + " (" +
         (text != nullptr ? text : std::to_string(result)) + ")";
}

// Libraries stay loaded until the process ends, because memory is freed through them until then.
Driver load_driver() {
  Library library = open({"libcuda.so.1"});
  if (!library)
    fail("no CUDA driver on this machine (libcuda.so.1): install NVIDIA's driver, or choose device cpu");
  Driver loaded;
  std::string missing;
#define PARALLAX_FIND(name, arguments) \
  find(library, #name, loaded.name);   \
  if (loaded.name == nullptr) missing = #name;
  PARALLAX_DRIVER_FUNCTIONS(PARALLAX_FIND)
#undef PARALLAX_FIND
  if (loaded.cuDriverGetVersion == nullptr || loaded.cuDriverGetVersion(&loaded.version) != 0)
    loaded.version = 0;
  if (loaded.version < oldest_driver || !missing.empty())
    fail("the CUDA driver is too old (it supports CUDA " + version_text(loaded.version) +
         (missing.empty() ? "" : " and lacks " + missing) + "): update it to one for CUDA " +
         version_text(oldest_driver) + " or later, or choose device cpu");
  const Result result = loaded.cuInit(0);
  if (result != 0)
    fail("the CUDA driver does not start: " + describe(result, loaded) +
         ": check that nvidia-smi lists a GPU, or choose device cpu");
  library.release();
  return loaded;
}

Compiler load_compiler(int driver_version) {
  std::string too_new;
  for (int major = newest_compiler; major >= oldest_compiler; --major) {
    const std::string name = "libnvrtc.so." + std::to_string(major);
    Library library = open({name, "/usr/local/cuda/lib64/" + name, "/usr/local/cuda/lib/" + name});
    if (!library) continue;
    if (major > driver_version / 1000) {
      too_new = name;
      continue;
    }
    Compiler loaded;
    bool complete = true;
#define PARALLAX_FIND(name, arguments) \
  find(library, #name, loaded.name);   \
  complete = complete && loaded.name != nullptr;
    PARALLAX_COMPILER_FUNCTIONS(PARALLAX_FIND)
#undef PARALLAX_FIND
    if (!complete || loaded.nvrtcVersion(&loaded.major, &loaded.minor) != 0) continue;
    library.release();
    return loaded;
  }
  const std::string wanted =
      "libnvrtc.so." + std::to_string(std::min(newest_compiler, driver_version / 1000));
  fail((too_new.empty()
            ? "CUDA's run-time compiler is not installed"
            : too_new + " is newer than the driver, which supports CUDA " + version_text(driver_version)) +
       ": install " + wanted + " (NVIDIA's package cuda-nvrtc), or put its folder on LD_LIBRARY_PATH");
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

const Compiler& compiler(int driver_version) {
  static const Compiler loaded = load_compiler(driver_version);
  return loaded;
}

void check(Result result, std::string_view call) {
  if (result == 0) return;
  const std::string message = "CUDA: " + std::string(call) + " failed: " + describe(result, driver());
  if (result == out_of_memory)
    throw Error(ErrorCategory::memory,
                message +
                    ": free GPU memory (nvidia-smi shows what uses it), search "
                    "fewer disparities or match a smaller image",
                true);
  throw Error(ErrorCategory::device, message + ": if it happens again, run it under compute-sanitizer", true);
}

}  // namespace parallax::cuda
