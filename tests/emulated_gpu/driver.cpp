// libcuda.so.1, emulated: see README.md. Streams do at once what they are told, except while they capture.
#include "devices/cuda/driver.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "module.h"
#include "multiprocessor.h"
#include "objects.h"
#include "results.h"

using parallax::cuda::ContextHandle;
using parallax::cuda::Copy2D;
using parallax::cuda::DeviceAddress;
using parallax::cuda::DeviceNumber;
using parallax::cuda::EventHandle;
using parallax::cuda::FunctionHandle;
using parallax::cuda::GraphExecHandle;
using parallax::cuda::GraphHandle;
using parallax::cuda::LaunchConfiguration;
using parallax::cuda::MemoryType;
using parallax::cuda::ModuleHandle;
using parallax::cuda::Result;
using parallax::cuda::StreamHandle;

namespace emulated {
namespace {

// Numbers of the driver's interface.
constexpr MemoryType on_host{1}, on_device{2};
constexpr int memory_type_of_pointer = 2;
constexpr int capability_major = 75, capability_minor = 76;
constexpr int most_threads = 0, local_bytes = 3, registers = 4, dynamic_shared_limit = 8;
constexpr int global_capture = 0, thread_local_capture = 1, relaxed_capture = 2;

constexpr int most_devices = 8;
constexpr std::size_t most_shared_bytes = 227 * 1024;

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// A call that has been asked to fail.
struct PlannedFailure {
  std::string name;  // of any call, when empty
  int calls_until = 0;
  Result result = success;
};

struct Driver {
  Driver() {
    for (int i = 0; i < most_devices; ++i) contexts[i].device = i;
    for (int i = 0; i < most_devices; ++i) default_streams[i].context = &contexts[i];
    for (Stream& stream : default_streams) stream.is_blocking = true;
  }

  std::mutex mutex;
  bool is_initialised = false;
  int version = number_from_environment("PARALLAX_EMULATED_DRIVER_VERSION", 13000);
  int device_count = number_from_environment("PARALLAX_EMULATED_DEVICES", 2);
  int architecture = 90;
  std::size_t memory_bytes = std::size_t{2} << 30;

  Context contexts[most_devices];
  Stream default_streams[most_devices];
  Memory device_memory, pinned_memory;
  Registry<Stream> streams;
  Registry<Event> events;
  Registry<Module> modules;
  Registry<Graph> graphs;
  Registry<ExecutableGraph> executables;
  std::vector<std::weak_ptr<Capture>> captures;
  Multiprocessor multiprocessor;

  int calls = 0, allocations = 0, synchronisations = 0;
  std::vector<PlannedFailure> planned_failures;

  Result count_call(const std::string& name) {
    ++calls;
    Result result = success;
    for (PlannedFailure& failure : planned_failures)
      if ((failure.name.empty() || failure.name == name) && --failure.calls_until == 0)
        result = failure.result;
    std::erase_if(planned_failures, [](const PlannedFailure& failure) { return failure.calls_until == 0; });
    return result;
  }
};

// Never destroyed: the library that is tested may release things as the process ends.
Driver& driver() {
  static auto& only = *new Driver;
  return only;
}

thread_local std::vector<Context*> current_contexts;

// What calls have in common.

template <class Body>
Result call(const char* name, Body body) {
  const std::lock_guard lock(driver().mutex);
  if (const Result failure = driver().count_call(name)) return failure;
  if (!driver().is_initialised) return not_initialized;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  }
}

Result find_context(Context*& context) {
  if (current_contexts.empty()) return invalid_context;
  context = current_contexts.back();
  return context->references == 0 ? context_is_destroyed : success;
}

// `body` gets the current context.
template <class Body>
Result call_in_context(const char* name, Body body) {
  return call(name, [&]() -> Result {
    Context* context = nullptr;
    if (const Result failure = find_context(context)) return failure;
    return context->failure != success ? context->failure : body(*context);
  });
}

// Something is released even if the call is to fail, or a kernel has failed before: then too, a driver's
// caller cannot do more.
template <class Body>
Result release_call(const char* name, Body body) {
  const std::lock_guard lock(driver().mutex);
  const Result planned = driver().count_call(name);
  if (!driver().is_initialised) return not_initialized;
  Context* context = nullptr;
  if (const Result failure = find_context(context)) return failure;
  if (const Result failure = body()) return failure;
  return planned != success ? planned : context->failure;
}

// A call that a capture in progress forbids, because no graph can hold what it does.
Result check_no_capture() {
  Result result = success;
  for (const std::weak_ptr<Capture>& weak : driver().captures) {
    const std::shared_ptr<Capture> capture = weak.lock();
    if (capture == nullptr) continue;
    const bool is_mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == relaxed_capture || (capture->mode == thread_local_capture && !is_mine)) continue;
    capture->is_invalid = true;
    result = capture_unsupported;
  }
  return result;
}

