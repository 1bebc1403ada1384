// SPDX-License-Identifier: Apache-2.0
// The emulated libcuda.so.1, see README.md. Its functions check their arguments like NVIDIA's.
#include "devices/cuda/driver.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "driver_state.h"
#include "operations.h"

using parallax::cuda::ContextHandle;
using parallax::cuda::Copy2D;
using parallax::cuda::DeviceAddress;
using parallax::cuda::DeviceNumber;
using parallax::cuda::EventHandle;
using parallax::cuda::FunctionHandle;
using parallax::cuda::GraphExecHandle;
using parallax::cuda::GraphHandle;
using parallax::cuda::GraphNodeHandle;
using parallax::cuda::KernelNodeParameters;
using parallax::cuda::LaunchConfiguration;
using parallax::cuda::ModuleHandle;
using parallax::cuda::Result;
using parallax::cuda::StreamHandle;

namespace emulated {
namespace {

// The driver's numbers.
constexpr int capability_major = 75, capability_minor = 76;
constexpr int max_threads = 0, local_bytes = 3, registers = 4, dynamic_shared_limit = 8;
constexpr int memory_type = 2;
constexpr unsigned on_host = 1, on_device = 2;

const void* pointer_to(DeviceAddress address) {
  return reinterpret_cast<const void*>(address);
}

Context* context_of(ContextHandle handle) {
  for (const auto& context : driver().contexts)
    if (reinterpret_cast<ContextHandle>(context.get()) == handle) return context.get();
  return nullptr;
}

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
      {10, warp_lanes},  // threads a warp
      {12, 65536},       // registers a block
      {16, multiprocessors},
      {38, 50 << 20},    // second-level cache
      {39, 2048},        // threads a multiprocessor
      {41, 1},           // one address space with the host
      {81, 228 * 1024},  // shared memory a multiprocessor
      {82, 65536},       // registers a multiprocessor
      {95, 1},           // cooperative launches
  };
  return attributes;
}

Result attribute_of_device(int attribute, int& value) {
  if (attribute == capability_major) {
    value = driver().architecture / 10;
  } else if (attribute == capability_minor) {
    value = driver().architecture % 10;
  } else if (attribute == parallax::cuda::concurrent_managed_access) {
    value = driver().has_managed_memory ? 1 : 0;
  } else if (attribute == parallax::cuda::shared_bytes_per_block_opt_in) {
    value = static_cast<int>(driver().max_shared_bytes());
  } else {
    const auto found = device_attributes().find(attribute);
    if (found == device_attributes().end()) return invalid_value;
    value = found->second;
  }
  return success;
}

Result attribute_of_function(const Function& function, int attribute, int& value) {
  switch (attribute) {
    case max_threads:
      value = static_cast<int>(function.kernel->max_threads_a_block);
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

Result kind_of_memory(const void* address, unsigned& kind) {
  if (driver().device_memory.around(address) != nullptr) {
    kind = on_device;
  } else if (driver().pinned_memory.around(address) != nullptr) {
    kind = on_host;
  } else {
    return invalid_value;
  }
  return success;
}

// Takes memory of the GPU for an allocation.
Result take(Allocation& allocation, std::size_t bytes) {
  std::size_t& used = allocation.context->memory_used;
  if (used > driver().memory_bytes || bytes > driver().memory_bytes - used) return out_of_memory;
  allocation.on_gpu += bytes;
  used += bytes;
  return success;
}

Result allocate(Context& context, std::size_t bytes, DeviceAddress& address) {
  void* memory = driver().device_memory.add(bytes, context);
  const Result failure = take(*driver().device_memory.find(memory), bytes);
  if (failure != success) driver().device_memory.remove(memory);
  address = failure == success ? reinterpret_cast<DeviceAddress>(memory) : 0;
  return failure;
}

Result free_memory(const void* address) {
  const Allocation* allocation = driver().device_memory.find(address);
  if (allocation == nullptr) return invalid_value;
  driver().finish_all_streams();
  allocation->context->memory_used -= allocation->on_gpu;
  driver().device_memory.remove(address);
  return success;
}

// The event gets its time when the stream reaches it.
Result record(EventHandle handle, Event& event, Stream& stream) {
  if (stream.capture != nullptr && stream.capture->is_invalid) return capture_invalidated;
  event.time.reset();
  event.capture = stream.capture;
  event.last = stream.last;
  event.queue = nullptr;
  if (stream.capture != nullptr) return success;
  const auto take_time = [handle]() -> Result {
    if (Event* recorded = driver().events.find(handle)) recorded->time = std::chrono::steady_clock::now();
    return success;
  };
  if (const Result failure = driver().enqueue(stream, take_time)) return failure;
  event.queue = stream.queue;
  event.position = stream.queue->end();
  return success;
}

std::vector<Stream*> all_streams() {
  std::vector<Stream*> all;
  for (const auto& [handle, stream] : driver().streams) all.push_back(stream.get());
  return all;
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

// These two are not counted, because they report failures.
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
    if (!driver().has_device(ordinal)) return invalid_device;
    *device = ordinal;
    return success;
  });
}

