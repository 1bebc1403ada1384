// An OpenCL device for tests, as it is and as others might be.
#pragma once

#include <gtest/gtest.h>

#include "devices/opencl/context.h"

namespace parallax::test {

inline const Device opencl_device{DeviceKind::opencl};

#define PARALLAX_NEEDS_OPENCL()                                                     \
  if (const opencl::Devices devices = opencl::find_devices(); devices.list.empty()) \
  GTEST_SKIP() << devices.none_because

// For as long as it lives.
class Disguised {
 public:
  explicit Disguised(opencl::Disguise disguise) { opencl::disguise_devices(disguise); }
  ~Disguised() { opencl::disguise_devices(nullptr); }
  Disguised(const Disguised&) = delete;
  Disguised& operator=(const Disguised&) = delete;
};

// With memory of its own, and many narrow processors.
inline void as_gpu(opencl::DeviceInfo& info) {
  info.is_processor = false;
  info.shares_memory = false;
}

}  // namespace parallax::test