Context* context_of(ContextHandle handle) {
  for (Context& context : driver().contexts)
    if (reinterpret_cast<ContextHandle>(&context) == handle) return &context;
  return nullptr;
}

bool is_device(DeviceNumber device) {
  return device >= 0 && device < driver().device_count;
}

const void* pointer_to(DeviceAddress address) {
  return reinterpret_cast<const void*>(address);
}

bool is_in_device(DeviceAddress address, std::size_t bytes) {
  return driver().device_memory.contains(pointer_to(address), bytes);
}

// Of the host's memory only what is pinned is known.
bool may_be_on_host(const void* memory, std::size_t bytes) {
  if (memory == nullptr || driver().device_memory.around(memory) != nullptr) return false;
  return driver().pinned_memory.around(memory) == nullptr || driver().pinned_memory.contains(memory, bytes);
}

// Streams.

Stream* stream_of(StreamHandle handle, Context& current) {
  if (handle == nullptr) return &driver().default_streams[current.device];
  return driver().streams.find(handle);
}

bool is_blocking_stream_capturing(const Context& context) {
  return std::any_of(driver().streams.begin(), driver().streams.end(), [&](const auto& entry) {
    const Stream& stream = *entry.second;
    return stream.context == &context && stream.is_blocking && stream.capture != nullptr;
  });
}

Result do_now(Context& context, const Operation& operation) {
  if (context.failure == success) context.failure = operation();
  return success;
}

// Has the stream do it, or record it.
Result enqueue(Stream& stream, Operation operation) {
  if (stream.capture == nullptr) {
    const bool is_default = &stream == &driver().default_streams[stream.context->device];
    if (is_default && is_blocking_stream_capturing(*stream.context)) return capture_implicit;
    return do_now(*stream.context, operation);
  }
  Capture& capture = *stream.capture;
  if (capture.is_invalid) return capture_invalidated;
  capture.nodes.push_back({std::move(operation), stream.last});
  stream.last = {capture.nodes.size() - 1};
  return success;
}

Result end_capture(Stream& stream, std::unique_ptr<Graph>& graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return illegal_state;
  if (capture->origin != &stream) return capture_unmatched;
  if (capture->mode != relaxed_capture && capture->thread != std::this_thread::get_id())
    return capture_wrong_thread;
  const bool is_joined = capture->is_all_before(stream.last);
  for (const auto& [handle, other] : driver().streams) {
    if (other->capture != capture) continue;
    other->capture.reset();
    other->last.clear();
  }
  if (capture->is_invalid) return capture_invalidated;
  if (!is_joined) return capture_unjoined;
  graph = std::make_unique<Graph>();
  for (Capture::Node& node : capture->nodes) graph->operations.push_back(std::move(node.operation));
  return success;
}

Result wait_for(Stream& stream, const Event& event) {
  if (event.capture == nullptr) {
    if (stream.capture == nullptr) return success;
    stream.capture->is_invalid = true;
    return capture_isolation;
  }
  if (stream.capture != nullptr && stream.capture != event.capture) {
    stream.capture->is_invalid = event.capture->is_invalid = true;
    return capture_merge;
  }
  stream.capture = event.capture;
  stream.last.insert(event.last.begin(), event.last.end());
  return success;
}

// Copies.

