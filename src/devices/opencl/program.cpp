// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <sstream>

#include "devices/opencl/kernel_sources.h"

namespace parallax::opencl {
namespace {

std::string build_options(const Context& context, const Options& options) {
  std::string text = "-cl-std=CL1.2";
  if (context.info().divides_correctly) text += " -cl-fp32-correctly-rounded-divide-sqrt";
  text.append(" ").append(define("DIVIDES", context.info().divides_correctly));
  text.append(" ").append(define("NVIDIA", context.info().nvidia_capability));
  for (const std::string& option : options) text.append(" ").append(option);
  return text;
}

// Contains everything that the binary depends on.
std::string cache_key(const Context& context, const std::vector<Source>& sources,
                      const std::string& options) {
  const DeviceInfo& info = context.info();
  std::string key = "opencl";
  for (const std::string* part :
       {&info.platform_name, &info.name, &info.version, &info.driver_version, &options})
    key.append("\n").append(*part);
  for (const Source& source : sources) key.append("\n").append(source.text);
  return key;
}

// \param items the most work items of a group that are worth trying
[[noreturn]] void refuse(const DeviceInfo& info, const std::string& what, std::size_t items) {
  throw KernelTooLarge(info.title() + " " + what + ": update its driver, or choose another device", items);
}

// A compiler may run out of registers for large groups.
void check_resources(cl_int result, const DeviceInfo& info, const std::string& what) {
  if (result == CL_OUT_OF_RESOURCES)
    refuse(info,
           "does not build " + what + " for groups of " + std::to_string(info.group_items) +
               " work items (CL_OUT_OF_RESOURCES)",
           info.group_items / 2);
}

Owned<cl_program> owned(cl_program program) {
  return {program, driver().clReleaseProgram};
}

cl_int build(const Context& context, cl_program program, const std::string& options) {
  return driver().clBuildProgram(program, 1, &context.info().id, options.c_str(), nullptr, nullptr);
}

// Null if the driver rejects the binary for whatever reason; it is then built anew.
Owned<cl_program> from_binary(const Context& context, const std::string& binary, const std::string& options) {
  const std::size_t bytes = binary.size();
  const auto* start = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int of_binary = CL_SUCCESS, result = CL_SUCCESS;
  Owned<cl_program> program = owned(driver().clCreateProgramWithBinary(
      context.handle(), 1, &context.info().id, &bytes, &start, &of_binary, &result));
  const bool taken =
      result == CL_SUCCESS && of_binary == CL_SUCCESS && build(context, program.get(), options) == CL_SUCCESS;
  return taken ? std::move(program) : Owned<cl_program>();
}

// The build log, on one line.
std::string build_log(const Context& context, cl_program program) {
  constexpr std::size_t most = 2000;
  std::size_t bytes = 0;
  const auto get = [&](std::size_t size, char* to) {
    return driver().clGetProgramBuildInfo(program, context.info().id, CL_PROGRAM_BUILD_LOG, size, to, &bytes);
  };
  if (get(0, nullptr) != CL_SUCCESS) return "no log";
  std::string log(bytes, '\0');
  if (get(bytes, log.data()) != CL_SUCCESS) return "no log";
  std::istringstream lines(log.c_str());
  std::string text;
  for (std::string line; std::getline(lines, line) && text.size() < most;)
    if (!line.empty()) text += (text.empty() ? "" : " | ") + line;
  return text.substr(0, most);
}

Owned<cl_program> from_sources(const Context& context, const std::vector<Source>& sources,
                               const std::string& options) {
  std::vector<const char*> texts;
  for (const Source& source : sources) texts.push_back(source.text);
  cl_int result = CL_SUCCESS;
  Owned<cl_program> program = owned(driver().clCreateProgramWithSource(
      context.handle(), static_cast<cl_uint>(texts.size()), texts.data(), nullptr, &result));
  check(result, "clCreateProgramWithSource");
  result = build(context, program.get(), options);
  if (result == CL_COMPILER_NOT_AVAILABLE)
    throw Error(
        ErrorCategory::device,
        context.info().title() + " has no compiler: install its complete driver, or choose another device");
  check_resources(result, context.info(), sources.back().name);
  if (result != CL_SUCCESS)
    throw Error(ErrorCategory::internal, std::string("OpenCL: ") + sources.back().name +
                                             " does not build for " + context.info().title() + " (" +
                                             describe(result) +
                                             "): choose another device, and report what its compiler says: " +
                                             build_log(context, program.get()));
  return program;
}

// Empty if the driver provides no binary.
std::optional<std::string> binary_of(cl_program program) {
  std::size_t bytes = 0;
  if (driver().clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) !=
          CL_SUCCESS ||
      bytes == 0)
    return std::nullopt;
  std::string binary(bytes, '\0');
  unsigned char* to = reinterpret_cast<unsigned char*>(binary.data());
  if (driver().clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, static_cast<void*>(&to), nullptr) !=
      CL_SUCCESS)
    return std::nullopt;
  return binary;
}

