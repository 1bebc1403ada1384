// SPDX-License-Identifier: Apache-2.0
// Base of all plans on a GPU: memory, a stream, and the graph of a run, from a pair to its map. Only the
// addresses of the pair and the map change from run to run.
#pragma once

#include <cstddef>
#include <optional>

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"
#include "devices/cuda/map_buffers.h"
#include "devices/cuda/pair.h"
#include "devices/cuda/program.h"
#include "devices/cuda/sparse_memory.h"

namespace parallax::cuda {

inline Image kernel_image(const ImageView& image) {
  return {image.data, image.stride_bytes, image.channels, static_cast<int>(image.format.depth)};
}

inline Mask kernel_mask(const View<const std::uint8_t>& mask) {
  return {mask.data, mask.stride()};
}

// \throws Error (argument) for rows of 16-bit values at odd addresses, which kernels cannot read
void check_aligned(const char* which, const ImageView& image);

class Plan : public detail::Plan {
 public:
  // `volume_labels`: labels of the caller's data costs; 0 = the plan computes its own.
  Plan(const Device& device, const ImageFormat& format, int volume_labels, bool tells_confidence,
       bool tells_row_offsets = false);

  std::size_t memory_bytes() const override { return gpu_bytes() + host_layout_.bytes(); }
  std::optional<GpuMemory> gpu_memory() const override {
    return GpuMemory{gpu_bytes(), free_memory(*context_),
                     " are free on the GPU: nvidia-smi shows what uses the rest"};
  }
  int cost_labels() const final { return volume_labels_; }
  bool tells_confidence() const final { return tells_confidence_; }
  bool tells_row_offsets() const final { return tells_row_offsets_; }
  void allocate() final;
  void sleep_while_waiting() final { sleeps_ = true; }
  void run(const StereoPair& pair, const DisparityMap& map) final;
  void start(const StereoPair& pair, const DisparityMap& map) final;
  void wait(int most_running) final;
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) final;
  void enqueue_finite(const StereoPair& pair, const FiniteMap& map, void* stream) final;

 protected:
  // Compiles or loads the kernels, and initialises the memory that needs it.
  virtual void prepare(StreamHandle stream) = 0;
  // Enqueues the reads of a pair in memory that the GPU reaches (its own or the host's), at other addresses
  // in each run.
  virtual void take(const StereoPair& pair, ChangingLaunches& launches) = 0;
  // Computes the finished map. `map.confidence` is empty where the caller does not want it; `map.row_offset`
  // only where the plan has none.
  virtual void match(const DisparityMap& map, StreamHandle stream) = 0;

  // Device address of a buffer reserved in layout_.
  template <class T>
  T* at(const Buffer<T>& buffer) const {
    return buffer.in(device_memory());
  }
  template <class T>
  View<T> at(const PlaneBuffer<T>& plane) const {
    return plane.in(device_memory());
  }
  // The caller's data costs, packed: rows without gaps.
  const float* volume() const { return at(volume_); }
  // Waits for the copy, so that `values` may be destroyed.
  template <class T>
  void fill(const Buffer<T>& buffer, const std::vector<T>& values, StreamHandle stream) const {
    upload(values, at(buffer), stream);
  }
  template <class T>
  DeviceAddress address(const Buffer<T>& buffer) const {
    return memory_.get() + buffer.offset;
  }
  std::byte* device_memory() const { return reinterpret_cast<std::byte*>(memory_.get()); }
  const SharedContext& context() const { return context_; }
  const ImageFormat& format() const { return format_; }

  ArenaLayout layout_;
  SparseMemory sparse_;

 private:
  std::size_t gpu_bytes() const { return layout_.bytes() + sparse_.bytes(*context_); }
  std::byte* host_memory() const { return static_cast<std::byte*>(pinned_.get()); }
  StereoPair within_reach(const StereoPair& pair) const;
  void copy_volume(const CostVolume& costs, MemoryType type, StreamHandle stream) const;
  void copy_out(const DisparityMap& to, ChangingLaunches& launches) const;
  StereoPair staged_pair() const;
  void record(const StereoPair& pair, const DisparityMap& map, ChangingLaunches& changing,
              StreamHandle stream);
  void prepare_run(const DisparityMap& map);
  void launch(const StereoPair& pair, const DisparityMap& map, MemoryType type_of_costs, StreamHandle stream);
  void launch_from_host(const StereoPair& pair, const DisparityMap& map);
  void end_match(StreamHandle stream) const;
  void wait_for_match() const;

  SharedContext context_;
  ImageFormat format_;
  int volume_labels_;
  bool tells_confidence_, tells_row_offsets_;
  Workers workers_;
  ArenaLayout host_layout_;             // layout of page-locked memory, for images that the GPU cannot reach
  Buffer<std::byte> staged_images_[2];  // rows without gaps, as in staged_masks_
  Buffer<std::uint8_t> staged_masks_[2];
  MapBuffers staged_map_, map_;
  Buffer<float> volume_;
  DeviceMemory memory_;
  PinnedMemory pinned_;
  Stream stream_;
  Event matched_;  // after the last match, on whatever stream
  bool sleeps_ = false;
  std::optional<RunningMap> running_;
  Program copy_program_;
  Kernel copy_map_, copy_finite_map_;
  // The graph of a run, and the launches to update in it.
  struct Recorded {
    Graph graph;
    ChangingLaunches changing;
  };
  Recorded without_confidence_, with_confidence_;
};

}  // namespace parallax::cuda