struct Rectangle {
  const void* begin = nullptr;
  std::size_t pitch = 0;
  std::size_t width = 0, height = 0;
  bool is_on_device = false;

  std::size_t bytes() const { return (height - 1) * pitch + width; }
  bool is_there() const {
    return is_on_device ? driver().device_memory.contains(begin, bytes()) : may_be_on_host(begin, bytes());
  }
  unsigned char* row(std::size_t y) const {
    return static_cast<unsigned char*>(const_cast<void*>(begin)) + y * pitch;
  }
};

Rectangle source_of(const Copy2D& copy) {
  const bool is_on_device = copy.source_type == on_device;
  const void* base = is_on_device ? pointer_to(copy.source_device) : copy.source_host;
  return {static_cast<const char*>(base) + copy.source_y * copy.source_pitch + copy.source_x,
          copy.source_pitch, copy.width_bytes, copy.height, is_on_device};
}

Rectangle target_of(const Copy2D& copy) {
  const bool is_on_device = copy.target_type == on_device;
  const void* base = is_on_device ? pointer_to(copy.target_device) : copy.target_host;
  return {static_cast<const char*>(base) + copy.target_y * copy.target_pitch + copy.target_x,
          copy.target_pitch, copy.width_bytes, copy.height, is_on_device};
}

bool is_linear(MemoryType type) {
  return type == on_host || type == on_device;
}

// The memory may be gone by the time a graph is launched.
Result copy(const Rectangle& from, const Rectangle& to) {
  if (!from.is_there() || !to.is_there()) {
    std::fprintf(stderr, "emulated GPU: a graph copies memory that has been freed\n");
    return illegal_address;
  }
  for (std::size_t y = 0; y < from.height; ++y) std::memmove(to.row(y), from.row(y), from.width);
  return success;
}

Result enqueue_copy(StreamHandle handle, Context& current, const Rectangle& from, const Rectangle& to) {
  Stream* stream = stream_of(handle, current);
  if (stream == nullptr) return invalid_handle;
  if (from.width == 0 || from.height == 0) return success;
  if (!from.is_there() || !to.is_there()) return invalid_value;
  return enqueue(*stream, [=] { return copy(from, to); });
}

Rectangle line(const void* begin, std::size_t bytes, bool is_on_device) {
  return {begin, bytes, bytes, 1, is_on_device};
}

// Kernels.

// Arguments as they were when the kernel was launched.
class Arguments {
 public:
  Arguments(const Kernel& kernel, void** arguments) {
    for (unsigned i = 0; i < kernel.argument_count; ++i) {
      values_.emplace_back(kernel.argument_bytes[i]);
      std::memcpy(values_.back().bytes.get(), arguments[i], kernel.argument_bytes[i]);
    }
  }
  std::vector<void*> pointers() const {
    std::vector<void*> pointers;
    for (const Value& value : values_) pointers.push_back(value.bytes.get());
    return pointers;
  }

 private:
  struct Value {
    explicit Value(std::size_t size)
        : bytes(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)) {
      if (bytes == nullptr) throw std::bad_alloc();
    }
    static constexpr std::size_t alignment = 64;
    struct Free {
      void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> bytes;
  };
  std::vector<Value> values_;
};

std::uint64_t volume(Index index) {
  return std::uint64_t{index.x} * index.y * index.z;
}

Index grid_of(const LaunchConfiguration& configuration) {
  return {configuration.grid_x, configuration.grid_y, configuration.grid_z};
}

Index block_of(const LaunchConfiguration& configuration) {
  return {configuration.block_x, configuration.block_y, configuration.block_z};
}

Result check_launch(const LaunchConfiguration& configuration, const Function& function) {
  const Index grid = grid_of(configuration), block = block_of(configuration);
  if (volume(grid) == 0 || grid.x > 0x7fffffff || grid.y > 0xffff || grid.z > 0xffff) return invalid_value;
  if (volume(block) == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || volume(block) > 1024)
    return invalid_value;
  if (configuration.shared_bytes > function.dynamic_shared_limit) return invalid_value;
  if (volume(block) > function.kernel->most_threads_a_block) return launch_out_of_resources;
  return success;
}

