// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/copy_rows.h"
#include "devices/cuda/kernel_sources.h"
#include "devices/cuda/plan.h"
#include "execution/right_map_plan.h"

namespace parallax::detail {
namespace {

// Pictures in the memory of the GPU are mirrored there.
class RightMapCudaPlan final : public RightMapPlan {
 public:
  RightMapCudaPlan(std::unique_ptr<Plan> matcher, const ImageFormat& format, const Device& device)
      : RightMapPlan(std::move(matcher), format, device.threads),
        context_(std::make_shared<cuda::Context>(device.index)) {
    const std::size_t bytes =
        format.size.pixels() * MirroredPair::max_channels * bytes_per_sample(format.depth);
    for (auto& image : images_) image = layout_.reserve<std::byte>(bytes);
    for (auto& mask : masks_) mask = layout_.reserve_plane<std::uint8_t>(format.size);
  }

  std::size_t memory_bytes() const override { return RightMapPlan::memory_bytes() + layout_.bytes(); }
  std::optional<GpuMemory> gpu_memory() const override {
    std::optional<GpuMemory> memory = RightMapPlan::gpu_memory();
    if (memory) memory->needed += layout_.bytes();
    return memory;
  }

  void allocate() override {
    RightMapPlan::allocate();
    memory_ = cuda::allocate(context_, layout_.bytes());
    done_ = cuda::make_event(context_);
    program_ = cuda::Program(context_, cuda::execution_mirror_cu, {});
    mirror_rows_ = program_.kernel("mirror_rows");
    mirror_in_place_ = program_.kernel("mirror_in_place");
    cuda::load_programs(context_);
  }

  // The mirrored images are overwritten only after the last match, on whatever stream, has read them.
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) override {
    matcher().enqueue(pair, left_of(map), stream);
    if (map.right.empty()) return;
    const cuda::Current current(*context_);
    const auto handle = static_cast<cuda::StreamHandle>(stream);
    const bool is_captured = cuda::captures(handle);
    if (!is_captured)
      cuda::check(cuda::driver().cuStreamWaitEvent(handle, done_.get(), 0), "cuStreamWaitEvent");
    StereoPair mirror = pair;
    mirror.left = mirrored(pair.right, images_[0], handle);
    mirror.right = mirrored(pair.left, images_[1], handle);
    mirror.left_mask = mirrored(pair.right_mask, masks_[0], handle);
    mirror.right_mask = mirrored(pair.left_mask, masks_[1], handle);
    matcher().enqueue(mirror, as_map(map.right), stream);
    mirror_back(map.right.disparity, handle);
    mirror_back(map.right.status, handle);
    mirror_back(map.right.confidence, handle);
    mirror_back(map.right.row_offset, handle);
    if (!is_captured) cuda::check(cuda::driver().cuEventRecord(done_.get(), handle), "cuEventRecord");
  }

 private:
  static constexpr unsigned block = 128;

  std::byte* device_memory() const { return reinterpret_cast<std::byte*>(memory_.get()); }

  ImageView mirrored(const ImageView& image, const Buffer<std::byte>& buffer,
                     cuda::StreamHandle stream) const {
    const auto row = static_cast<std::ptrdiff_t>(row_bytes(image));
    std::byte* to = buffer.in(device_memory());
    mirror_rows(image.data, image.stride_bytes, to, row, static_cast<int>(row) / format().size.width, stream);
    return {to, image.format, image.channels, row};
  }
  View<const std::uint8_t> mirrored(const View<const std::uint8_t>& mask,
                                    const PlaneBuffer<std::uint8_t>& buffer,
                                    cuda::StreamHandle stream) const {
    if (mask.empty()) return {};
    const View<std::uint8_t> to = buffer.in(device_memory());
    mirror_rows(mask.data, mask.stride_bytes, to.data, to.stride_bytes, 1, stream);
    return to;
  }
  void mirror_rows(const void* from, std::ptrdiff_t from_stride, void* to, std::ptrdiff_t to_stride,
                   int pixel_bytes, cuda::StreamHandle stream) const {
    const Size size = format().size;
    mirror_rows_.launch_pixels(stream, size, block, from, from_stride, to, to_stride, size.width,
                               pixel_bytes);
  }

  template <class T>
  void mirror_back(const View<T>& map, cuda::StreamHandle stream) const {
    if (map.empty()) return;
    const Size half{std::max(map.size.width / 2, 1), map.size.height};
    mirror_in_place_.launch_pixels(stream, half, block, map.data, map.stride_bytes, map.size.width,
                                   static_cast<int>(sizeof(T)));
  }

  cuda::SharedContext context_;
  ArenaLayout layout_;
  Buffer<std::byte> images_[2];
  PlaneBuffer<std::uint8_t> masks_[2];
  cuda::DeviceMemory memory_;
  cuda::Event done_;
  cuda::Program program_;
  cuda::Kernel mirror_rows_, mirror_in_place_;
};

}  // namespace

std::unique_ptr<Plan> cuda_with_right_map(std::unique_ptr<Plan> plan, const ImageFormat& format,
                                          const Device& device) {
  // Aligned rows are moved in the memory of the host.
  if (dynamic_cast<cuda::Plan*>(plan.get()) == nullptr)
    return std::make_unique<RightMapPlan>(std::move(plan), format, device.threads);
  return std::make_unique<RightMapCudaPlan>(std::move(plan), format, device);
}

}  // namespace parallax::detail