Result cuDeviceGetName(char* name, int size, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (name == nullptr || size <= 0) return invalid_value;
    if (!driver().has_device(device)) return invalid_device;
    std::snprintf(name, static_cast<std::size_t>(size), "Emulated GPU");
    return success;
  });
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (bytes == nullptr) return invalid_value;
    if (!driver().has_device(device)) return invalid_device;
    *bytes = driver().memory_bytes;
    return success;
  });
}

Result cuDeviceGetAttribute(int* value, int attribute, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (value == nullptr) return invalid_value;
    if (!driver().has_device(device)) return invalid_device;
    return attribute_of_device(attribute, *value);
  });
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber device) {
  return call(__func__, [&]() -> Result {
    if (context == nullptr) return invalid_value;
    if (!driver().has_device(device)) return invalid_device;
    Context& primary = *driver().contexts[static_cast<std::size_t>(device)];
    ++primary.references;
    *context = reinterpret_cast<ContextHandle>(&primary);
    return success;
  });
}

// The last release also clears the failure.
Result cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
  const std::lock_guard lock(driver().mutex);
  const Result planned = driver().count_call(__func__);
  if (!driver().is_initialised) return not_initialized;
  if (!driver().has_device(device)) return invalid_device;
  Context& context = *driver().contexts[static_cast<std::size_t>(device)];
  if (context.references == 0) return invalid_context;
  if (--context.references > 0) return planned;
  driver().finish_all_streams();
  context.failure = success;
  return planned;
}

Result cuCtxPushCurrent_v2(ContextHandle handle) {
  return call(__func__, [&]() -> Result {
    Context* context = context_of(handle);
    if (context == nullptr) return invalid_context;
    if (context->references == 0) return context_is_destroyed;
    current_contexts().push_back(context);
    return success;
  });
}

Result cuCtxPopCurrent_v2(ContextHandle* context) {
  const std::lock_guard lock(driver().mutex);
  const Result planned = driver().count_call(__func__);
  if (!driver().is_initialised) return not_initialized;
  if (current_contexts().empty()) return invalid_context;
  if (context != nullptr) *context = reinterpret_cast<ContextHandle>(current_contexts().back());
  current_contexts().pop_back();
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
    if (const Result failure = driver().check_no_capture()) return failure;
    return address == nullptr || bytes == 0 ? Result{invalid_value} : allocate(context, bytes, *address);
  });
}

Result cuMemAllocManaged(DeviceAddress* address, std::size_t bytes, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    ++driver().allocations;
    if (const Result failure = driver().check_no_capture()) return failure;
    if (address == nullptr || bytes == 0 || flags < 1 || flags > 2) return invalid_value;
    *address = reinterpret_cast<DeviceAddress>(driver().device_memory.add(bytes, context));
    return success;
  });
}

