// What each kind of device says of this machine.
#pragma once

#include <vector>

#include "parallax/device.h"

namespace parallax {

std::vector<DeviceDescription> describe_cpu();
#ifdef PARALLAX_HAS_CUDA
std::vector<DeviceDescription> describe_gpus();
#endif
#ifdef PARALLAX_HAS_OPENCL
std::vector<DeviceDescription> describe_opencl_devices();
#endif

}  // namespace parallax
