// SPDX-License-Identifier: Apache-2.0
// Base of all plans on an OpenCL device: memory, a queue, and the transfers of a pair to the device and of
// its map back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"
#include "devices/opencl/program.h"
#include "devices/opencl/types.h"

namespace parallax::opencl {

// A buffer's offset for kernels, or a plane's offset and stride.
template <class T>
cl_long offset(const Buffer<T>& buffer) {
  return static_cast<cl_long>(buffer.offset);
}
template <class T>
cl_long offset(const PlaneBuffer<T>& plane) {
  return offset(plane.buffer);
}
template <class T>
cl_long stride(const PlaneBuffer<T>& plane) {
  return plane.stride;
}

// The properties of a run that decide where its images and masks are in a plan's memory.
struct PairShape {
  int channels[2];
  bool masked[2];
};

class Plan : public detail::Plan {
 public:
  // `tells_confidence` holds only where the device divides floats with correct rounding. `volume_labels`:
  // labels of the caller's data costs; 0 = the plan computes its own.
  Plan(const Device& device, const ImageFormat& format, bool tells_confidence, int volume_labels = 0);

  std::size_t memory_bytes() const final { return layout_.bytes() + staging_bytes(); }
  std::optional<GpuMemory> gpu_memory() const final;
  int cost_labels() const final { return volume_labels_; }
  bool tells_confidence() const final { return tells_confidence_; }
  void allocate() final;
  void run(const StereoPair& pair, const DisparityMap& map) final;
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) final;

  // run() with a pair that is not the caller's: make(const Pair& to) enqueues on queue() what writes it to
  // memory(), rows without gaps.
  template <class Make>
  void run_after(const PairShape& shape, const Make& make, const DisparityMap& map) {
    detail::StageClock clock(stage_times);
    try {
      const Pair placed = place(shape);
      make(placed);
      clock.finish("upload");
      stop_if_cancelled();
      match_and_download(placed, map, clock);
    } catch (...) {
      // Commands that are still running access the plan's memory.
      driver().clFinish(queue_.handle());
      throw;
    }
    clock.finish("download");
  }

  const Context& context() const { return *context_; }
  Queue& queue() { return queue_; }
  // The kernels' argument `global uchar* memory`; it holds all buffers of layout_.
  cl_mem memory() const { return memory_.get(); }

 protected:
  // Builds or loads the kernels, and initialises the memory that must not be zero. Called again, for smaller
  // groups (DeviceInfo::group_items), where the device refuses a kernel.
  virtual void prepare() = 0;
  // Enqueues everything from the pair to the finished map.
  virtual void match(const Pair& pair, const Map& map) = 0;

  const ImageFormat& format() const { return format_; }
  bool is_processor() const { return context_->info().is_processor; }
  cl_long reserve(std::size_t bytes) { return offset(layout_.reserve<std::byte>(bytes)); }
  // Copies from the plan's memory; for tests and pictures.
  void read(cl_long from, std::size_t bytes, void* to) const;
  // Copies to the plan's memory, and waits.
  void write(cl_long to, std::size_t bytes, const void* from) const;

  ArenaLayout layout_;

 private:
  bool shares_memory() const { return context_->info().shares_memory; }
  void prepare_in_groups_that_fit();
  std::size_t staging_bytes() const { return shares_memory() ? 0 : host_bytes_; }
  // Bytes of a pixel's data costs.
  std::size_t bytes_of_costs() const { return static_cast<std::size_t>(volume_labels_) * sizeof(float); }
  void clear() const;
  Pair place(const PairShape& shape) const;
  void upload(const StereoPair& pair, const Pair& placed);
  void match_and_download(const Pair& pair, const DisparityMap& map, detail::StageClock& clock);
  void write_staged(cl_long first, cl_long end) const;
  void copy_image(const StereoPair& from, const Pair& to, int side, std::byte* memory) const;
  void copy_masks_and_costs(const StereoPair& from, const Pair& to, std::byte* memory) const;
  // The place of the map in the plan's memory.
  Map place(const DisparityMap& map) const;
  void finish_match(detail::StageClock& clock);
  void download_at_once(const DisparityMap& map, detail::StageClock& clock);
  void download_bands(const DisparityMap& map, detail::StageClock& clock);
  Owned<cl_event> read_band(const DisparityMap& map, int first, int end) const;
  void copy_out(const std::byte* from, const DisparityMap& to, int first, int end) const;

  std::shared_ptr<Context> context_;
  ImageFormat format_;
  bool tells_confidence_;
  int volume_labels_;
  Workers workers_;
  Buffer<std::byte> pair_;
  PlaneBuffer<float> disparity_, confidence_;
  PlaneBuffer<std::uint8_t> status_;
  std::size_t host_bytes_ = 0;  // size of the pair and the map, which come first in layout_
  Memory memory_;
  Memory staging_;  // host memory, where the device has its own; laid out like the start of memory_
  std::byte* staging_memory_ = nullptr;
  Queue queue_;
};

}  // namespace parallax::opencl