// Takes memory even where a prefetch has taken it already.
Result cuMemPrefetchAsync(DeviceAddress address, std::size_t bytes, DeviceNumber device,
                          StreamHandle handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    if (driver().stream(handle, context) == nullptr) return invalid_handle;
    if (!driver().has_device(device)) return invalid_device;
    Memory& memory = driver().device_memory;
    if (bytes == 0 || !memory.contains(pointer_to(address), bytes)) return invalid_value;
    return take(*memory.find(memory.around(pointer_to(address))->memory.get()), bytes);
  });
}

Result cuMemFree_v2(DeviceAddress address) {
  return release_call(__func__, [&]() -> Result {
    if (const Result failure = driver().check_no_capture()) return failure;
    return address == 0 ? Result{success} : free_memory(pointer_to(address));
  });
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    ++driver().allocations;
    if (const Result failure = driver().check_no_capture()) return failure;
    if (memory == nullptr || bytes == 0 || flags > 7) return invalid_value;
    *memory = driver().pinned_memory.add(bytes, context);
    return success;
  });
}

Result cuMemFreeHost(void* memory) {
  return release_call(__func__, [&]() -> Result {
    if (const Result failure = driver().check_no_capture()) return failure;
    if (memory == nullptr) return success;
    if (driver().pinned_memory.find(memory) == nullptr) return invalid_value;
    driver().finish_all_streams();
    driver().pinned_memory.remove(memory);
    return success;
  });
}

// The driver returns zeros for memory that it does not know.
Result cuPointerGetAttributes(unsigned count, int* attributes, void** values, DeviceAddress address) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (count != 1 || values == nullptr || attributes[0] != memory_type) return invalid_value;
    unsigned& type = *static_cast<unsigned*>(values[0]);
    if (kind_of_memory(pointer_to(address), type) != success) type = 0;
    return success;
  });
}

Result cuMemcpy2DAsync_v2(const Copy2D* what, StreamHandle handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    Stream* stream = driver().stream(handle, context);
    if (stream == nullptr) return invalid_handle;
    return what == nullptr ? Result{invalid_value} : copy(*stream, *what);
  });
}

Result cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    Stream* stream = driver().stream(handle, context);
    if (stream == nullptr) return invalid_handle;
    return copy(*stream, line_of_host(from, bytes), line_of_device(to, bytes));
  });
}

Result cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, std::size_t bytes, StreamHandle handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    Stream* stream = driver().stream(handle, context);
    if (stream == nullptr) return invalid_handle;
    return copy(*stream, line_of_device(from, bytes), line_of_host(to, bytes));
  });
}

Result cuMemsetD8Async(DeviceAddress to, unsigned char value, std::size_t bytes, StreamHandle handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    Stream* stream = driver().stream(handle, context);
    return stream == nullptr ? Result{invalid_handle} : fill(*stream, to, value, bytes);
  });
}

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return call_in_context(__func__, [&](Context& context) -> Result {
    constexpr unsigned non_blocking = 1;
    if (stream == nullptr || flags > non_blocking) return invalid_value;
    *stream = driver().streams.add<StreamHandle>(std::make_unique<Stream>(context, flags != non_blocking));
    return success;
  });
}

Result cuStreamDestroy_v2(StreamHandle handle) {
  return release_call(__func__, [&]() -> Result {
    const Stream* stream = driver().streams.find(handle);
    if (stream == nullptr) return invalid_handle;
    stream->queue->finish(stream->queue->end());
    if (stream->capture != nullptr) stream->capture->is_invalid = true;
    driver().streams.remove(handle);
    return success;
  });
}

Result cuStreamSynchronize(StreamHandle handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    ++driver().synchronisations;
    const Stream* stream = driver().stream(handle, context);
    if (stream == nullptr) return invalid_handle;
    if (stream->capture != nullptr) {
      stream->capture->is_invalid = true;
      return capture_unsupported;
    }
    stream->queue->finish(stream->queue->end());
    return stream->context->failure;
  });
}