Result run_kernel(const Function& function, Launch launch, void** arguments) {
  const SharedRange shared = function.module->static_shared();
  launch.name = function.name.c_str();
  launch.kernel = function.kernel;
  launch.static_shared = shared.begin;
  launch.static_shared_bytes = shared.bytes;
  const std::string failure = driver().multiprocessor.run(launch, arguments);
  if (!failure.empty()) {
    std::fprintf(stderr, "emulated GPU: %s\n", failure.c_str());
    return launch_failed;
  }
  if (const Allocation* allocation = driver().device_memory.written_behind()) {
    std::fprintf(stderr, "emulated GPU: kernel %s wrote behind an allocation of %zu bytes\n", launch.name,
                 allocation->memory.bytes());
    return illegal_address;
  }
  return success;
}

Function* function_of(FunctionHandle handle) {
  for (const auto& [module, object] : driver().modules)
    if (Function* function = object->functions.find(handle)) return function;
  return nullptr;
}

// A graph may outlive the module of its kernels.
Operation launch_of(FunctionHandle handle, const Function& function, const LaunchConfiguration& configuration,
                    void** arguments) {
  Launch launch;
  launch.grid = grid_of(configuration);
  launch.block = block_of(configuration);
  launch.dynamic_shared_bytes = configuration.shared_bytes;
  const auto copies = std::make_shared<Arguments>(*function.kernel, arguments);
  return [=] {
    const Function* loaded = function_of(handle);
    if (loaded == nullptr) return Result{invalid_handle};
    return run_kernel(*loaded, launch, copies->pointers().data());
  };
}

// Devices.

const std::map<int, int>& device_attributes() {
  static const std::map<int, int> attributes{
      {1, 1024},         // threads a block
      {2, 1024},         // block, x
      {3, 1024},         // block, y
      {4, 64},           // block, z
      {5, 0x7fffffff},   // grid, x
      {6, 0xffff},       // grid, y
      {7, 0xffff},       // grid, z
      {8, 48 * 1024},    // shared memory a block
      {10, warp_lanes},  //
      {12, 65536},       // registers a block
      {16, 132},         // multiprocessors
      {38, 50 << 20},    // second-level cache
      {39, 2048},        // threads a multiprocessor
      {41, 1},           // one address space with the host
      {81, 228 * 1024},  // shared memory a multiprocessor
      {82, 65536},       // registers a multiprocessor
      {97, most_shared_bytes},
  };
  return attributes;
}

Result attribute_of_device(int attribute, int& value) {
  if (attribute == capability_major) {
    value = driver().architecture / 10;
  } else if (attribute == capability_minor) {
    value = driver().architecture % 10;
  } else {
    const auto found = device_attributes().find(attribute);
    if (found == device_attributes().end()) return invalid_value;
    value = found->second;
  }
  return success;
}

Result attribute_of_function(const Function& function, int attribute, int& value) {
  switch (attribute) {
    case most_threads:
      value = static_cast<int>(function.kernel->most_threads_a_block);
      return success;
    case local_bytes:
      value = 0;
      return success;
    case registers:
      value = 32;
      return success;
    case dynamic_shared_limit:
      value = static_cast<int>(function.dynamic_shared_limit);
      return success;
    default:
      return invalid_value;
  }
}

}  // namespace
}  // namespace emulated

using namespace emulated;

