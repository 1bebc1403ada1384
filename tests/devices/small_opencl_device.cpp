// SPDX-License-Identifier: Apache-2.0
#include "devices/small_opencl_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

namespace parallax::test {
namespace {

constexpr const char* required_extensions =
    "cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics";

// The device in whose place the driver answers, and what is known of its objects.
struct Disguise {
  SmallDevice device;
  opencl::Driver real, disguised;
  OpenclCalls calls;
  std::set<cl_mem> buffers;
  std::map<cl_mem, int> mapped;
  std::map<cl_kernel, std::map<cl_uint, std::size_t>> argument_bytes;
  std::map<cl_kernel, std::map<cl_uint, cl_mem>> buffers_of;
};
Disguise now;

cl_int give(const void* value, std::size_t bytes, std::size_t room, void* to, std::size_t* needed) {
  if (needed != nullptr) *needed = bytes;
  if (to == nullptr) return CL_SUCCESS;
  if (room < bytes) return CL_INVALID_VALUE;
  std::memcpy(to, value, bytes);
  return CL_SUCCESS;
}

cl_int get_device_info(cl_device_id id, cl_device_info what, std::size_t room, void* to,
                       std::size_t* needed) {
  const SmallDevice& device = now.device;
  const auto value = [&](auto one) { return give(&one, sizeof one, room, to, needed); };
  const auto text = [&](const std::string& one) {
    return give(one.c_str(), one.size() + 1, room, to, needed);
  };
  switch (what) {
    case CL_DEVICE_NAME:
      return text(device.name);
    case CL_DEVICE_VERSION:
      return text(device.version);
    case CL_DEVICE_PROFILE:
      return text(device.profile);
    case CL_DEVICE_EXTENSIONS:
      return text(device.extensions);
    case CL_DEVICE_TYPE:
      return value(cl_device_type{CL_DEVICE_TYPE_GPU});
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      return value(cl_bool{CL_TRUE});
    case CL_DEVICE_SINGLE_FP_CONFIG:
      return value(device.floats);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return value(device.group_items);
    case CL_DEVICE_LOCAL_MEM_TYPE:
      return value(device.local_memory);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return value(device.local_bytes);
    case CL_DEVICE_MAX_PARAMETER_SIZE:
      return value(device.argument_bytes);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
      return value(device.float_lanes);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return value(device.largest_buffer_bytes);
    default:
      return now.real.clGetDeviceInfo(id, what, room, to, needed);
  }
}

cl_mem create_buffer(cl_context context, cl_mem_flags flags, std::size_t bytes, void* host, cl_int* result) {
  if (bytes > now.device.largest_buffer_bytes) {
    *result = CL_INVALID_BUFFER_SIZE;
    return nullptr;
  }
  const cl_mem buffer = now.real.clCreateBuffer(context, flags, bytes, host, result);
  now.buffers.insert(buffer);
  return buffer;
}

// A device without an extension lacks its types; its compiler does not know them.
cl_program create_program(cl_context context, cl_uint count, const char** sources, const std::size_t*,
                          cl_int* result) {
  std::vector<const char*> all(sources, sources + count);
  if (!now.device.has("cl_khr_fp64"))
    all.insert(all.begin(),
               "#undef cl_khr_fp64\n#define double no_doubles_here\n#define double2 no_doubles_here\n");
  return now.real.clCreateProgramWithSource(context, static_cast<cl_uint>(all.size()), all.data(), nullptr,
                                            result);
}

cl_int build_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                     void (*notify)(cl_program, void*), void* of_caller) {
  if (now.device.build_result != CL_SUCCESS) return now.device.build_result;
  const std::string all = options;
  const bool divides = (now.device.floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  if (!divides && all.find("-cl-fp32-correctly-rounded-divide-sqrt") != std::string::npos)
    return CL_INVALID_BUILD_OPTIONS;
  if (all.find("-cl-std=CL1.2") == std::string::npos) return CL_INVALID_BUILD_OPTIONS;
  return now.real.clBuildProgram(program, count, devices, options, notify, of_caller);
}

cl_int get_kernel_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                       std::size_t room, void* to, std::size_t* needed) {
  const cl_int result = now.real.clGetKernelWorkGroupInfo(kernel, device, what, room, to, needed);
  if (result != CL_SUCCESS || what != CL_KERNEL_WORK_GROUP_SIZE || to == nullptr) return result;
  const std::size_t items = std::min(now.device.kernel_items, now.device.group_items);
  std::memcpy(to, &items, sizeof items);
  return CL_SUCCESS;
}

cl_int set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value) {
  std::map<cl_uint, std::size_t>& all = now.argument_bytes[kernel];
  all[index] = bytes;
  std::size_t sum = 0;
  for (const auto& [number, size] : all) sum += size;
  if (sum > now.device.argument_bytes) return CL_INVALID_ARG_SIZE;
  cl_mem buffer = nullptr;
  if (bytes == sizeof buffer) std::memcpy(static_cast<void*>(&buffer), value, bytes);
  now.buffers_of[kernel][index] = now.buffers.contains(buffer) ? buffer : nullptr;
  return now.real.clSetKernelArg(kernel, index, bytes, value);
}