Result cuStreamWaitEvent(StreamHandle stream_handle, EventHandle event_handle, unsigned flags) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    Stream* stream = driver().stream(stream_handle, context);
    const Event* event = driver().events.find(event_handle);
    if (stream == nullptr || event == nullptr) return invalid_handle;
    return flags > 1 ? Result{invalid_value} : wait_for(*stream, *event);
  });
}

Result cuStreamBeginCapture_v2(StreamHandle handle, int mode) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (mode < 0 || mode > static_cast<int>(CaptureMode::relaxed)) return invalid_value;
    if (handle == nullptr) return capture_unsupported;
    Stream* stream = driver().streams.find(handle);
    return stream == nullptr ? Result{invalid_handle}
                             : begin_capture(*stream, static_cast<CaptureMode>(mode));
  });
}

Result cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (graph == nullptr) return invalid_value;
    *graph = nullptr;
    Stream* stream = driver().streams.find(handle);
    if (stream == nullptr) return invalid_handle;
    std::unique_ptr<Graph> captured;
    if (const Result failure = end_capture(*stream, all_streams(), captured)) return failure;
    *graph = driver().graphs.add<GraphHandle>(std::move(captured));
    return success;
  });
}

// The handle of a node is its number in its graph, from 1.
Result cuStreamGetCaptureInfo_v2(StreamHandle handle, int* status, unsigned long long* id, GraphHandle* graph,
                                 const GraphNodeHandle** nodes, std::size_t* count) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    static thread_local std::vector<GraphNodeHandle> last;
    const Stream* stream = driver().stream(handle, context);
    if (stream == nullptr) return invalid_handle;
    if (status == nullptr || (nodes == nullptr) != (count == nullptr) || id != nullptr || graph != nullptr)
      return invalid_value;
    constexpr int none = 0, active = 1;
    *status = stream->capture == nullptr ? none : active;
    if (nodes == nullptr) return success;
    last.clear();
    for (const std::size_t node : stream->last) last.push_back(reinterpret_cast<GraphNodeHandle>(node + 1));
    *nodes = last.data();
    *count = last.size();
    return success;
  });
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExecHandle handle, GraphNodeHandle node,
                                         const KernelNodeParameters* parameters) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    ExecutableGraph* executable = driver().executables.find(handle);
    const std::size_t number = reinterpret_cast<std::size_t>(node);
    if (executable == nullptr || parameters == nullptr || number == 0 ||
        number > executable->operations.size() || driver().graphs.find(executable->graph) == nullptr)
      return invalid_value;
    const Function* function = driver().function(parameters->function);
    if (function == nullptr) return invalid_handle;
    const LaunchConfiguration configuration{parameters->grid_x,
                                            parameters->grid_y,
                                            parameters->grid_z,
                                            parameters->block_x,
                                            parameters->block_y,
                                            parameters->block_z,
                                            parameters->shared_bytes,
                                            nullptr,
                                            nullptr,
                                            0};
    return plan_launch(parameters->function, *function, configuration, parameters->arguments,
                       executable->operations[number - 1]);
  });
}

Result cuGraphInstantiateWithFlags(GraphExecHandle* executable, GraphHandle handle,
                                   unsigned long long flags) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    constexpr unsigned long long all_flags = 15;
    const Graph* graph = driver().graphs.find(handle);
    if (executable == nullptr || graph == nullptr || flags > all_flags) return invalid_value;
    auto made = std::make_unique<ExecutableGraph>();
    made->graph = graph;
    made->operations = graph->operations;
    *executable = driver().executables.add<GraphExecHandle>(std::move(made));
    return success;
  });
}

Result cuGraphLaunch(GraphExecHandle handle, StreamHandle stream_handle) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    const ExecutableGraph* executable = driver().executables.find(handle);
    Stream* stream = driver().stream(stream_handle, context);
    if (executable == nullptr) return invalid_value;
    if (stream == nullptr) return invalid_handle;
    if (stream->capture != nullptr) {
      stream->capture->is_invalid = true;
      return capture_unsupported;
    }
    for (const Operation& operation : executable->operations)
      if (const Result failure = driver().enqueue(*stream, operation)) return failure;
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
  return call_in_context(__func__, [&](const Context& context) -> Result {
    Event* event = driver().events.find(event_handle);
    Stream* stream = driver().stream(stream_handle, context);
    if (event == nullptr || stream == nullptr || event->context != stream->context) return invalid_handle;
    return record(event_handle, *event, *stream);
  });
}

