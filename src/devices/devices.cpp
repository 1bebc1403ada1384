// SPDX-License-Identifier: Apache-2.0
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

DeviceIdentity identify(const Device& device) {
  switch (device.kind) {
    case DeviceKind::cpu:
      return identify_cpu(device.threads);
#ifdef PARALLAX_HAS_CUDA
    case DeviceKind::cuda:
      return identify_gpu(device.index);
#endif
#ifdef PARALLAX_HAS_OPENCL
    case DeviceKind::opencl:
      return identify_opencl_device(device.platform, device.index);
#endif
    default:
      return {};
  }
}

}  // namespace parallax
