// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"
#include "core/copy_rows.h"
#include "devices/opencl/plan.h"
#include "execution/rectified_plan.h"
#include "remap/opencl_stage.h"

namespace parallax::detail {
namespace {

// The cameras' images and the maps are in memory of its own; the rectified images in the matcher's, where it
// expects a pair.
class RectifiedOpenclPlan final : public Plan {
 public:
  RectifiedOpenclPlan(std::unique_ptr<Plan> owned, opencl::Plan& matcher, const remap::SharedProblem& problem,
                      const Device& device)
      : owned_(std::move(owned)),
        matcher_(matcher),
        problem_(problem),
        workers_(copying_workers(device.threads, problem->maps[0].size)),
        stage_(*problem_, layout_) {
    for (int side = 0; side < remap::sides; ++side) {
      const remap::Map& map = problem_->maps[side];
      const std::size_t bytes = map.camera.pixels() * max_channels * bytes_per_sample(problem_->depth);
      if (!shares_memory()) staged_[side] = host_layout_.reserve<std::byte>(bytes);
      cameras_[side] = layout_.reserve<std::byte>(bytes);
      is_masked_[side] = has_unseen(map);
    }
  }

  std::size_t memory_bytes() const override {
    return matcher_.memory_bytes() + layout_.bytes() + host_layout_.bytes();
  }
  std::optional<GpuMemory> gpu_memory() const override {
    std::optional<GpuMemory> memory = matcher_.gpu_memory();
    if (memory) memory->needed += layout_.bytes();
    return memory;
  }
  bool tells_confidence() const override { return matcher_.tells_confidence(); }
  bool tells_row_offsets() const override { return matcher_.tells_row_offsets(); }

  void allocate() override {
    matcher_.allocate();
    const opencl::Context& context = matcher_.context();
    memory_ = opencl::allocate(context, layout_.bytes(), opencl::device_memory(context));
    if (!shares_memory()) {
      staging_ = opencl::allocate(context, host_layout_.bytes(), CL_MEM_ALLOC_HOST_PTR);
      staging_memory_ =
          opencl::map(matcher_.queue(), staging_.get(), CL_MAP_READ | CL_MAP_WRITE, 0, host_layout_.bytes());
    }
    stage_.prepare(*problem_, context, matcher_.queue(), memory_.get());
  }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    const opencl::PairShape shape{{pair.left.channels, pair.right.channels}, {is_masked_[0], is_masked_[1]}};
    stage_times.clear();
    matcher_.run_after(
        shape, [&](const opencl::Pair& to) { rectify(pair, to); }, map);
    stage_times = matcher_.stage_times;
  }

 private:
  bool shares_memory() const { return matcher_.context().info().shares_memory; }

  void rectify(const StereoPair& pair, const opencl::Pair& to) {
    remap::OpenclStage::Places places{};
    const ImageView* images[] = {&pair.left, &pair.right};
    for (int side = 0; side < remap::sides; ++side) {
      upload(*images[side], side);
      places.from[side] = opencl::offset(cameras_[side]);
      places.to[side] = to.image[side];
      places.mask[side] = to.mask[side];
      places.channels[side] = to.channels[side];
    }
    stage_.enqueue(places, matcher_.queue(), matcher_.memory());
  }

  // Does not wait where the picture is staged, so that the right one is copied while the left one travels.
  void upload(const ImageView& image, int side) {
    const opencl::Queue& queue = matcher_.queue();
    const std::size_t from = cameras_[side].offset,
                      bytes = row_bytes(image) * static_cast<std::size_t>(image.format.size.height);
    if (shares_memory()) {
      const WorkOnCall uncancelled(nullptr);  // while memory is mapped
      std::byte* mapped = opencl::map(queue, memory_.get(), CL_MAP_WRITE_INVALIDATE_REGION, from, bytes);
      copy_packed(image, mapped);
      return opencl::unmap(queue, memory_.get(), mapped);
    }
    std::byte* staged = staged_[side].in(staging_memory_);
    copy_packed(image, staged);
    queue.check(opencl::driver().clEnqueueWriteBuffer(queue.handle(), memory_.get(), CL_FALSE, from, bytes,
                                                      staged, 0, nullptr, nullptr),
                "clEnqueueWriteBuffer of a picture");
  }

  void copy_packed(const ImageView& image, std::byte* to) const {
    const std::size_t row = row_bytes(image);
    copy_rows({static_cast<const std::byte*>(image.data), image.stride_bytes},
              {to, static_cast<std::ptrdiff_t>(row)}, row, image.format.size.height, workers_);
  }

  std::unique_ptr<Plan> owned_;
  opencl::Plan& matcher_;  // the same plan
  remap::SharedProblem problem_;
  Workers workers_;
  ArenaLayout layout_, host_layout_;
  remap::OpenclStage stage_;
  Buffer<std::byte> staged_[remap::sides];   // on the host
  Buffer<std::byte> cameras_[remap::sides];  // on the device
  bool is_masked_[remap::sides];
  opencl::Memory memory_;
  opencl::Memory staging_;  // memory of the host
  std::byte* staging_memory_ = nullptr;
};

}  // namespace

std::unique_ptr<Plan> rectified_opencl_plan(std::unique_ptr<Plan> matcher,
                                            const remap::SharedProblem& problem, const Device& device) {
  auto* const on_device = dynamic_cast<opencl::Plan*>(matcher.get());
  // On a processor, the library's own vector code rectifies faster.
  if (on_device == nullptr || on_device->context().info().is_processor)
    return rectified_host_plan(std::move(matcher), problem, device);
  return std::make_unique<RectifiedOpenclPlan>(std::move(matcher), *on_device, problem, device);
}

}  // namespace parallax::detail
