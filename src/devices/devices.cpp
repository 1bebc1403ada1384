#include "devices/devices.h"

namespace parallax {

std::vector<DeviceDescription> list_devices() {
  std::vector<DeviceDescription> devices = describe_cpu();
#ifdef PARALLAX_HAS_CUDA
  for (const DeviceDescription& gpu : describe_gpus()) devices.push_back(gpu);
#endif
#ifdef PARALLAX_HAS_OPENCL
  for (const DeviceDescription& device : describe_opencl_devices()) devices.push_back(device);
#endif
  return devices;
}

}  // namespace parallax
