// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"
#include "core/copy_rows.h"
#include "execution/rectified_plan.h"

namespace parallax::detail {
namespace {

class RectifiedHostPlan final : public Plan {
 public:
  RectifiedHostPlan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem, const Device& device)
      : matcher_(std::move(matcher)),
        rectifier_(device.kind == DeviceKind::reference ? remap::make_reference(problem)
                                                        : remap::make_cpu(problem, device)),
        format_{problem->maps[0].size, problem->depth} {
    for (int side = 0; side < remap::sides; ++side) is_masked_[side] = has_unseen(problem->maps[side]);
    reserve();
  }

  std::size_t memory_bytes() const override {
    return matcher_->memory_bytes() + rectifier_->memory_bytes() + arena_.bytes();
  }
  std::optional<GpuMemory> gpu_memory() const override { return matcher_->gpu_memory(); }
  void allocate() override {
    matcher_->allocate();
    arena_.allocate();
    reserve();
  }
  bool tells_confidence() const override { return matcher_->tells_confidence(); }
  bool tells_row_offsets() const override { return matcher_->tells_row_offsets(); }
  bool tells_right_map() const override { return matcher_->tells_right_map(); }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    StageClock clock(stage_times);
    const StereoPair rectified = rectify(pair);
    clock.finish("rectify");
    matcher_->run(rectified, map);
    stage_times.insert(stage_times.end(), matcher_->stage_times.begin(), matcher_->stage_times.end());
  }

 private:
  void reserve() {
    const std::size_t bytes = format_.size.pixels() * max_channels * bytes_per_sample(format_.depth);
    for (int side = 0; side < remap::sides; ++side) {
      images_[side] = arena_.reserve<std::byte>(bytes);
      if (is_masked_[side]) masks_[side] = arena_.reserve_plane<std::uint8_t>(format_.size);
    }
  }

  StereoPair rectify(const StereoPair& pair) {
    const auto output = [&](int side, const ImageView& from) {
      const std::ptrdiff_t stride =
          format_.size.width * from.channels * static_cast<std::ptrdiff_t>(bytes_per_sample(format_.depth));
      return ImageOutput(images_[side], format_, from.channels, stride);
    };
    const remap::Images images{
        {pair.left, pair.right}, {output(0, pair.left), output(1, pair.right)}, {masks_[0], masks_[1]}};
    rectifier_->run(images);
    return {images.to[0], images.to[1], masks_[0], masks_[1]};
  }

  std::unique_ptr<Plan> matcher_;
  std::unique_ptr<remap::Plan> rectifier_;
  ImageFormat format_;
  bool is_masked_[remap::sides];
  Arena arena_;
  std::byte* images_[remap::sides] = {};
  View<std::uint8_t> masks_[remap::sides];
};

}  // namespace

std::unique_ptr<Plan> rectified_host_plan(std::unique_ptr<Plan> matcher, const remap::SharedProblem& problem,
                                          const Device& device) {
  return std::make_unique<RectifiedHostPlan>(std::move(matcher), problem, device);
}

}  // namespace parallax::detail
