// SPDX-License-Identifier: Apache-2.0
// What each kind of device says of this machine.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
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

// What is remembered of a device is remembered by.
struct DeviceIdentity {
  std::string name;    // empty: there is no such device here
  std::string driver;  // its version; empty on a processor
};
DeviceIdentity identify(const Device& device);
DeviceIdentity identify_cpu(int threads);
#ifdef PARALLAX_HAS_CUDA
DeviceIdentity identify_gpu(int index);
#endif
#ifdef PARALLAX_HAS_OPENCL
DeviceIdentity identify_opencl_device(int platform, int index);
#endif

// What /proc/cpuinfo says of its first processor: its name, for people; and with its model, for virtual
// machines call processors of several generations alike.
struct ProcessorNames {
  std::string name, with_model;
};
ProcessorNames read_processor_names(std::istream& cpuinfo);

// Of the second-level cache of a core, or what most have.
std::size_t second_level_cache_bytes();

}  // namespace parallax
