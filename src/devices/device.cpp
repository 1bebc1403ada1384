// SPDX-License-Identifier: Apache-2.0
#include "parallax/device.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "devices/devices.h"

namespace parallax {
namespace {

std::optional<int> integer(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Reads "N", or "P.D" if a platform is wanted; false if the text is neither.
bool read_numbers(std::string_view text, Device& device) {
  if (device.kind == DeviceKind::opencl) {
    const std::size_t dot = text.find('.');
    const auto platform = integer(text.substr(0, dot));
    const auto index = dot == std::string_view::npos ? std::optional<int>(0) : integer(text.substr(dot + 1));
    if (!platform || !index) return false;
    device.platform = *platform;
    device.index = *index;
    return true;
  }
  const auto index = integer(text);
  if (device.kind != DeviceKind::cuda || !index) return false;
  device.index = *index;
  return true;
}

// A GPU is an order of magnitude faster than the processors it comes with.
Device fastest() {
#ifdef PARALLAX_HAS_CUDA
  const std::vector<DeviceDescription> gpus = describe_gpus();
  if (!gpus.empty()) return Device::parse(gpus.front().device);
#endif
  return {DeviceKind::cpu};
}

void add_once(const Device& device, std::vector<Device>& devices) {
  const auto same = [&](const Device& other) { return other.text() == device.text(); };
  if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back(device);
}

std::vector<Device> all_gpus() {
  std::vector<Device> gpus;
#ifdef PARALLAX_HAS_CUDA
  for (const DeviceDescription& gpu : describe_gpus()) gpus.push_back(Device::parse(gpu.device));
#endif
  if (gpus.empty())
    throw Error(ErrorCategory::device, "cuda:all finds no GPU on this machine: choose device cpu or auto");
  return gpus;
}

}  // namespace

const char* name(DeviceKind kind) {
  constexpr const char* names[] = {"reference", "cpu", "cuda", "opencl"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(names) ? names[index] : "unknown";
}

Device Device::parse(std::string_view text) {
  if (text == "auto") return fastest();
  const std::size_t colon = text.find(':');
  for (const DeviceKind kind :
       {DeviceKind::reference, DeviceKind::cpu, DeviceKind::cuda, DeviceKind::opencl}) {
    if (text.substr(0, colon) != parallax::name(kind)) continue;
    Device device{kind};
    if (colon == std::string_view::npos || read_numbers(text.substr(colon + 1), device)) return device;
  }
  throw Error(ErrorCategory::argument,
              "device is '" + std::string(text) +
                  "': choose auto, reference, cpu, cuda, cuda:N, opencl, opencl:P or opencl:P.D");
}

std::vector<Device> parse_devices(std::string_view text) {
  std::vector<Device> devices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    if (name == "cuda:all")
      for (const Device& gpu : all_gpus()) add_once(gpu, devices);
    else
      add_once(Device::parse(name), devices);
    begin = end + 1;
  }
  return devices;
}

std::string Device::text() const {
  const std::string kind_name = parallax::name(kind);
  if (kind == DeviceKind::cuda) return kind_name + ":" + std::to_string(index);
  if (kind == DeviceKind::opencl)
    return kind_name + ":" + std::to_string(platform) + "." + std::to_string(index);
  return kind_name;
}

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