#pragma GCC visibility push(default)
extern "C" {

Result cuInit(unsigned flags) {
  const std::lock_guard lock(driver().mutex);
  if (const Result failure = driver().count_call(__func__)) return failure;
  if (flags != 0) return invalid_value;
  if (driver().device_count == 0) return no_device;
  driver().is_initialised = true;
  return success;
}

Result cuDriverGetVersion(int* version) {
  const std::lock_guard lock(driver().mutex);
  if (const Result failure = driver().count_call(__func__)) return failure;
  if (version == nullptr) return invalid_value;
  *version = driver().version;
  return success;
}

// These two are not counted: they are how failures are told of.
Result cuGetErrorName(Result result, const char** text) {
  if (text == nullptr) return invalid_value;
  switch (result) {
#define EMULATED_NAME(name, number, cuda_name, description) \
  case number:                                              \
    *text = cuda_name;                                      \
    return success;
    EMULATED_RESULTS(EMULATED_NAME)
#undef EMULATED_NAME
  }
  *text = nullptr;
  return invalid_value;
}

Result cuGetErrorString(Result result, const char** text) {
  if (text == nullptr) return invalid_value;
  switch (result) {
#define EMULATED_DESCRIPTION(name, number, cuda_name, description) \
  case number:                                                     \
    *text = description;                                           \
    return success;
    EMULATED_RESULTS(EMULATED_DESCRIPTION)
#undef EMULATED_DESCRIPTION
  }
  *text = nullptr;
  return invalid_value;
}

Result cuDeviceGetCount(int* count) {
  return call(__func__, [&]() -> Result {
    if (count == nullptr) return invalid_value;
    *count = driver().device_count;
    return success;
  });
}

Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  return call(__func__, [&]() -> Result {
    if (device == nullptr) return invalid_value;
    if (!is_device(ordinal)) return invalid_device;
    *device = ordinal;
    return success;
  });
}

Result cuDeviceGetName(char* name, int size, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (name == nullptr || size <= 0) return invalid_value;
    if (!is_device(device)) return invalid_device;
    std::snprintf(name, static_cast<std::size_t>(size), "Emulated GPU");
    return success;
  });
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (bytes == nullptr) return invalid_value;
    if (!is_device(device)) return invalid_device;
    *bytes = driver().memory_bytes;
    return success;
  });
}

Result cuDeviceGetAttribute(int* value, int attribute, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (value == nullptr) return invalid_value;
    if (!is_device(device)) return invalid_device;
    return attribute_of_device(attribute, *value);
  });
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (context == nullptr) return invalid_value;
    if (!is_device(device)) return invalid_device;
    ++driver().contexts[device].references;
    *context = reinterpret_cast<ContextHandle>(&driver().contexts[device]);
    return success;
  });
}

// The last to release it also ends its failure.
Result cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
  const std::lock_guard lock(driver().mutex);
  const Result planned = driver().count_call(__func__);
  if (!driver().is_initialised) return not_initialized;
  if (!is_device(device)) return invalid_device;
  Context& context = driver().contexts[device];
  if (context.references == 0) return invalid_context;
  if (--context.references == 0) context.failure = success;
  return planned;
}

Result cuCtxPushCurrent_v2(ContextHandle handle) {
  return call(__func__, [&]() -> Result {
    Context* context = context_of(handle);
    if (context == nullptr) return invalid_context;
    if (context->references == 0) return context_is_destroyed;
    current_contexts.push_back(context);
    return success;
  });
}

Result cuCtxPopCurrent_v2(ContextHandle* context) {
  const std::lock_guard lock(driver().mutex);
  const Result planned = driver().count_call(__func__);
  if (!driver().is_initialised) return not_initialized;
  if (current_contexts.empty()) return invalid_context;
  if (context != nullptr) *context = reinterpret_cast<ContextHandle>(current_contexts.back());
  current_contexts.pop_back();
  return planned;
}

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    if (free == nullptr || total == nullptr) return invalid_value;
    *total = driver().memory_bytes;
    *free = *total - std::min(*total, context.memory_used);
    return success;
  });
}

Result cuMemAlloc_v2(DeviceAddress* address, std::size_t bytes) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    ++driver().allocations;
    if (const Result failure = check_no_capture()) return failure;
    if (address == nullptr || bytes == 0) return invalid_value;
    if (context.memory_used > driver().memory_bytes || bytes > driver().memory_bytes - context.memory_used)
      return out_of_memory;
    *address = reinterpret_cast<DeviceAddress>(driver().device_memory.add(bytes, context));
    context.memory_used += bytes;
    return success;
  });
}

