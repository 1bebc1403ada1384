// SPDX-License-Identifier: Apache-2.0
// A GPU and its resources: memory, streams, events, graphs. Every object releases what it owns; all errors
// are thrown, except errors of releasing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "devices/cuda/driver.h"

namespace parallax::cuda {

class Module;

// One GPU and its primary context, which all users of CUDA in this process share.
class Context {
 public:
  // \throws Error (device) when there is no such GPU
  explicit Context(int index);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int index() const { return index_; }
  DeviceNumber device() const { return device_; }
  ContextHandle handle() const { return handle_; }
  // 90 for compute capability 9.0.
  int architecture() const { return architecture_; }
  int multiprocessors() const { return multiprocessors_; }
  int shared_bytes_per_block() const { return shared_bytes_per_block_; }
  // Whether blocks of one launch may wait for each other.
  bool launches_cooperatively() const { return launches_cooperatively_; }
  // Whether managed memory takes memory only where it is touched.
  bool has_managed_memory() const { return has_managed_memory_; }
  // Programs that are not loaded yet, see program.h.
  std::vector<std::weak_ptr<Module>>& unloaded() const { return unloaded_; }

 private:
  int index_;
  DeviceNumber device_ = 0;
  ContextHandle handle_ = nullptr;
  int architecture_ = 0, multiprocessors_ = 0, shared_bytes_per_block_ = 0;
  bool launches_cooperatively_ = false, has_managed_memory_ = false;
  mutable std::vector<std::weak_ptr<Module>> unloaded_;
};

// During its lifetime, this thread's CUDA calls go to the context's GPU.
class Current {
 public:
  explicit Current(const Context& context);
  // For destructors. Calls fail without harm if the driver has already shut down.
  Current(const Context& context, std::nothrow_t) noexcept;
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  bool pushed_ = true;
};

// The GPUs of this machine; empty without a driver or its compiler, with the reason.
struct Gpu {
  std::string name;
  int architecture;
  std::size_t memory_bytes;
};
struct Gpus {
  std::vector<Gpu> list;
  int driver_version = 0;
  std::string none_because;
};
Gpus find_gpus();

// A handle that must be released by a call while its context is current.
template <class Handle>
class Owned {
 public:
  using Release = Result (*)(Handle);
  Owned() = default;
  Owned(std::shared_ptr<const Context> context, Handle handle, Release release)
      : context_(std::move(context)), handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ == Handle{}) return;
    const Current current(*context_, std::nothrow);
    release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  std::shared_ptr<const Context> context_;
  Handle handle_{};
  Release release_ = nullptr;
};

using SharedContext = std::shared_ptr<const Context>;
using Stream = Owned<StreamHandle>;
using Event = Owned<EventHandle>;
using DeviceMemory = Owned<DeviceAddress>;
using PinnedMemory = Owned<void*>;
// An executable graph, and the graph that it was instantiated from.
struct Graph {
  Owned<GraphHandle> nodes;
  Owned<GraphExecHandle> executable;
};

Stream make_stream(const SharedContext& context);
Event make_event(const SharedContext& context, unsigned flags = 0);
DeviceMemory allocate(const SharedContext& context, std::size_t bytes);
// Managed memory, see SparseMemory.
DeviceMemory allocate_managed(const SharedContext& context, std::size_t bytes);
// Page-locked host memory, which the GPU transfers directly.
PinnedMemory allocate_pinned(const SharedContext& context, std::size_t bytes);
// Captures what `record` enqueues on the stream as a graph, without running it.
Graph capture(const SharedContext& context, StreamHandle stream, const std::function<void()>& record);
// Whether the stream is being captured into a graph.
bool captures(StreamHandle stream);
// Waits for what is on the stream. After an error, too, no kernel runs that may read or write a caller's
// memory.
void synchronise(StreamHandle stream);
// Waits for the work before an event of that stream. The thread sleeps if the event is a sleeping one.
void synchronise(EventHandle event, StreamHandle stream);
std::size_t free_memory(const Context& context);

// Copies to the GPU of the current context and waits, so that the values may be destroyed.
void upload(const void* values, std::size_t bytes, DeviceAddress to, StreamHandle stream);
template <class T>
void upload(const std::vector<T>& values, T* to, StreamHandle stream) {
  upload(values.data(), values.size() * sizeof(T), reinterpret_cast<DeviceAddress>(to), stream);
}

// Whether this host memory is page-locked.
bool is_pinned(const void* memory);

}  // namespace parallax::cuda
