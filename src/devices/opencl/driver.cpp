// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/driver.h"

#include <memory>

#include <dlfcn.h>

namespace parallax::opencl {
namespace {

struct Close {
  void operator()(void* library) const { dlclose(library); }
};

const Driver* replacement = nullptr;

struct Name {
  cl_int code;
  const char* text;
};
constexpr Name names[] = {
#define PARALLAX_NAME(name) \
  { name, #name }
    PARALLAX_NAME(CL_DEVICE_NOT_FOUND),        PARALLAX_NAME(CL_DEVICE_NOT_AVAILABLE),
    PARALLAX_NAME(CL_COMPILER_NOT_AVAILABLE),  PARALLAX_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    PARALLAX_NAME(CL_OUT_OF_RESOURCES),        PARALLAX_NAME(CL_OUT_OF_HOST_MEMORY),
    PARALLAX_NAME(CL_BUILD_PROGRAM_FAILURE),   PARALLAX_NAME(CL_MAP_FAILURE),
    PARALLAX_NAME(CL_INVALID_VALUE),           PARALLAX_NAME(CL_INVALID_DEVICE),
    PARALLAX_NAME(CL_INVALID_CONTEXT),         PARALLAX_NAME(CL_INVALID_COMMAND_QUEUE),
    PARALLAX_NAME(CL_INVALID_MEM_OBJECT),      PARALLAX_NAME(CL_INVALID_BINARY),
    PARALLAX_NAME(CL_INVALID_BUILD_OPTIONS),   PARALLAX_NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    PARALLAX_NAME(CL_INVALID_KERNEL_NAME),     PARALLAX_NAME(CL_INVALID_KERNEL_ARGS),
    PARALLAX_NAME(CL_INVALID_ARG_INDEX),       PARALLAX_NAME(CL_INVALID_ARG_SIZE),
    PARALLAX_NAME(CL_INVALID_WORK_GROUP_SIZE), PARALLAX_NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    PARALLAX_NAME(CL_INVALID_BUFFER_SIZE),
#undef PARALLAX_NAME
};

}  // namespace

Driver load_driver(const char* library_name) {
  std::unique_ptr<void, Close> library(dlopen(library_name, RTLD_NOW | RTLD_LOCAL));
  if (!library)
    throw Error(
        ErrorCategory::device,
        std::string("no OpenCL on this machine (") + library_name +
            "): install the loader (Debian: ocl-icd-libopencl1) and a driver for your device, or choose "
            "device cpu");
  Driver loaded;
  std::string missing;
#define PARALLAX_FIND(name)                                                           \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(dlsym(library.get(), #name)); \
  if (loaded.name == nullptr) missing = #name;
  PARALLAX_OPENCL_FUNCTIONS(PARALLAX_FIND)
#undef PARALLAX_FIND
  if (!missing.empty())
    throw Error(ErrorCategory::device, std::string(library_name) + " is older than OpenCL 1.2 (it lacks " +
                                           missing + "): update it, or choose device cpu");
  // The library stays loaded until the process ends, because memory is released through it until then.
  library.release();
  return loaded;
}

const Driver& driver() {
  if (replacement != nullptr) return *replacement;
  static const Driver loaded = load_driver("libOpenCL.so.1");
  return loaded;
}

void replace_driver(const Driver* other) {
  replacement = other;
}

std::string describe(cl_int result) {
  for (const Name& name : names)
    if (name.code == result) return name.text;
  return "error " + std::to_string(result);
}

void check(cl_int result, std::string_view call) {
  if (result == CL_SUCCESS) return;
  const std::string message = "OpenCL: " + std::string(call) + " failed: " + describe(result);
  if (result == CL_MEM_OBJECT_ALLOCATION_FAILURE || result == CL_OUT_OF_HOST_MEMORY)
    throw Error(ErrorCategory::memory,
                message + ": free memory of the device, search fewer disparities or match a smaller image",
                true);
  throw Error(ErrorCategory::device, message + ": if it happens again, choose another device, and report it",
              true);
}

}  // namespace parallax::opencl
