// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a matcher runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parallax/error.h"

#pragma GCC visibility push(default)
namespace parallax {

enum class DeviceKind {
  reference,  ///< the scalar, single-threaded specification of each matcher
  cpu,        ///< all cores, the widest vectors of the machine
  cuda,       ///< an NVIDIA GPU
  opencl,     ///< an OpenCL device
};

/// Name of a kind, as the command line spells it.
const char* name(DeviceKind kind);

/// Names a device; holds no resources.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int platform = 0;  ///< OpenCL platform number
  int index = 0;     ///< GPU number, or OpenCL device number in its platform
  int threads = 0;   ///< CPU threads; 0 = one for each core this process may use. Never changes a result

  /// Reads "auto", "reference", "cpu", "cuda", "cuda:N", "opencl", "opencl:P" or "opencl:P.D".
  /// "auto" is the fastest device of this machine that every matcher of this build runs on.
  /// \throws Error (argument) when the text is none of these.
  static Device parse(std::string_view text);

  /// The text that parse() reads back.
  std::string text() const;
};

/// A device of this machine, for people.
struct DeviceDescription {
  std::string device;  ///< text for Device::parse
  /// Name; threads and vector instructions of a processor, memory, architecture and driver of a GPU.
  std::string description;
};

/// Every device that this build can use on this machine.
std::vector<DeviceDescription> list_devices();

/// The vector instruction sets that this build and this machine share, best first, by Highway's names
/// ("AVX3").
std::vector<std::string> cpu_targets();

/// The one of them that the cpu device uses now.
std::string active_cpu_target();

/// Restricts the cpu device to one of cpu_targets(); an empty name lifts the restriction. For tests and
/// measurements; concerns the whole process and must not be called while a matcher runs. The result of a
/// match never depends on it. \throws Error (argument) for a name that cpu_targets() does not list.
void force_cpu_target(std::string_view target);

}  // namespace parallax
#pragma GCC visibility pop
