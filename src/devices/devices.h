// SPDX-License-Identifier: Apache-2.0
// The properties of this machine that each kind of device reports.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The key under which tuning results of a device are stored.
struct DeviceIdentity {
  std::string name;    // empty = there is no such device here
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

// The first processor's name in /proc/cpuinfo, for people; and the name with its model number, because
// virtual machines give processors of several generations one name.
struct ProcessorNames {
  std::string name, with_model;
};
ProcessorNames read_processor_names(std::istream& cpuinfo);

// The vector instructions, by Highway's name, that a build for a single kind of processor needs; empty if a
// processor with these Highway targets has them, or if the build runs on every processor.
std::string lacking_vectors(std::int64_t processor_targets);
// Refuses a processor that lacks them.
void require_vectors();

// The size of a core's second-level cache, or a typical size if it is unknown.
std::size_t second_level_cache_bytes();

}  // namespace parallax
