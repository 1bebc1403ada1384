// SPDX-License-Identifier: Apache-2.0
// An OpenCL device for tests, with its own properties or those of other devices.
#pragma once

#include <gtest/gtest.h>

#include "devices/opencl/context.h"

namespace parallax::test {

inline const Device opencl_device{DeviceKind::opencl};

#define PARALLAX_NEEDS_OPENCL()                                                     \
  if (const opencl::Devices devices = opencl::find_devices(); devices.list.empty()) \
  GTEST_SKIP() << devices.none_because

// Disguises devices until the end of its scope.
class Disguised {
 public:
  explicit Disguised(opencl::Disguise disguise) { opencl::disguise_devices(disguise); }
  ~Disguised() { opencl::disguise_devices(nullptr); }
  Disguised(const Disguised&) = delete;
  Disguised& operator=(const Disguised&) = delete;
};

// A device with its own memory, with local memory and without vectors, as a GPU of a desktop.
inline void as_gpu(opencl::DeviceInfo& info) {
  info.is_processor = false;
  info.shares_memory = false;
  info.has_local_memory = true;
  info.float_lanes = 1;
}

// The reason why kernels for GPUs cannot be tested here; empty if they can.
inline std::string why_no_gpu_kernels() {
  const Disguised disguised(as_gpu);
  try {
    const opencl::Context context(opencl_device.platform, opencl_device.index);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

#define PARALLAX_NEEDS_GPU_KERNELS() \
  if (const std::string why = why_no_gpu_kernels(); !why.empty()) GTEST_SKIP() << why

}  // namespace parallax::test
