// SPDX-License-Identifier: Apache-2.0
/// \file
/// Devices on which matchers run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parallax/error.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Kinds of device. A matcher has at most one backend for each.
enum class DeviceKind {
  reference,  ///< the scalar, single-threaded specification of each matcher
  cpu,        ///< all cores, with the widest vectors of the machine
  cuda,       ///< an NVIDIA GPU
  opencl,     ///< an OpenCL device
};

/// The name of a kind, as the command line spells it.
const char* name(DeviceKind kind);

/// Identifies a device; holds no resources.
struct Device {
  DeviceKind kind = DeviceKind::cpu;  ///< selects the backend of a matcher
  int platform = 0;                   ///< OpenCL platform number
  int index = 0;                      ///< GPU number, or OpenCL device number within its platform
  int threads = 0;  ///< most CPU threads; 0 = available_threads() of process.h; never changes a result

  /// Parses "auto", "reference", "cpu", "cuda", "cuda:N", "opencl", "opencl:P" or "opencl:P.D".
  /// "auto" is the fastest device of this machine on which every matcher of this build runs.
  /// \throws Error (argument) when the text is none of these.
  static Device parse(std::string_view text);

  /// The text from which parse() gives this device again, without its threads.
  std::string text() const;
};

/// Parses one or several devices, separated by commas, such as "cuda:0,cuda:2" or "cuda:all,cpu". "cuda:all"
/// stands for every NVIDIA GPU of this machine. A device that is named twice counts once.
/// \throws Error (argument) for a name that Device::parse() does not accept, (device) for "cuda:all" on a
/// machine without a GPU.
std::vector<Device> parse_devices(std::string_view text);

/// A readable description of a device of this machine.
struct DeviceDescription {
  std::string device;  ///< text for Device::parse
  /// Its name; for a processor also threads and vector instructions, for a GPU memory, architecture and
  /// driver.
  std::string description;
};

/// Lists every device that this build can use on this machine.
std::vector<DeviceDescription> list_devices();

/// Lists the vector instruction sets that both this build and this machine support, best first, by Highway's
/// names ("AVX3").
std::vector<std::string> cpu_targets();

/// The vector instruction set that the cpu device uses now; force_cpu_target() chooses another one.
std::string active_cpu_target();

}  // namespace parallax
#pragma GCC visibility pop
