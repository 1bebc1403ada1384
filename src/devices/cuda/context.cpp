// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/context.h"

#include <map>
#include <mutex>

#include "devices/cuda/program.h"
#include "devices/devices.h"

namespace parallax::cuda {
namespace {

int attribute(DeviceNumber device, DeviceAttribute which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device),
        "cuDeviceGetAttribute " + std::to_string(which));
  return value;
}

int architecture_of(DeviceNumber device) {
  return 10 * attribute(device, capability_major) + attribute(device, capability_minor);
}

int device_count() {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

// The oldest architecture whose kernels are compiled and inspected.
constexpr int oldest_architecture = 75;

DeviceNumber find_device(int index) {
  const int count = device_count();
  if (index < 0 || index >= count)
    throw Error(ErrorCategory::device,
                "no GPU cuda:" + std::to_string(index) + ": this machine has " + std::to_string(count) +
                    (count == 0 ? ", choose device cpu"
                                : ", choose one from cuda:0 to cuda:" + std::to_string(count - 1)));
  DeviceNumber device = 0;
  check(driver().cuDeviceGet(&device, index), "cuDeviceGet " + std::to_string(index));
  return device;
}

}  // namespace

Context::Context(int index) : index_(index), device_(find_device(index)) {
  architecture_ = architecture_of(device_);
  if (architecture_ < oldest_architecture)
    throw Error(ErrorCategory::device, "cuda:" + std::to_string(index) + " has architecture sm_" +
                                           std::to_string(architecture_) + ": choose a GPU of sm_" +
                                           std::to_string(oldest_architecture) + " or later, or device cpu");
  multiprocessors_ = attribute(device_, multiprocessor_count);
  shared_bytes_per_block_ = attribute(device_, shared_bytes_per_block_opt_in);
  launches_cooperatively_ = attribute(device_, cooperative_launch) != 0;
  has_managed_memory_ = attribute(device_, concurrent_managed_access) != 0;
  check(driver().cuDevicePrimaryCtxRetain(&handle_, device_), "cuDevicePrimaryCtxRetain");
}

Context::~Context() {
  driver().cuDevicePrimaryCtxRelease_v2(device_);
}

Current::Current(const Context& context) {
  check(driver().cuCtxPushCurrent_v2(context.handle()), "cuCtxPushCurrent");
}

Current::Current(const Context& context, std::nothrow_t) noexcept
    : pushed_(driver().cuCtxPushCurrent_v2(context.handle()) == 0) {}

Current::~Current() {
  if (!pushed_) return;
  ContextHandle popped = nullptr;
  driver().cuCtxPopCurrent_v2(&popped);
}

Gpus find_gpus() {
  Gpus found;
  try {
    found.driver_version = driver().version;
    compiler(found.driver_version);
    for (int index = 0; index < device_count(); ++index) {
      const DeviceNumber device = find_device(index);
      char name[128] = {};
      check(driver().cuDeviceGetName(name, sizeof name - 1, device), "cuDeviceGetName");
      std::size_t bytes = 0;
      check(driver().cuDeviceTotalMem_v2(&bytes, device), "cuDeviceTotalMem");
      found.list.push_back({name, architecture_of(device), bytes});
    }
    if (found.list.empty()) found.none_because = "the CUDA driver finds no GPU";
  } catch (const Error& error) {
    found.list.clear();
    found.none_because = error.what();
  }
  return found;
}

}  // namespace parallax::cuda

namespace parallax {

std::vector<DeviceDescription> describe_gpus() {
  const cuda::Gpus gpus = cuda::find_gpus();
  std::vector<DeviceDescription> descriptions;
  for (std::size_t index = 0; index < gpus.list.size(); ++index) {
    const cuda::Gpu& gpu = gpus.list[index];
    if (gpu.architecture < cuda::oldest_architecture) continue;
    descriptions.push_back({"cuda:" + std::to_string(index),
                            gpu.name + ", " + std::to_string(gpu.memory_bytes >> 20) + " MiB, sm_" +
                                std::to_string(gpu.architecture) + ", driver for CUDA " +
                                cuda::version_text(gpus.driver_version)});
  }
  return descriptions;
}

// Cached, because every plan asks for it and it does not change.
DeviceIdentity identify_gpu(int index) {
  static std::mutex mutex;
  static std::map<int, DeviceIdentity> known;
  const std::lock_guard guard(mutex);
  if (const auto found = known.find(index); found != known.end()) return found->second;
  const cuda::Gpus gpus = cuda::find_gpus();
  if (index < 0 || index >= static_cast<int>(gpus.list.size())) return {};
  return known[index] = {gpus.list[static_cast<std::size_t>(index)].name,
                         cuda::version_text(gpus.driver_version)};
}

}  // namespace parallax