Result cuMemFree_v2(DeviceAddress address) {
  return release_call(__func__, [&]() -> Result {
    if (const Result failure = check_no_capture()) return failure;
    if (address == 0) return success;
    const Allocation* allocation = driver().device_memory.find(pointer_to(address));
    if (allocation == nullptr) return invalid_value;
    allocation->context->memory_used -= allocation->memory.bytes();
    driver().device_memory.remove(pointer_to(address));
    return success;
  });
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    ++driver().allocations;
    if (const Result failure = check_no_capture()) return failure;
    if (memory == nullptr || bytes == 0 || flags > 7) return invalid_value;
    *memory = driver().pinned_memory.add(bytes, context);
    return success;
  });
}

Result cuMemFreeHost(void* memory) {
  return release_call(__func__, [&]() -> Result {
    if (const Result failure = check_no_capture()) return failure;
    if (memory == nullptr) return success;
    if (driver().pinned_memory.find(memory) == nullptr) return invalid_value;
    driver().pinned_memory.remove(memory);
    return success;
  });
}

Result cuPointerGetAttribute(void* value, int attribute, DeviceAddress address) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (value == nullptr || attribute != memory_type_of_pointer) return invalid_value;
    auto& type = *static_cast<unsigned*>(value);
    if (driver().device_memory.around(pointer_to(address)) != nullptr) {
      type = on_device;
    } else if (driver().pinned_memory.around(pointer_to(address)) != nullptr) {
      type = on_host;
    } else {
      return invalid_value;
    }
    return success;
  });
}

Result cuMemcpy2DAsync_v2(const Copy2D* copy, StreamHandle stream) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    if (copy == nullptr || !is_linear(copy->source_type) || !is_linear(copy->target_type))
      return invalid_value;
    if (copy->source_x + copy->width_bytes > copy->source_pitch ||
        copy->target_x + copy->width_bytes > copy->target_pitch)
      return invalid_value;
    return enqueue_copy(stream, context, source_of(*copy), target_of(*copy));
  });
}

Result cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    return enqueue_copy(stream, context, line(from, bytes, false), line(pointer_to(to), bytes, true));
  });
}

Result cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    return enqueue_copy(stream, context, line(pointer_to(from), bytes, true), line(to, bytes, false));
  });
}

Result cuMemsetD8Async(DeviceAddress to, unsigned char value, std::size_t bytes, StreamHandle handle) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    Stream* stream = stream_of(handle, context);
    if (stream == nullptr) return invalid_handle;
    if (bytes == 0) return success;
    if (!is_in_device(to, bytes)) return invalid_value;
    return enqueue(*stream, [=]() -> Result {
      if (!is_in_device(to, bytes)) return illegal_address;
      std::memset(reinterpret_cast<void*>(to), value, bytes);
      return success;
    });
  });
}

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    constexpr unsigned non_blocking = 1;
    if (stream == nullptr || flags > non_blocking) return invalid_value;
    auto made = std::make_unique<Stream>();
    made->context = &context;
    made->is_blocking = flags != non_blocking;
    *stream = driver().streams.add<StreamHandle>(std::move(made));
    return success;
  });
}

Result cuStreamDestroy_v2(StreamHandle handle) {
  return release_call(__func__, [&]() -> Result {
    const Stream* stream = driver().streams.find(handle);
    if (stream == nullptr) return invalid_handle;
    if (stream->capture != nullptr) stream->capture->is_invalid = true;
    driver().streams.remove(handle);
    return success;
  });
}

Result cuStreamSynchronize(StreamHandle handle) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    ++driver().synchronisations;
    const Stream* stream = stream_of(handle, context);
    if (stream == nullptr) return invalid_handle;
    if (stream->capture == nullptr) return stream->context->failure;
    stream->capture->is_invalid = true;
    return capture_unsupported;
  });
}

Result cuStreamWaitEvent(StreamHandle stream_handle, EventHandle event_handle, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    Stream* stream = stream_of(stream_handle, context);
    const Event* event = driver().events.find(event_handle);
    if (stream == nullptr || event == nullptr) return invalid_handle;
    return flags > 1 ? Result{invalid_value} : wait_for(*stream, *event);
  });
}

