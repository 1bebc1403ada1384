// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "driver_state.h"

using parallax::cuda::Copy2D;
using parallax::cuda::DeviceAddress;
using parallax::cuda::FunctionHandle;
using parallax::cuda::LaunchConfiguration;
using parallax::cuda::MemoryType;

namespace emulated {
namespace {

// The driver's numbers.
constexpr MemoryType on_host{1}, on_device{2};

std::size_t bytes_of(const Rectangle& rectangle) {
  return (rectangle.height - 1) * rectangle.pitch + rectangle.width;
}

unsigned char* row(const Rectangle& rectangle, std::size_t y) {
  return static_cast<unsigned char*>(rectangle.begin) + y * rectangle.pitch;
}

// Only pinned memory of the host is known.
bool may_be_on_host(const void* memory, std::size_t bytes) {
  if (memory == nullptr || driver().device_memory.around(memory) != nullptr) return false;
  return driver().pinned_memory.around(memory) == nullptr || driver().pinned_memory.contains(memory, bytes);
}

bool is_in_device_memory(const void* memory, std::size_t bytes) {
  if (driver().device_memory.contains(memory, bytes)) return true;
  for (const auto& [handle, module] : driver().modules)
    if (module->has_global(memory, bytes)) return true;
  return false;
}

bool is_there(const Rectangle& rectangle) {
  return rectangle.is_on_device ? is_in_device_memory(rectangle.begin, bytes_of(rectangle))
                                : may_be_on_host(rectangle.begin, bytes_of(rectangle));
}

// A GPU accesses pinned memory asynchronously. A copy of other host memory is complete when the call returns.
bool is_done_on_return(const Rectangle& rectangle) {
  return !rectangle.is_on_device && driver().pinned_memory.around(rectangle.begin) == nullptr;
}

Result gone(const char* doing) {
  std::fprintf(stderr, "emulated GPU: a stream %s memory that has been freed\n", doing);
  return illegal_address;
}

bool is_linear(MemoryType type) {
  return type == on_host || type == on_device;
}

Rectangle source_of(const Copy2D& copy) {
  const bool is_on_device = copy.source_type == on_device;
  auto* base = static_cast<char*>(is_on_device ? reinterpret_cast<void*>(copy.source_device)
                                               : const_cast<void*>(copy.source_host));
  return {base + copy.source_y * copy.source_pitch + copy.source_x, copy.source_pitch, copy.width_bytes,
          copy.height, is_on_device};
}

Rectangle target_of(const Copy2D& copy) {
  const bool is_on_device = copy.target_type == on_device;
  auto* base =
      static_cast<char*>(is_on_device ? reinterpret_cast<void*>(copy.target_device) : copy.target_host);
  return {base + copy.target_y * copy.target_pitch + copy.target_x, copy.target_pitch, copy.width_bytes,
          copy.height, is_on_device};
}

std::uint64_t volume(Index index) {
  return std::uint64_t{index.x} * index.y * index.z;
}

bool is_cooperative(const LaunchConfiguration& configuration) {
  for (unsigned i = 0; i < configuration.attribute_count; ++i)
    if (configuration.attributes[i].id == parallax::cuda::cooperative)
      return configuration.attributes[i].value.cooperative != 0;
  return false;
}

Result check_launch(const Launch& launch, const Function& function) {
  const Index grid = launch.grid, block = launch.block;
  if (volume(grid) == 0 || grid.x > 0x7fffffff || grid.y > 0xffff || grid.z > 0xffff) return invalid_value;
  if (volume(block) == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || volume(block) > 1024)
    return invalid_value;
  if (launch.dynamic_shared_bytes > function.dynamic_shared_limit) return invalid_value;
  if (volume(block) > function.kernel->max_threads_a_block) return launch_out_of_resources;
  const auto resident = static_cast<unsigned>(
      multiprocessors *
      blocks_a_multiprocessor(function, static_cast<int>(volume(block)), launch.dynamic_shared_bytes));
  if (launch.is_cooperative && volume(grid) > resident) return cooperative_launch_too_large;
  return success;
}

Result run(const Function& function, Launch launch, void** arguments) {
  const MemoryRange shared = function.module->static_shared();
  launch.name = function.name.c_str();
  launch.kernel = function.kernel;
  launch.static_shared = shared.begin;
  launch.static_shared_bytes = shared.bytes;
  std::string failure = driver().multiprocessor.run(launch, arguments);
  // Runs as late as on a GPU.
  std::vector<Child> children = driver().multiprocessor.take_children();
  for (std::size_t i = 0; i < children.size() && failure.empty(); ++i) {
    launch.kernel = children[i].kernel;
    launch.grid = children[i].grid;
    launch.block = children[i].block;
    failure = driver().multiprocessor.run(launch, children[i].arguments.pointers().data());
    for (Child& more : driver().multiprocessor.take_children()) children.push_back(std::move(more));
  }
  if (!failure.empty()) {
    std::fprintf(stderr, "emulated GPU: %s\n", failure.c_str());
    return launch_failed;
  }
  if (const Allocation* allocation = driver().device_memory.overrun()) {
    std::fprintf(stderr, "emulated GPU: kernel %s wrote behind an allocation of %zu bytes\n", launch.name,
                 allocation->memory.bytes());
    return illegal_address;
  }
  return success;
}

}  // namespace

Rectangle line_of_device(DeviceAddress begin, std::size_t bytes) {
  return {reinterpret_cast<void*>(begin), bytes, bytes, 1, true};
}

Rectangle line_of_host(const void* begin, std::size_t bytes) {
  return {const_cast<void*>(begin), bytes, bytes, 1, false};
}

int blocks_a_multiprocessor(const Function& function, int threads, std::size_t dynamic_shared_bytes) {
  constexpr int max_blocks = 32, max_threads = 2048;
  constexpr std::size_t shared_bytes = 228 * 1024, reserved_shared_bytes = 1024;
  if (threads > static_cast<int>(function.kernel->max_threads_a_block)) return 0;
  const auto by_shared = static_cast<int>(shared_bytes / (dynamic_shared_bytes + reserved_shared_bytes));
  return std::min({max_blocks, max_threads / threads, by_shared});
}

Result copy(Stream& stream, const Rectangle& from, const Rectangle& to) {
  if (from.width == 0 || from.height == 0) return success;
  if (!is_there(from) || !is_there(to)) return invalid_value;
  const auto copy_rows = [=]() -> Result {
    if (!is_there(from) || !is_there(to)) return gone("copies");
    for (std::size_t y = 0; y < from.height; ++y) std::memmove(row(to, y), row(from, y), from.width);
    return success;
  };
  return driver().enqueue(stream, copy_rows, is_done_on_return(from) || is_done_on_return(to));
}

Result copy(Stream& stream, const Copy2D& what) {
  if (!is_linear(what.source_type) || !is_linear(what.target_type)) return invalid_value;
  if (what.source_x + what.width_bytes > what.source_pitch ||
      what.target_x + what.width_bytes > what.target_pitch)
    return invalid_value;
  return copy(stream, source_of(what), target_of(what));
}

Result fill(Stream& stream, DeviceAddress to, unsigned char value, std::size_t bytes) {
  const Rectangle line = line_of_device(to, bytes);
  if (bytes == 0) return success;
  if (!is_there(line)) return invalid_value;
  return driver().enqueue(stream, [=]() -> Result {
    if (!is_there(line)) return gone("fills");
    std::memset(line.begin, value, bytes);
    return success;
  });
}

Result plan_launch(FunctionHandle handle, const Function& function, const LaunchConfiguration& configuration,
                   void** arguments, Operation& planned) {
  Launch launch;
  launch.grid = {configuration.grid_x, configuration.grid_y, configuration.grid_z};
  launch.block = {configuration.block_x, configuration.block_y, configuration.block_z};
  launch.dynamic_shared_bytes = configuration.shared_bytes;
  launch.is_cooperative = is_cooperative(configuration);
  if (const Result failure = check_launch(launch, function)) return failure;
  const auto copies = std::make_shared<Arguments>(*function.kernel, arguments);
  // A graph may outlive the module of its kernels.
  planned = [=]() -> Result {
    const Function* loaded = driver().function(handle);
    return loaded == nullptr ? Result{invalid_handle} : run(*loaded, launch, copies->pointers().data());
  };
  return success;
}

Result launch(Stream& stream, FunctionHandle handle, const Function& function,
              const LaunchConfiguration& configuration, void** arguments) {
  Operation planned;
  if (const Result failure = plan_launch(handle, function, configuration, arguments, planned)) return failure;
  return driver().enqueue(stream, planned);
}

}  // namespace emulated
