#include "devices/devices.h"

namespace parallax {

std::vector<DeviceDescription> list_devices() {
  std::vector<DeviceDescription> devices = describe_cpu();
#ifdef PARALLAX_HAS_CUDA
  for (const DeviceDescription& gpu : describe_gpus()) devices.push_back(gpu);
#endif
  return devices;
}

}  // namespace parallax