namespace parallax::cuda {

Stream make_stream(const SharedContext& context) {
  constexpr unsigned non_blocking = 1;
  const Current current(*context);
  StreamHandle stream = nullptr;
  check(driver().cuStreamCreate(&stream, non_blocking), "cuStreamCreate");
  return {context, stream, driver().cuStreamDestroy_v2};
}

Event make_event(const SharedContext& context, unsigned flags) {
  const Current current(*context);
  EventHandle event = nullptr;
  check(driver().cuEventCreate(&event, flags), "cuEventCreate");
  return {context, event, driver().cuEventDestroy_v2};
}

DeviceMemory allocate(const SharedContext& context, std::size_t bytes) {
  const Current current(*context);
  DeviceAddress address = 0;
  check(driver().cuMemAlloc_v2(&address, bytes), "cuMemAlloc of " + std::to_string(bytes) + " bytes");
  return {context, address, driver().cuMemFree_v2};
}

DeviceMemory allocate_managed(const SharedContext& context, std::size_t bytes) {
  constexpr unsigned on_any_stream = 1;
  const Current current(*context);
  DeviceAddress address = 0;
  check(driver().cuMemAllocManaged(&address, bytes, on_any_stream),
        "cuMemAllocManaged of " + std::to_string(bytes) + " bytes");
  return {context, address, driver().cuMemFree_v2};
}

PinnedMemory allocate_pinned(const SharedContext& context, std::size_t bytes) {
  const Current current(*context);
  void* memory = nullptr;
  check(driver().cuMemHostAlloc(&memory, bytes, 0), "cuMemHostAlloc of " + std::to_string(bytes) + " bytes");
  return {context, memory, driver().cuMemFreeHost};
}

Graph capture(const SharedContext& context, StreamHandle stream, const std::function<void()>& record) {
  constexpr int this_thread_only = 1;
  load_programs(context);
  const Current current(*context);
  check(driver().cuStreamBeginCapture_v2(stream, this_thread_only), "cuStreamBeginCapture");
  GraphHandle graph = nullptr;
  try {
    record();
  } catch (...) {
    if (driver().cuStreamEndCapture(stream, &graph) == 0 && graph != nullptr) driver().cuGraphDestroy(graph);
    throw;
  }
  check(driver().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  Graph captured;
  captured.nodes = {context, graph, driver().cuGraphDestroy};
  GraphExecHandle executable = nullptr;
  check(driver().cuGraphInstantiateWithFlags(&executable, graph, 0), "cuGraphInstantiate");
  captured.executable = {context, executable, driver().cuGraphExecDestroy};
  return captured;
}

bool captures(StreamHandle stream) {
  int status = 0;
  check(driver().cuStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, nullptr, nullptr),
        "cuStreamGetCaptureInfo");
  return status != 0;
}

void synchronise(StreamHandle stream) {
  const Result result = driver().cuStreamSynchronize(stream);
  // Kernels may still be running.
  if (result != 0) driver().cuStreamSynchronize(stream);
  check(result, "cuStreamSynchronize");
}

void synchronise(EventHandle event, StreamHandle stream) {
  const Result result = driver().cuEventSynchronize(event);
  if (result != 0) driver().cuStreamSynchronize(stream);
  check(result, "cuEventSynchronize");
}

std::size_t free_memory(const Context& context) {
  const Current current(context);
  std::size_t free = 0, total = 0;
  check(driver().cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  return free;
}

void upload(const void* values, std::size_t bytes, DeviceAddress to, StreamHandle stream) {
  check(driver().cuMemcpyHtoDAsync_v2(to, values, bytes, stream),
        "cuMemcpyHtoDAsync of " + std::to_string(bytes) + " bytes");
  check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

bool is_pinned(const void* memory) {
  int memory_type = 2;
  unsigned type = 0;  // stays 0 for memory unknown to CUDA
  void* values[] = {&type};
  check(driver().cuPointerGetAttributes(1, &memory_type, values, reinterpret_cast<DeviceAddress>(memory)),
        "cuPointerGetAttributes");
  return type == host_memory_type;
}

}  // namespace parallax::cuda
