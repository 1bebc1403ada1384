// SPDX-License-Identifier: Apache-2.0
// PoCL disguised as a small OpenCL device: it reports that device's properties, and refuses what that device
// would refuse. docs/howto/opencl.md says which properties are published and which are assumed. Sub-buffers
// and images cannot be asked for: the library does not load their functions.
#pragma once

#include <cstddef>
#include <string>

#include "devices/opencl/driver.h"

namespace parallax::test {

struct SmallDevice {
  std::string name, version, extensions;
  std::string profile = "FULL_PROFILE";
  cl_device_fp_config floats = CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN;
  std::size_t group_items = 256;
  // The limit of a kernel that needs many registers; here, of every kernel.
  std::size_t kernel_items = 256;
  std::size_t argument_bytes = 1024;
  cl_ulong local_bytes = 32768;
  cl_device_local_mem_type local_memory = CL_GLOBAL;
  cl_uint float_lanes = 4;
  cl_ulong largest_buffer_bytes = cl_ulong{1} << 28;

  // Where it does not keep what it reports: the work items that it launches, and the results of builds.
  std::size_t launched_items = 1 << 20;
  cl_int build_result = CL_SUCCESS;

  bool has(const std::string& extension) const;
};

SmallDevice mali_t604();
SmallDevice mali_g610();
SmallDevice adreno();
SmallDevice intel_gpu();

// What the library called.
struct OpenclCalls {
  int writes = 0, reads = 0, maps = 0, unmaps = 0, launches = 0;
};

// All OpenCL devices are disguised until the end of its scope, after the objects made in it.
class DisguisedAs {
 public:
  explicit DisguisedAs(const SmallDevice& device);
  ~DisguisedAs();
  DisguisedAs(const DisguisedAs&) = delete;
  DisguisedAs& operator=(const DisguisedAs&) = delete;
  // The calls from now on are counted anew.
  static OpenclCalls& calls();
};

}  // namespace parallax::test
