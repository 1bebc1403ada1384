// SPDX-License-Identifier: Apache-2.0
// An OpenCL device and its resources: memory, and a queue. Every object releases what it owns; all errors are
// thrown, except errors of releasing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "devices/opencl/driver.h"

namespace parallax::opencl {

// Every kernel for GPUs can run in groups of this size or smaller.
constexpr std::size_t least_group_items = 64;

// Properties that a device reports.
struct DeviceInfo {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string text;  // for Device::parse
  std::string platform_name, name, version, driver_version;
  bool is_processor = false;       // prefers few work items that use wide vectors
  bool shares_memory = false;      // with the host
  bool has_doubles = false;        // cl_khr_fp64
  bool divides_correctly = false;  // float division is correctly rounded, as on the CPU
  std::string lacks;               // a feature that kernels need; empty = none
  bool has_local_memory = false;   // which is not a part of global memory
  std::size_t local_bytes = 0;     // local memory of a work group, wherever it is
  std::size_t group_items = 0;     // the most work items of a group in kernels that may choose
  int float_lanes = 1;             // floats of the vectors that the device prefers
  unsigned compute_units = 0;
  int nvidia_capability = 0;  // compute capability of an NVIDIA GPU with NVIDIA's driver; 90 = 9.0
  std::size_t memory_bytes = 0, largest_buffer_bytes = 0;

  // "opencl:0.0 (Mali-T604)", for messages.
  std::string title() const { return text + " (" + name + ")"; }
};

// The devices of this machine, in the order of their numbers; none without OpenCL, with the reason.
struct Devices {
  std::vector<DeviceInfo> list;
  std::string none_because;
};
Devices find_devices();

// For tests: called with the properties of every device, which it may change; null = no changes.
using Disguise = void (*)(DeviceInfo& info);
void disguise_devices(Disguise disguise);

// A handle that must be released by a call.
template <class Handle>
class Owned {
 public:
  using Release = cl_int (*)(Handle);
  Owned() = default;
  Owned(Handle handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Release release_ = nullptr;
};

// One device and its own context.
class Context {
 public:
  // \throws Error (device) when there is no such device, or it is unsuitable
  Context(int platform, int index);

  const DeviceInfo& info() const { return info_; }
  cl_context handle() const { return handle_.get(); }
  // Lowers DeviceInfo::group_items for programs that are built from now on.
  void limit_groups(std::size_t items) { info_.group_items = items; }

 private:
  DeviceInfo info_;
  Owned<cl_context> handle_;
};

using SharedContext = std::shared_ptr<const Context>;
using Memory = Owned<cl_mem>;

// Memory of the device's own, which the host can map without copies where both share memory.
cl_mem_flags device_memory(const Context& context);
// \param flags as clCreateBuffer takes them
Memory allocate(const Context& context, std::size_t bytes, cl_mem_flags flags);

// Runs commands in order, without waiting between them. On a processor it also measures stages; on a GPU,
// measuring would take longer than some stages.
class Queue {
 public:
  Queue() = default;
  explicit Queue(const Context& context);

  cl_command_queue handle() const { return handle_.get(); }
  bool measures() const { return measures_; }
  bool shares_memory() const { return shares_memory_; }
  // \throws Error that names the call and the device, unless the result is CL_SUCCESS
  void check(cl_int result, const std::string& call) const;
  // A stage consists of the commands enqueued since the last finish_stage() or start_stages().
  void start_stages();
  void finish_stage(const char* stage);
  // Adds the times of the stages, which must have finished.
  void add_stage_times(std::vector<StageTime>& times) const;
  void wait() const;

 private:
  struct Stage {
    const char* name;
    Owned<cl_event> end;
  };

  Owned<cl_command_queue> handle_;
  bool measures_ = false, shares_memory_ = false;
  std::string device_;
  std::vector<Stage> stages_;
};

// Waits for all commands of the queue, and maps bytes of a buffer into the host's memory.
std::byte* map(const Queue& queue, cl_mem memory, cl_map_flags flags, std::size_t from, std::size_t bytes);
void unmap(const Queue& queue, cl_mem memory, void* mapped);
// Copies from the host, through mapped memory where the device shares it, and waits.
void write(const Queue& queue, cl_mem memory, cl_long to, std::size_t bytes, const void* from);

}  // namespace parallax::opencl