Owned<cl_program> cached_or_built(const Context& context, const std::vector<Source>& sources,
                                  const std::string& options) {
  const std::string key = cache_key(context, sources, options);
  if (const std::optional<std::string> binary = read_cached(key))
    if (Owned<cl_program> program = from_binary(context, *binary, options); program.get() != nullptr)
      return program;
  tell_compilation(context.info().text);
  Owned<cl_program> program = from_sources(context, sources, options);
  if (const std::optional<std::string> binary = binary_of(program.get())) write_cached(key, *binary);
  return program;
}

template <class T>
T ask(const Context& context, cl_kernel kernel, cl_kernel_work_group_info what, const char* name) {
  T value{};
  check(driver().clGetKernelWorkGroupInfo(kernel, context.info().id, what, sizeof value, &value, nullptr),
        std::string("clGetKernelWorkGroupInfo of ") + name);
  return value;
}

// \throws KernelTooLarge unless the kernel runs in groups of the size that it requires, or else of the most
// work items that a group may have
void check_group(const Context& context, cl_kernel kernel, const char* name) {
  const DeviceInfo& info = context.info();
  const auto [x, y, z] =
      ask<std::array<std::size_t, 3>>(context, kernel, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, name);
  const std::size_t needed = x > 0 ? x * y * z : info.group_items;
  const auto allowed = ask<std::size_t>(context, kernel, CL_KERNEL_WORK_GROUP_SIZE, name);
  const std::string which = std::string(" kernel ") + name;
  if (allowed < needed)
    refuse(info,
           "allows " + std::to_string(allowed) + " work items in a group of" + which + ", which needs " +
               std::to_string(needed),
           std::min(std::bit_floor(allowed), info.group_items / 2));
  const auto bytes = ask<cl_ulong>(context, kernel, CL_KERNEL_LOCAL_MEM_SIZE, name);
  if (bytes > info.local_bytes)
    refuse(info,
           "has " + std::to_string(info.local_bytes) + " bytes of local memory for" + which +
               ", which needs " + std::to_string(bytes),
           info.group_items / 2);
}

}  // namespace

Program::Program(const Context& context, std::initializer_list<Source> sources, const Options& options)
    : context_(&context) {
  std::vector<Source> all{kernel_cl, types_cl};
  all.insert(all.end(), sources.begin(), sources.end());
  program_ = cached_or_built(context, all, build_options(context, options));
}

Kernel Program::kernel(const char* name) const {
  cl_int result = CL_SUCCESS;
  Owned<cl_kernel> kernel(driver().clCreateKernel(program_.get(), name, &result), driver().clReleaseKernel);
  check_resources(result, context_->info(), std::string("kernel ") + name);
  if (result != CL_SUCCESS)
    check(result, std::string("clCreateKernel of ") + name + " on " + context_->info().title());
  check_group(*context_, kernel.get(), name);
  return {name, std::move(kernel)};
}

void Kernel::set_argument(cl_uint index, const void* value, std::size_t bytes) const {
  const cl_int result = driver().clSetKernelArg(kernel_.get(), index, bytes, value);
  if (result != CL_SUCCESS) check(result, "clSetKernelArg " + std::to_string(index) + " of kernel " + name_);
}

void Kernel::enqueue(const Queue& queue, Shape groups, Shape items) const {
  const std::size_t local[] = {items.x, items.y, items.z};
  const std::size_t global[] = {groups.x * items.x, groups.y * items.y, groups.z * items.z};
  const cl_int result = driver().clEnqueueNDRangeKernel(queue.handle(), kernel_.get(), 3, nullptr, global,
                                                        local, 0, nullptr, nullptr);
  if (result != CL_SUCCESS)
    queue.check(result, std::string("launching kernel ") + name_ + ", " + gpu::text_of(groups) +
                            " groups of " + gpu::text_of(items) + " work items,");
}

}  // namespace parallax::opencl
