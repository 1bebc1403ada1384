// SPDX-License-Identifier: Apache-2.0
#include "execution/right_map_plan.h"

#include <optional>
#include <utility>

#include "core/arena.h"
#include "core/mirror.h"

namespace parallax::detail {
namespace {

class RightMapPlan final : public Plan {
 public:
  RightMapPlan(std::unique_ptr<Plan> plan, const ImageFormat& format, int threads)
      : plan_(std::move(plan)), format_(format), workers_(threads) {
    if (plan_->cost_labels() > 0)
      throw Error(
          ErrorCategory::argument,
          "the data costs of a caller are those of left pixels: leave out the map of the right image");
    remedy = plan_->remedy;
    reserve();
  }

  std::size_t memory_bytes() const override { return plan_->memory_bytes() + arena_.bytes(); }
  std::optional<GpuMemory> gpu_memory() const override { return plan_->gpu_memory(); }
  bool tells_confidence() const override { return plan_->tells_confidence(); }
  bool tells_row_offsets() const override { return plan_->tells_row_offsets(); }
  bool tells_right_map() const override { return true; }
  void sleep_while_waiting() override { plan_->sleep_while_waiting(); }
  CostCurve cost_curve(int x, int y) const override { return plan_->cost_curve(x, y); }

  void allocate() override {
    plan_->allocate();
    arena_.allocate();
    reserve();
  }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    plan_->run(pair, left_of(map));
    stage_times = plan_->stage_times;
    if (map.right.empty()) return;
    StageClock clock(right_times_);
    plan_->run(mirrored(pair), as_map(map.right));
    mirror_back(map.right);
    clock.finish("right map");
    stage_times.push_back(right_times_.front());
  }

  // The pair is mirrored while the left map is being made.
  void start(const StereoPair& pair, const DisparityMap& map) override {
    wait(0);
    stage_times.clear();
    plan_->start(pair, left_of(map));
    if (map.right.empty()) return;
    plan_->start(mirrored(pair), as_map(map.right));
    running_ = map.right;
  }

  void wait(int most_running) override {
    if (!running_) return plan_->wait(most_running);
    if (most_running > 0) return;
    const RightDisparityMap right = *running_;
    running_.reset();
    plan_->wait(0);
    mirror_back(right);
  }

  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) override {
    if (!map.right.empty())
      throw Error(ErrorCategory::device,
                  "the map of the right image is made in host memory: use run(), or leave out that map");
    plan_->enqueue(pair, map, stream);
  }
  void enqueue_finite(const StereoPair& pair, const FiniteMap& map, void* stream) override {
    plan_->enqueue_finite(pair, map, stream);
  }

 private:
  static constexpr std::size_t max_channels = 3;

  void reserve() {
    for (std::byte*& image : images_)
      image =
          arena_.reserve<std::byte>(format_.size.pixels() * max_channels * bytes_per_sample(format_.depth));
    for (auto& mask : masks_) mask = arena_.reserve_plane<std::uint8_t>(format_.size);
  }

  static DisparityMap left_of(const DisparityMap& map) {
    return {map.disparity, map.status, map.confidence, map.row_offset};
  }
  static DisparityMap as_map(const RightDisparityMap& map) {
    return {map.disparity, map.status, map.confidence, map.row_offset};
  }

  // The right image becomes the left one.
  StereoPair mirrored(const StereoPair& pair) const {
    StereoPair mirror = pair;
    mirror.left = mirrored(pair.right, images_[0]);
    mirror.right = mirrored(pair.left, images_[1]);
    mirror.left_mask = mirrored(pair.right_mask, masks_[0]);
    mirror.right_mask = mirrored(pair.left_mask, masks_[1]);
    return mirror;
  }
  ImageView mirrored(const ImageView& image, std::byte* to) const {
    const std::size_t row = row_bytes(image);
    const auto stride = static_cast<std::ptrdiff_t>(row);
    mirror_rows({static_cast<const std::byte*>(image.data), image.stride_bytes}, {to, stride}, format_.size,
                row / to_size(format_.size.width), workers_);
    return {to, image.format, image.channels, stride};
  }
  View<const std::uint8_t> mirrored(const View<const std::uint8_t>& mask, View<std::uint8_t> to) const {
    if (mask.empty()) return {};
    mirror_rows(const_rows_of(mask), rows_of(to), format_.size, 1, workers_);
    return to;
  }

  void mirror_back(const RightDisparityMap& map) const {
    mirror_back(map.disparity);
    mirror_back(map.status);
    mirror_back(map.confidence);
    mirror_back(map.row_offset);
  }
  template <class T>
  void mirror_back(const View<T>& map) const {
    if (!map.empty()) mirror_rows(const_rows_of(map), rows_of(map), format_.size, sizeof(T), workers_);
  }

  std::unique_ptr<Plan> plan_;
  ImageFormat format_;
  Workers workers_;
  Arena arena_;
  std::byte* images_[2] = {};
  View<std::uint8_t> masks_[2];
  std::vector<StageTime> right_times_ = std::vector<StageTime>(1);  // reserved: a run does not allocate
  std::optional<RightDisparityMap> running_;
};

}  // namespace

std::unique_ptr<Plan> with_right_map(std::unique_ptr<Plan> plan, const ImageFormat& format, int threads) {
  return std::make_unique<RightMapPlan>(std::move(plan), format, threads);
}

}  // namespace parallax::detail