Result cuStreamBeginCapture_v2(StreamHandle handle, int mode) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (mode < global_capture || mode > relaxed_capture) return invalid_value;
    if (handle == nullptr) return capture_unsupported;
    Stream* stream = driver().streams.find(handle);
    if (stream == nullptr) return invalid_handle;
    if (stream->capture != nullptr) return illegal_state;
    stream->capture = std::make_shared<Capture>();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    stream->capture->origin = stream;
    std::erase_if(driver().captures, [](const auto& capture) { return capture.expired(); });
    driver().captures.push_back(stream->capture);
    return success;
  });
}

Result cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (graph == nullptr) return invalid_value;
    *graph = nullptr;
    Stream* stream = driver().streams.find(handle);
    if (stream == nullptr) return invalid_handle;
    std::unique_ptr<Graph> captured;
    if (const Result failure = end_capture(*stream, captured)) return failure;
    *graph = driver().graphs.add<GraphHandle>(std::move(captured));
    return success;
  });
}

Result cuGraphInstantiateWithFlags(GraphExecHandle* executable, GraphHandle handle,
                                   unsigned long long flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    const Graph* graph = driver().graphs.find(handle);
    if (executable == nullptr || graph == nullptr || flags > 15) return invalid_value;
    auto made = std::make_unique<ExecutableGraph>();
    made->context = &context;
    made->operations = graph->operations;
    *executable = driver().executables.add<GraphExecHandle>(std::move(made));
    return success;
  });
}

Result cuGraphLaunch(GraphExecHandle handle, StreamHandle stream_handle) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    const ExecutableGraph* executable = driver().executables.find(handle);
    Stream* stream = stream_of(stream_handle, context);
    if (executable == nullptr) return invalid_value;
    if (stream == nullptr) return invalid_handle;
    for (const Operation& operation : executable->operations)
      if (const Result failure = enqueue(*stream, operation)) return failure;
    return success;
  });
}

Result cuGraphDestroy(GraphHandle graph) {
  return release_call(__func__,
                      [&]() -> Result { return driver().graphs.remove(graph) ? success : invalid_value; });
}

Result cuGraphExecDestroy(GraphExecHandle executable) {
  return release_call(__func__, [&]() -> Result {
    return driver().executables.remove(executable) ? success : invalid_value;
  });
}

Result cuEventCreate(EventHandle* event, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    constexpr unsigned without_time = 2, all = 7;
    if (event == nullptr || flags > all) return invalid_value;
    auto made = std::make_unique<Event>();
    made->context = &context;
    made->has_time = (flags & without_time) == 0;
    *event = driver().events.add<EventHandle>(std::move(made));
    return success;
  });
}

Result cuEventDestroy_v2(EventHandle event) {
  return release_call(__func__,
                      [&]() -> Result { return driver().events.remove(event) ? success : invalid_handle; });
}

Result cuEventRecord(EventHandle event_handle, StreamHandle stream_handle) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    Event* event = driver().events.find(event_handle);
    const Stream* stream = stream_of(stream_handle, context);
    if (event == nullptr || stream == nullptr || event->context != stream->context) return invalid_handle;
    if (stream->capture != nullptr && stream->capture->is_invalid) return capture_invalidated;
    event->capture = stream->capture;
    event->last = stream->last;
    event->time.reset();
    if (stream->capture == nullptr) event->time = std::chrono::steady_clock::now();
    return success;
  });
}

Result cuEventElapsedTime(float* milliseconds, EventHandle from_handle, EventHandle to_handle) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    const Event *from = driver().events.find(from_handle), *to = driver().events.find(to_handle);
    if (milliseconds == nullptr) return invalid_value;
    if (from == nullptr || to == nullptr || from->context != to->context) return invalid_handle;
    if (!from->has_time || !to->has_time || !from->time || !to->time) return invalid_handle;
    *milliseconds = std::chrono::duration<float, std::milli>(*to->time - *from->time).count();
    return success;
  });
}

Result cuModuleLoadData(ModuleHandle* module, const void* image) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    if (module == nullptr || image == nullptr) return invalid_value;
    if (const Result failure = check_no_capture()) return failure;
    auto made = std::make_unique<Module>();
    made->context = &context;
    if (const Result failure = made->load(image, driver().architecture, driver().multiprocessor.machine()))
      return failure;
    *module = driver().modules.add<ModuleHandle>(std::move(made));
    return success;
  });
}