Result cuEventSynchronize(EventHandle handle) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    ++driver().synchronisations;
    const Event* event = driver().events.find(handle);
    if (event == nullptr) return invalid_handle;
    if (event->capture != nullptr) return captured_event;
    if (event->queue != nullptr) event->queue->finish(event->position);
    return event->context->failure;
  });
}

Result cuEventElapsedTime(float* milliseconds, EventHandle from_handle, EventHandle to_handle) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    const Event *from = driver().events.find(from_handle), *to = driver().events.find(to_handle);
    if (milliseconds == nullptr) return invalid_value;
    if (from == nullptr || to == nullptr || from->context != to->context) return invalid_handle;
    if (!from->has_time || !to->has_time || from->queue == nullptr || to->queue == nullptr)
      return invalid_handle;
    if (!from->time || !to->time) return not_ready;
    *milliseconds = std::chrono::duration<float, std::milli>(*to->time - *from->time).count();
    return success;
  });
}

Result cuModuleLoadData(ModuleHandle* module, const void* image) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    if (module == nullptr || image == nullptr) return invalid_value;
    if (const Result failure = driver().check_no_capture()) return failure;
    auto made = std::make_unique<Module>(context);
    if (const Result failure = made->load(image, driver().architecture, driver().multiprocessor.machine()))
      return failure;
    *module = driver().modules.add<ModuleHandle>(std::move(made));
    return success;
  });
}

Result cuModuleUnload(ModuleHandle module) {
  return release_call(__func__, [&]() -> Result {
    driver().finish_all_streams();
    return driver().modules.remove(module) ? success : invalid_handle;
  });
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

Result cuModuleGetGlobal_v2(DeviceAddress* address, std::size_t* bytes, ModuleHandle handle,
                            const char* name) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (address == nullptr || bytes == nullptr || name == nullptr) return invalid_value;
    Module* module = driver().modules.find(handle);
    if (module == nullptr) return invalid_handle;
    const MemoryRange found = module->global(name);
    if (found.begin == nullptr) return not_found;
    *address = reinterpret_cast<DeviceAddress>(found.begin);
    *bytes = found.bytes;
    return success;
  });
}

// One program is linked; the libraries it needs are part of the emulation.

Result cuLinkCreate_v2(unsigned, int*, void**, void** link) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (link == nullptr) return invalid_value;
    *link = driver().links.add<void*>(std::make_unique<std::string>());
    return success;
  });
}

Result cuLinkAddData_v2(void* link, int, void* data, std::size_t bytes, const char*, unsigned, int*, void**) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    std::string* program = driver().links.find(link);
    if (program == nullptr || data == nullptr || !program->empty()) return invalid_value;
    program->assign(static_cast<const char*>(data), bytes);
    return success;
  });
}

Result cuLinkAddFile_v2(void* link, int, const char* path, unsigned, int*, void**) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    if (driver().links.find(link) == nullptr || path == nullptr) return invalid_value;
    return access(path, R_OK) == 0 ? success : not_found;
  });
}

Result cuLinkComplete(void* link, void** code, std::size_t* bytes) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    std::string* program = driver().links.find(link);
    if (program == nullptr || code == nullptr || bytes == nullptr) return invalid_value;
    *code = program->data();
    *bytes = program->size();
    return success;
  });
}

Result cuLinkDestroy(void* link) {
  return release_call(__func__,
                      [&]() -> Result { return driver().links.remove(link) ? success : invalid_value; });
}

Result cuFuncGetAttribute(int* value, int attribute, FunctionHandle handle) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    const Function* function = driver().function(handle);
    if (function == nullptr) return invalid_handle;
    return value == nullptr ? Result{invalid_value} : attribute_of_function(*function, attribute, *value);
  });
}