cl_int release_kernel(cl_kernel kernel) {
  now.argument_bytes.erase(kernel);
  now.buffers_of.erase(kernel);
  return now.real.clReleaseKernel(kernel);
}

bool uses_mapped_memory(cl_kernel kernel) {
  const auto& buffers = now.buffers_of[kernel];
  return std::any_of(buffers.begin(), buffers.end(),
                     [](const auto& one) { return now.mapped[one.second] > 0; });
}

cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const std::size_t* offset,
              const std::size_t* global, const std::size_t* local, cl_uint count, const cl_event* waits,
              cl_event* event) {
  ++now.calls.launches;
  std::size_t items = 1;
  for (cl_uint i = 0; i < dimensions; ++i) {
    if (global[i] % local[i] != 0) return CL_INVALID_WORK_GROUP_SIZE;
    items *= local[i];
  }
  if (items > std::min(now.device.kernel_items, now.device.group_items)) return CL_INVALID_WORK_GROUP_SIZE;
  if (items > now.device.launched_items) return CL_OUT_OF_RESOURCES;
  if (uses_mapped_memory(kernel)) return CL_INVALID_OPERATION;
  return now.real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits,
                                         event);
}

cl_int write(cl_command_queue queue, cl_mem memory, cl_bool waits, std::size_t offset, std::size_t bytes,
             const void* from, cl_uint count, const cl_event* events, cl_event* event) {
  ++now.calls.writes;
  return now.real.clEnqueueWriteBuffer(queue, memory, waits, offset, bytes, from, count, events, event);
}

cl_int read(cl_command_queue queue, cl_mem memory, cl_bool waits, std::size_t offset, std::size_t bytes,
            void* to, cl_uint count, const cl_event* events, cl_event* event) {
  ++now.calls.reads;
  return now.real.clEnqueueReadBuffer(queue, memory, waits, offset, bytes, to, count, events, event);
}

void* map(cl_command_queue queue, cl_mem memory, cl_bool waits, cl_map_flags flags, std::size_t offset,
          std::size_t bytes, cl_uint count, const cl_event* events, cl_event* event, cl_int* result) {
  ++now.calls.maps;
  ++now.mapped[memory];
  return now.real.clEnqueueMapBuffer(queue, memory, waits, flags, offset, bytes, count, events, event,
                                     result);
}

cl_int unmap(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint count, const cl_event* events,
             cl_event* event) {
  ++now.calls.unmaps;
  --now.mapped[memory];
  return now.real.clEnqueueUnmapMemObject(queue, memory, mapped, count, events, event);
}

opencl::Driver disguised(opencl::Driver driver) {
  driver.clGetDeviceInfo = get_device_info;
  driver.clCreateBuffer = create_buffer;
  driver.clCreateProgramWithSource = create_program;
  driver.clBuildProgram = build_program;
  driver.clGetKernelWorkGroupInfo = get_kernel_info;
  driver.clSetKernelArg = set_argument;
  driver.clReleaseKernel = release_kernel;
  driver.clEnqueueNDRangeKernel = launch;
  driver.clEnqueueWriteBuffer = write;
  driver.clEnqueueReadBuffer = read;
  driver.clEnqueueMapBuffer = map;
  driver.clEnqueueUnmapMemObject = unmap;
  return driver;
}

SmallDevice device_of(const std::string& name, const std::string& version,
                      const std::string& more_extensions) {
  SmallDevice device;
  device.name = name;
  device.version = version;
  device.extensions = std::string(required_extensions) + more_extensions;
  return device;
}

}  // namespace

bool SmallDevice::has(const std::string& extension) const {
  return (" " + extensions + " ").find(" " + extension + " ") != std::string::npos;
}

SmallDevice mali_t604() {
  SmallDevice device = device_of("Mali-T604", "OpenCL 1.2 v1.r12p0", " cl_khr_fp64");
  device.kernel_items = 64;
  return device;
}

SmallDevice mali_g610() {
  return device_of("Mali-G610 r0p0", "OpenCL 3.0 v1.r32p1", "");
}

SmallDevice adreno() {
  SmallDevice device = device_of("QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 650", "");
  device.group_items = 1024;
  device.kernel_items = 128;
  device.local_memory = CL_LOCAL;
  device.float_lanes = 1;
  return device;
}

SmallDevice intel_gpu() {
  SmallDevice device = device_of("Intel(R) UHD Graphics", "OpenCL 3.0 NEO", " cl_khr_fp64");
  device.floats |= CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  device.local_memory = CL_LOCAL;
  device.local_bytes = 65536;
  device.float_lanes = 1;
  return device;
}

DisguisedAs::DisguisedAs(const SmallDevice& device) {
  now = {};
  now.device = device;
  now.real = opencl::driver();
  now.disguised = disguised(now.real);
  opencl::replace_driver(&now.disguised);
}

DisguisedAs::~DisguisedAs() {
  opencl::replace_driver(nullptr);
}

OpenclCalls& DisguisedAs::calls() {
  return now.calls;
}

}  // namespace parallax::test
