// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"
#include "core/copy_rows.h"
#include "devices/cuda/context.h"
#include "devices/cuda/map_buffers.h"
#include "devices/cuda/plan.h"
#include "execution/rectified_plan.h"
#include "remap/cuda_stage.h"

namespace parallax::detail {
namespace {

class RectifiedCudaPlan final : public Plan {
 public:
  RectifiedCudaPlan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem, const Device& device)
      : matcher_(std::move(matcher)),
        problem_(problem),
        format_{problem_->maps[0].size, problem_->depth},
        context_(std::make_shared<cuda::Context>(device.index)),
        workers_(copying_workers(device.threads, problem->maps[0].size)),
        stage_(*problem_, layout_) {
    const std::size_t pixel_bytes = max_channels * bytes_per_sample(format_.depth);
    for (int side = 0; side < remap::sides; ++side) {
      const remap::Map& map = problem_->maps[side];
      const std::size_t camera_bytes = map.camera.pixels() * pixel_bytes;
      staged_[side] = host_layout_.reserve<std::byte>(camera_bytes);
      cameras_[side] = layout_.reserve<std::byte>(camera_bytes);
      images_[side] = layout_.reserve<std::byte>(format_.size.pixels() * pixel_bytes);
      is_masked_[side] = has_unseen(map);
      if (is_masked_[side]) masks_[side] = layout_.reserve_plane<std::uint8_t>(format_.size);
    }
    staged_map_ = cuda::MapBuffers(format_.size, tells_confidence(), tells_row_offsets(), host_layout_);
  }

  std::size_t memory_bytes() const override {
    return matcher_->memory_bytes() + layout_.bytes() + host_layout_.bytes();
  }
  std::optional<GpuMemory> gpu_memory() const override {
    std::optional<GpuMemory> memory = matcher_->gpu_memory();
    if (memory) memory->needed += layout_.bytes();
    return memory;
  }
  bool tells_confidence() const override { return matcher_->tells_confidence(); }
  bool tells_row_offsets() const override { return matcher_->tells_row_offsets(); }

  void allocate() override {
    matcher_->allocate();
    memory_ = cuda::allocate(context_, layout_.bytes());
    pinned_ = cuda::allocate_pinned(context_, host_layout_.bytes());
    stream_ = cuda::make_stream(context_);
    done_ = cuda::make_event(context_);
    const cuda::Current current(*context_);
    stage_.prepare(*problem_, context_, device_memory(), stream_.get());
    // The first pair may be enqueued on another stream, which does not wait for this one.
    cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
  }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    StageClock clock(stage_times);
    start(pair, map);
    wait(0);
    clock.finish("match");
  }

  void start(const StereoPair& pair, const DisparityMap& map) override {
    wait(0);
    const cuda::Current current(*context_);
    stage_times.clear();
    const cuda::RunningMap running{staged_map_.within_reach(map, host_memory()), map};
    try {
      const StereoPair uploaded{upload(pair.left, 0), upload(pair.right, 1)};
      enqueue(uploaded, running.from, stream_.get());
    } catch (...) {
      cuda::driver().cuStreamSynchronize(stream_.get());
      throw;
    }
    running_ = running;
  }

  void wait(int most_running) override {
    if (!running_ || most_running > 0) return;
    const cuda::Current current(*context_);
    const cuda::RunningMap running = *running_;
    running_.reset();
    cuda::synchronise(stream_.get());
    running.copy(workers_);
  }

  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) override {
    rectify(pair, stream, [&](const StereoPair& rectified) { matcher_->enqueue(rectified, map, stream); });
  }

  void enqueue_finite(const StereoPair& pair, const FiniteMap& map, void* stream) override {
    rectify(pair, stream,
            [&](const StereoPair& rectified) { matcher_->enqueue_finite(rectified, map, stream); });
  }

 private:
  std::byte* device_memory() const { return reinterpret_cast<std::byte*>(memory_.get()); }
  std::byte* host_memory() const { return static_cast<std::byte*>(pinned_.get()); }

  // The rectified images are overwritten only after the last match, on whatever stream, has read them.
  template <class Match>
  void rectify(const StereoPair& pair, void* stream, const Match& match) {
    const cuda::Current current(*context_);
    const auto handle = static_cast<cuda::StreamHandle>(stream);
    const bool is_captured = cuda::captures(handle);
    if (!is_captured)
      cuda::check(cuda::driver().cuStreamWaitEvent(handle, done_.get(), 0), "cuStreamWaitEvent");
    remap::Images images{{pair.left, pair.right}, {}, {}};
    for (int side = 0; side < remap::sides; ++side) {
      const int channels = images.from[side].channels;
      images.to[side] = {images_[side].in(device_memory()), format_, channels,
                         packed_stride(format_.size.width, channels)};
      if (is_masked_[side]) images.masks[side] = masks_[side].in(device_memory());
    }
    stage_.enqueue(images, handle);
    match(StereoPair{images.to[0], images.to[1], images.masks[0], images.masks[1]});
    if (!is_captured) cuda::check(cuda::driver().cuEventRecord(done_.get(), handle), "cuEventRecord");
  }

  std::ptrdiff_t packed_stride(int width, int channels) const {
    return width * channels * static_cast<std::ptrdiff_t>(bytes_per_sample(format_.depth));
  }

  // Uploads rows without gaps, through page-locked memory.
  ImageView upload(const ImageView& image, int side) const {
    const Size size = image.format.size;
    const std::ptrdiff_t stride = packed_stride(size.width, image.channels);
    const std::size_t bytes = static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height);
    const void* from = image.data;
    if (!cuda::is_pinned(from) || image.stride_bytes != stride) {
      std::byte* packed = staged_[side].in(host_memory());
      copy_rows({static_cast<const std::byte*>(from), image.stride_bytes}, {packed, stride},
                static_cast<std::size_t>(stride), size.height, workers_);
      from = packed;
    }
    std::byte* to = cameras_[side].in(device_memory());
    cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::DeviceAddress>(to), from, bytes,
                                                    stream_.get()),
                "cuMemcpyHtoDAsync of " + std::to_string(bytes) + " bytes");
    return {to, image.format, image.channels, stride};
  }

  std::unique_ptr<Plan> matcher_;
  remap::SharedProblem problem_;
  ImageFormat format_;
  cuda::SharedContext context_;
  Workers workers_;
  ArenaLayout layout_, host_layout_;
  remap::CudaStage stage_;
  Buffer<std::byte> staged_[remap::sides];                          // on the host
  Buffer<std::byte> cameras_[remap::sides], images_[remap::sides];  // on the GPU, like the masks
  bool is_masked_[remap::sides];
  PlaneBuffer<std::uint8_t> masks_[remap::sides];
  cuda::MapBuffers staged_map_;  // on the host
  cuda::DeviceMemory memory_;
  cuda::PinnedMemory pinned_;
  cuda::Stream stream_;
  cuda::Event done_;
  std::optional<cuda::RunningMap> running_;
};

}  // namespace

std::unique_ptr<Plan> rectified_cuda_plan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem,
                                          const Device& device) {
  // Aligned rows are moved in the memory of the host.
  if (dynamic_cast<cuda::Plan*>(matcher.get()) == nullptr)
    return rectified_host_plan(std::move(matcher), problem, device);
  return std::make_unique<RectifiedCudaPlan>(std::move(matcher), problem, device);
}

}  // namespace parallax::detail