Result cuModuleUnload(ModuleHandle module) {
  return release_call(__func__,
                      [&]() -> Result { return driver().modules.remove(module) ? success : invalid_handle; });
}

Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle handle, const char* name) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (function == nullptr || name == nullptr) return invalid_value;
    Module* module = driver().modules.find(handle);
    if (module == nullptr) return invalid_handle;
    Function* found = module->function(name);
    if (found == nullptr) return not_found;
    *function = reinterpret_cast<FunctionHandle>(found);
    return success;
  });
}

Result cuFuncGetAttribute(int* value, int attribute, FunctionHandle handle) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    const Function* function = function_of(handle);
    if (function == nullptr) return invalid_handle;
    return value == nullptr ? Result{invalid_value} : attribute_of_function(*function, attribute, *value);
  });
}

Result cuFuncSetAttribute(FunctionHandle handle, int attribute, int value) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    Function* function = function_of(handle);
    if (function == nullptr) return invalid_handle;
    if (attribute != dynamic_shared_limit || value < 0 || value > static_cast<int>(most_shared_bytes))
      return invalid_value;
    function->dynamic_shared_limit = static_cast<std::size_t>(value);
    return success;
  });
}

Result cuLaunchKernelEx(const LaunchConfiguration* configuration, FunctionHandle handle, void** arguments,
                        void** extra) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    const Function* function = function_of(handle);
    if (function == nullptr) return invalid_handle;
    if (configuration == nullptr || extra != nullptr) return invalid_value;
    if (configuration->attribute_count > 0 && configuration->attributes == nullptr) return invalid_value;
    if (function->kernel->argument_count > 0 && arguments == nullptr) return invalid_value;
    Stream* stream = stream_of(configuration->stream, context);
    if (stream == nullptr || stream->context != function->module->context) return invalid_handle;
    if (const Result failure = check_launch(*configuration, *function)) return failure;
    return enqueue(*stream, launch_of(handle, *function, *configuration, arguments));
  });
}

// Parallax does not call it; NVIDIA's run-time compiler does, if it finds this driver, and must be told that
// there is nothing.
Result cuGetExportTable(const void** table, const void*) {
  if (table != nullptr) *table = nullptr;
  return not_found;
}

// What tests are told, and ask for.

void emulated_fail_call(const char* name, int nth, int result) {
  const std::lock_guard lock(driver().mutex);
  driver().planned_failures.push_back({name == nullptr ? "" : name, nth, result});
}

std::size_t emulated_live_objects() {
  const std::lock_guard lock(driver().mutex);
  std::size_t references = 0;
  for (const Context& context : driver().contexts) references += static_cast<std::size_t>(context.references);
  return driver().device_memory.size() + driver().pinned_memory.size() + driver().streams.size() +
         driver().events.size() + driver().modules.size() + driver().graphs.size() +
         driver().executables.size() + references;
}

int emulated_calls() {
  const std::lock_guard lock(driver().mutex);
  return driver().calls;
}

int emulated_allocations() {
  const std::lock_guard lock(driver().mutex);
  return driver().allocations;
}

int emulated_synchronisations() {
  const std::lock_guard lock(driver().mutex);
  return driver().synchronisations;
}

void emulated_set_driver_version(int version) {
  const std::lock_guard lock(driver().mutex);
  driver().version = version;
}

void emulated_set_memory(std::size_t bytes) {
  const std::lock_guard lock(driver().mutex);
  driver().memory_bytes = bytes;
}

void emulated_set_device_count(int count) {
  const std::lock_guard lock(driver().mutex);
  driver().device_count = std::clamp(count, 0, most_devices);
}

// 90 for sm_90
void emulated_set_architecture(int architecture) {
  const std::lock_guard lock(driver().mutex);
  driver().architecture = architecture;
}

}  // extern "C"
#pragma GCC visibility pop

#define EMULATED_CHECK(name, arguments) static_assert(std::is_same_v<decltype(&name), Result(*) arguments>);
PARALLAX_DRIVER_FUNCTIONS(EMULATED_CHECK)
