// What every plan on a GPU has: its memory there, a stream, a graph, and the way from and to the host.
#pragma once

#include <cstddef>
#include <optional>

#include "core/arena.h"
#include "core/plan.h"
#include "core/workers.h"
#include "devices/cuda/program.h"

namespace parallax::cuda {

class Plan : public detail::Plan {
 public:
  // `volume_labels`: of the caller's data costs; 0 = the plan computes its own.
  Plan(const Device& device, const ImageFormat& format, int volume_labels, bool tells_confidence);

  std::size_t memory_bytes() const final { return layout_.bytes() + host_layout_.bytes(); }
  std::optional<std::size_t> free_bytes() const final { return free_memory(*context_); }
  int cost_labels() const final { return volume_labels_; }
  bool tells_confidence() const final { return tells_confidence_; }
  void allocate() final;
  void run(const StereoPair& pair, const DisparityMap& map) final;
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) final;

 protected:
  // Compiles or loads the kernels, and fills what is to be in memory before the first run.
  virtual void prepare(StreamHandle stream) = 0;
  // Takes what it needs of a pair on the device, whose images and memory change from run to run.
  virtual void take(const StereoPair& pair, StreamHandle stream) = 0;
  // All the rest, up to the finished map; becomes the graph.
  virtual void match(const DisparityMap& map, StreamHandle stream) = 0;

  // What is reserved in layout_, on the device.
  template <class T>
  T* at(const Buffer<T>& buffer) const {
    return buffer.in(device_memory());
  }
  template <class T>
  View<T> at(const PlaneBuffer<T>& plane) const {
    return plane.in(device_memory());
  }
  // The caller's data costs, side by side.
  const float* volume() const { return at(volume_); }
  // Waits until it is done, so that `values` may go away.
  template <class T>
  void fill(const Buffer<T>& buffer, const std::vector<T>& values, StreamHandle stream) const {
    fill(address(buffer), values.data(), values.size() * sizeof(T), stream);
  }
  template <class T>
  void clear(const Buffer<T>& buffer, StreamHandle stream) const {
    clear(address(buffer), buffer.count * sizeof(T), stream);
  }
  void clear(DeviceAddress first, std::size_t bytes, StreamHandle stream) const;
  template <class T>
  DeviceAddress address(const Buffer<T>& buffer) const {
    return memory_.get() + buffer.offset;
  }
  std::byte* device_memory() const { return reinterpret_cast<std::byte*>(memory_.get()); }
  const SharedContext& context() const { return context_; }
  const ImageFormat& format() const { return format_; }

  ArenaLayout layout_;

 private:
  // Between the caller's images and the kernels: images and masks without gaps, the map as kernels write it.
  struct Staging {
    Buffer<std::byte> images[2];
    Buffer<std::uint8_t> masks[2];
    PlaneBuffer<float> disparity, confidence;
    PlaneBuffer<std::uint8_t> status;
  };

  void fill(DeviceAddress to, const void* values, std::size_t bytes, StreamHandle stream) const;
  std::byte* host_memory() const { return static_cast<std::byte*>(pinned_.get()); }
  Staging reserve(ArenaLayout& layout) const;
  static DisparityMap map_in(const Staging& staging, std::byte* memory);
  StereoPair upload(const StereoPair& pair) const;
  void upload_rows(const void* rows, std::ptrdiff_t stride_bytes, std::size_t row_bytes, std::byte* through,
                   std::byte* to) const;
  void copy_volume(const CostVolume& costs, MemoryType type, StreamHandle stream) const;
  void match_staged(StreamHandle stream) const;
  template <class T>
  void download(const View<T>& from, const View<T>& through, const View<T>& to) const;
  template <class T>
  void unstage(const View<T>& from, const View<T>& to) const;
  void copy_rows(const std::byte* from, std::ptrdiff_t from_stride, std::byte* to, std::ptrdiff_t to_stride,
                 std::size_t row_bytes) const;
  void note_stages();

  SharedContext context_;
  ImageFormat format_;
  int volume_labels_;
  bool tells_confidence_;
  Workers workers_;
  ArenaLayout host_layout_;
  Staging on_device_, on_host_;
  Buffer<float> volume_;
  DeviceMemory memory_;
  PinnedMemory pinned_;
  Stream stream_;
  Event started_, uploaded_, matched_, downloaded_;
  Program copy_program_;
  Kernel copy_map_;
  Graph graph_;
};

}  // namespace parallax::cuda
