// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/context.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "devices/devices.h"

namespace parallax::opencl {
namespace {

template <class T>
T ask(cl_device_id device, cl_device_info what) {
  T value{};
  check(driver().clGetDeviceInfo(device, what, sizeof value, &value, nullptr),
        "clGetDeviceInfo " + std::to_string(what));
  return value;
}

// The text without its terminating zero.
template <class Get, class Object>
std::string ask_text(Get get, const char* call, Object object, cl_uint what) {
  std::size_t bytes = 0;
  check(get(object, what, 0, nullptr, &bytes), call);
  std::string text(bytes, '\0');
  check(get(object, what, bytes, text.data(), nullptr), call);
  return text.c_str();
}

std::string device_text(cl_device_id device, cl_device_info what) {
  return ask_text(driver().clGetDeviceInfo, "clGetDeviceInfo", device, what);
}

Disguise current_disguise = nullptr;

// Empty if there is none, which loaders report as an error.
std::vector<cl_platform_id> platforms() {
  constexpr cl_int no_platform = -1001;
  cl_uint count = 0;
  const cl_int result = driver().clGetPlatformIDs(0, nullptr, &count);
  if (result == no_platform || (result == CL_SUCCESS && count == 0)) return {};
  check(result, "clGetPlatformIDs");
  std::vector<cl_platform_id> found(count);
  check(driver().clGetPlatformIDs(count, found.data(), nullptr), "clGetPlatformIDs");
  return found;
}

std::vector<cl_device_id> devices_of(cl_platform_id platform) {
  cl_uint count = 0;
  const cl_int result = driver().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (result == CL_DEVICE_NOT_FOUND || (result == CL_SUCCESS && count == 0)) return {};
  check(result, "clGetDeviceIDs");
  std::vector<cl_device_id> found(count);
  check(driver().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, found.data(), nullptr),
        "clGetDeviceIDs");
  return found;
}

// Also zero for drivers that may not know the instructions that kernels use for compute capability 9.0.
int nvidia_capability(const DeviceInfo& info, const std::string& extensions) {
  constexpr int oldest_driver = 525;
  if (info.platform_name != "NVIDIA CUDA" ||
      extensions.find("cl_nv_device_attribute_query") == std::string::npos ||
      std::atoi(info.driver_version.c_str()) < oldest_driver)
    return 0;
  return static_cast<int>(10 * ask<cl_uint>(info.id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV) +
                          ask<cl_uint>(info.id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
}

// Whether the list, whose names are separated by spaces, has the extension.
bool has(const std::string& extensions, const std::string& extension) {
  return (" " + extensions + " ").find(" " + extension + " ") != std::string::npos;
}

// OpenCL 1.2 requires most of this from every device; the embedded profile leaves some out.
std::string lacking(cl_device_id device, const std::string& extensions) {
  const bool is_processor = (ask<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  if (!is_processor && ask<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE) < least_group_items)
    return "work groups of " + std::to_string(least_group_items) + " work items";
  for (const char* needed : {"cl_khr_byte_addressable_store", "cl_khr_global_int32_base_atomics",
                             "cl_khr_global_int32_extended_atomics", "cl_khr_local_int32_base_atomics",
                             "cl_khr_local_int32_extended_atomics"})
    if (!has(extensions, needed)) return needed;
  if (device_text(device, CL_DEVICE_PROFILE) == "EMBEDDED_PROFILE" && !has(extensions, "cles_khr_int64"))
    return "cles_khr_int64";
  const auto floats = ask<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG);
  if ((floats & CL_FP_ROUND_TO_NEAREST) == 0) return "floats rounded to the nearest";
  if ((floats & CL_FP_INF_NAN) == 0) return "infinite floats";
  return "";
}

// The limits of work groups, and of the memory that a group shares.
void add_limits(DeviceInfo& info) {
  constexpr std::size_t most_useful_items = 256;
  info.group_items = std::min(most_useful_items, ask<std::size_t>(info.id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  info.has_local_memory = ask<cl_device_local_mem_type>(info.id, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
  info.local_bytes = ask<cl_ulong>(info.id, CL_DEVICE_LOCAL_MEM_SIZE);
  info.float_lanes = static_cast<int>(ask<cl_uint>(info.id, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT));
}

DeviceInfo info_of(cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.platform = platform;
  info.id = device;
  info.platform_name = ask_text(driver().clGetPlatformInfo, "clGetPlatformInfo", platform, CL_PLATFORM_NAME);
  info.name = device_text(device, CL_DEVICE_NAME);
  info.version = device_text(device, CL_DEVICE_VERSION);
  info.driver_version = device_text(device, CL_DRIVER_VERSION);
  info.is_processor = (ask<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  info.shares_memory = ask<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  const std::string extensions = device_text(device, CL_DEVICE_EXTENSIONS);
  info.has_doubles = has(extensions, "cl_khr_fp64");
  info.lacks = lacking(device, extensions);
  add_limits(info);
  info.divides_correctly = (ask<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG) &
                            CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  info.compute_units = ask<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.nvidia_capability = nvidia_capability(info, extensions);
  info.memory_bytes = ask<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.largest_buffer_bytes = ask<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  if (current_disguise != nullptr) current_disguise(info);
  return info;
}

// The devices, as the error message lists them.
std::string list_text(const std::vector<DeviceInfo>& devices) {
  std::ostringstream text;
  for (const DeviceInfo& device : devices)
    text << (&device == &devices.front() ? "" : ", ") << device.text << " (" << device.name << ")";
  return text.str();
}

std::vector<DeviceInfo> all_devices() {
  std::vector<DeviceInfo> found;
  const std::vector<cl_platform_id> all = platforms();
  for (std::size_t platform = 0; platform < all.size(); ++platform) {
    const std::vector<cl_device_id> devices = devices_of(all[platform]);
    for (std::size_t index = 0; index < devices.size(); ++index) {
      found.push_back(info_of(all[platform], devices[index]));
      found.back().text =
          Device{DeviceKind::opencl, static_cast<int>(platform), static_cast<int>(index)}.text();
    }
  }
  return found;
}

constexpr const char* no_device =
    "OpenCL finds no device on this machine: install a driver for your device (pocl-opencl-icd for the "
    "processor), or choose device cpu";

DeviceInfo find_device(int platform, int index) {
  const std::vector<DeviceInfo> devices = all_devices();
  if (devices.empty()) throw Error(ErrorCategory::device, no_device);
  const std::string wanted = Device{DeviceKind::opencl, platform, index}.text();
  for (const DeviceInfo& device : devices)
    if (device.text == wanted) return device;
  throw Error(ErrorCategory::device, "no device " + wanted + ": choose one of " + list_text(devices));
}

// The version text is "OpenCL 1.2 …".
void check_version(const DeviceInfo& info) {
  int major = 0, minor = 0;
  if (std::sscanf(info.version.c_str(), "OpenCL %d.%d", &major, &minor) == 2 && 10 * major + minor >= 12)
    return;
  throw Error(ErrorCategory::device, info.text + " supports " + info.version +
                                         ": choose a device of OpenCL 1.2 or later, or device cpu");
}

void check_features(const DeviceInfo& info) {
  if (!info.lacks.empty())
    throw Error(ErrorCategory::device, info.title() + " lacks " + info.lacks +
                                           ", which all kernels need: choose another device, or device cpu");
}

// Why a device's compiler cannot be used; empty if it can. The one of PoCL 5.0 ends the process on kernels
// shaped for a GPU (Kernel.cc: region_entry_barrier != NULL). The one of 6.0 ends it on kernels of any shape
// (ParallelRegion.cc: exit != NULL), and some that it compiles give wrong results.
std::string fault_of_compiler(const DeviceInfo& info) {
  if (info.platform_name != "Portable Computing Language") return "";
  if (info.driver_version.starts_with("5.0") && !info.is_processor)
    return info.text +
           " uses PoCL 5.0, whose compiler fails on kernels for GPUs: use another version of PoCL, or the "
           "vendor's driver";
  if (info.driver_version.starts_with("6.0"))
    return info.text +
           " uses PoCL 6.0, whose compiler fails on some kernels: use another version of PoCL, the vendor's "
           "driver, or device cpu";
  return "";
}

void check_compiler(const DeviceInfo& info) {
  if (const std::string fault = fault_of_compiler(info); !fault.empty())
    throw Error(ErrorCategory::device, fault);
}

}  // namespace

Devices find_devices() {
  Devices found;
  try {
    found.none_because = no_device;
    for (const DeviceInfo& device : all_devices()) {
      const std::string fault = fault_of_compiler(device);
      if (fault.empty())
        found.list.push_back(device);
      else
        found.none_because = fault;
    }
  } catch (const Error& error) {
    found.none_because = error.what();
  }
  return found;
}

void disguise_devices(Disguise disguise) {
  current_disguise = disguise;
}

Context::Context(int platform, int index) : info_(find_device(platform, index)) {
  check_version(info_);
  check_features(info_);
  check_compiler(info_);
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(info_.platform), 0};
  cl_int result = CL_SUCCESS;
  handle_ = {driver().clCreateContext(properties, 1, &info_.id, nullptr, nullptr, &result),
             driver().clReleaseContext};
  check(result, "clCreateContext");
}

cl_mem_flags device_memory(const Context& context) {
  return context.info().shares_memory ? CL_MEM_ALLOC_HOST_PTR : 0;
}

Memory allocate(const Context& context, std::size_t bytes, cl_mem_flags flags) {
  cl_int result = CL_SUCCESS;
  Memory memory(driver().clCreateBuffer(context.handle(), flags, bytes, nullptr, &result),
                driver().clReleaseMemObject);
  check(result, "clCreateBuffer of " + std::to_string(bytes) + " bytes on " + context.info().title());
  return memory;
}

Queue::Queue(const Context& context)
    : measures_(context.info().is_processor),
      shares_memory_(context.info().shares_memory),
      device_(context.info().title()) {
  const cl_command_queue_properties properties = measures_ ? CL_QUEUE_PROFILING_ENABLE : 0;
  cl_int result = CL_SUCCESS;
  handle_ = {driver().clCreateCommandQueue(context.handle(), context.info().id, properties, &result),
             driver().clReleaseCommandQueue};
  check(result, "clCreateCommandQueue");
  stages_.reserve(detail::Plan::max_stages);
}

void Queue::check(cl_int result, const std::string& call) const {
  if (result != CL_SUCCESS) opencl::check(result, call + " on " + device_);
}

void Queue::start_stages() {
  stages_.clear();
  finish_stage("");
}

void Queue::finish_stage(const char* stage) {
  if (!measures_) return;
  cl_event event = nullptr;
  check(driver().clEnqueueMarkerWithWaitList(handle(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  stages_.push_back({stage, {event, driver().clReleaseEvent}});
}

void Queue::add_stage_times(std::vector<StageTime>& times) const {
  cl_ulong before = 0;
  for (const Stage& stage : stages_) {
    cl_ulong end = 0;
    check(driver().clGetEventProfilingInfo(stage.end.get(), CL_PROFILING_COMMAND_END, sizeof end, &end,
                                           nullptr),
          "clGetEventProfilingInfo");
    if (&stage != &stages_.front()) times.push_back({stage.name, static_cast<double>(end - before) * 1e-6});
    before = end;
  }
}

void Queue::wait() const {
  check(driver().clFinish(handle()), "clFinish");
}

std::byte* map(const Queue& queue, cl_mem memory, cl_map_flags flags, std::size_t from, std::size_t bytes) {
  cl_int result = CL_SUCCESS;
  void* mapped = driver().clEnqueueMapBuffer(queue.handle(), memory, CL_TRUE, flags, from, bytes, 0, nullptr,
                                             nullptr, &result);
  if (result != CL_SUCCESS) queue.check(result, "clEnqueueMapBuffer of " + std::to_string(bytes) + " bytes");
  return static_cast<std::byte*>(mapped);
}

void unmap(const Queue& queue, cl_mem memory, void* mapped) {
  queue.check(driver().clEnqueueUnmapMemObject(queue.handle(), memory, mapped, 0, nullptr, nullptr),
              "clEnqueueUnmapMemObject");
}

void write(const Queue& queue, cl_mem memory, cl_long to, std::size_t bytes, const void* from) {
  if (bytes == 0) return;
  if (queue.shares_memory()) {
    std::byte* mapped =
        map(queue, memory, CL_MAP_WRITE_INVALIDATE_REGION, static_cast<std::size_t>(to), bytes);
    std::memcpy(mapped, from, bytes);
    return unmap(queue, memory, mapped);
  }
  check(driver().clEnqueueWriteBuffer(queue.handle(), memory, CL_TRUE, static_cast<std::size_t>(to), bytes,
                                      from, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer of " + std::to_string(bytes) + " bytes");
}

}  // namespace parallax::opencl

namespace parallax {

std::vector<DeviceDescription> describe_opencl_devices() {
  std::vector<DeviceDescription> descriptions;
  for (const opencl::DeviceInfo& device : opencl::find_devices().list) {
    std::ostringstream text;
    text << device.name << ", " << (device.memory_bytes >> 20) << " MiB, " << device.compute_units
         << (device.compute_units == 1 ? " compute unit, " : " compute units, ") << device.platform_name
         << " " << device.driver_version;
    descriptions.push_back({device.text, text.str()});
  }
  return descriptions;
}

DeviceIdentity identify_opencl_device(int platform, int index) {
  const Device wanted{DeviceKind::opencl, platform, index};
  for (const opencl::DeviceInfo& device : opencl::find_devices().list)
    if (device.text == wanted.text())
      return {device.name, device.platform_name + " " + device.driver_version};
  return {};
}

}  // namespace parallax