Result cuFuncSetAttribute(FunctionHandle handle, int attribute, int value) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    Function* function = driver().function(handle);
    if (function == nullptr) return invalid_handle;
    if (attribute != dynamic_shared_limit || value < 0 ||
        value > static_cast<int>(driver().max_shared_bytes()))
      return invalid_value;
    function->dynamic_shared_limit = static_cast<std::size_t>(value);
    return success;
  });
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle handle, int threads,
                                                   std::size_t shared_bytes) {
  return call_in_context(__func__, [&](const Context&) -> Result {
    const Function* function = driver().function(handle);
    if (function == nullptr) return invalid_handle;
    if (blocks == nullptr || threads <= 0) return invalid_value;
    *blocks = blocks_a_multiprocessor(*function, threads, shared_bytes);
    return success;
  });
}

Result cuLaunchKernelEx(const LaunchConfiguration* configuration, FunctionHandle handle, void** arguments,
                        void** extra) {
  return call_in_context(__func__, [&](const Context& context) -> Result {
    const Function* function = driver().function(handle);
    if (function == nullptr) return invalid_handle;
    if (configuration == nullptr || extra != nullptr) return invalid_value;
    if (configuration->attribute_count > 0 && configuration->attributes == nullptr) return invalid_value;
    if (function->kernel->argument_count > 0 && arguments == nullptr) return invalid_value;
    Stream* stream = driver().stream(configuration->stream, context);
    if (stream == nullptr || stream->context != &function->module->context()) return invalid_handle;
    return launch(*stream, handle, *function, *configuration, arguments);
  });
}

// Parallax does not call it, but NVIDIA's run-time compiler does if it finds this driver; it must find
// nothing.
Result cuGetExportTable(const void** table, const void*) {
  if (table != nullptr) *table = nullptr;
  return not_found;
}

// The functions for tests, see controls.h.

void emulated_fail_call(const char* name, int nth, int result) {
  const std::lock_guard lock(driver().mutex);
  driver().planned_failures.push_back({name == nullptr ? "" : name, nth, result});
}

// Every call in the context of this device fails until its context is released.
void emulated_lose_device(int device) {
  const std::lock_guard lock(driver().mutex);
  if (driver().has_device(device))
    driver().contexts[static_cast<std::size_t>(device)]->failure = ecc_uncorrectable;
}

std::size_t emulated_live_objects() {
  const std::lock_guard lock(driver().mutex);
  return driver().live_objects();
}

int emulated_calls() {
  const std::lock_guard lock(driver().mutex);
  return driver().calls;
}

int emulated_calls_of(const char* name) {
  const std::lock_guard lock(driver().mutex);
  return driver().calls_of[name];
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
  driver().device_count = std::clamp(count, 0, max_devices);
}

// 90 for sm_90
void emulated_set_architecture(int architecture) {
  const std::lock_guard lock(driver().mutex);
  driver().architecture = architecture;
}

void emulated_set_managed_memory(int has_managed_memory) {
  const std::lock_guard lock(driver().mutex);
  driver().has_managed_memory = has_managed_memory != 0;
}

// Lazy streams do nothing until somebody waits for them, so that a missing synchronisation gives wrong
// results.
void emulated_set_lazy(int is_lazy) {
  const std::lock_guard lock(driver().mutex);
  driver().finish_all_streams();
  driver().is_lazy = is_lazy != 0;
}

// Blocks and threads then run from the last to the first, so that a missing barrier changes the results.
void emulated_set_last_first(int last_first) {
  const std::lock_guard lock(driver().mutex);
  driver().multiprocessor.set_last_first(last_first != 0);
}

}  // extern "C"
#pragma GCC visibility pop

#define EMULATED_CHECK(name, arguments) static_assert(std::is_same_v<decltype(&name), Result(*) arguments>);
PARALLAX_DRIVER_FUNCTIONS(EMULATED_CHECK)
