// SPDX-License-Identifier: Apache-2.0
#include "execution/right_map_plan.h"

#include <utility>

#include "core/mirror.h"

namespace parallax::detail {

RightMapPlan::RightMapPlan(std::unique_ptr<Plan> plan, const ImageFormat& format, int threads)
    : plan_(std::move(plan)),
      format_(format),
      workers_(copying_workers(threads, format.size)),
      mirrored_(format) {
  if (plan_->cost_labels() > 0)
    throw Error(ErrorCategory::argument,
                "the data costs of a caller are those of left pixels: leave out the map of the right image");
  remedy = plan_->remedy;
  mirrored_.reserve(arena_);
}

void RightMapPlan::allocate() {
  plan_->allocate();
  arena_.allocate();
  mirrored_.reserve(arena_);
}

void RightMapPlan::run(const StereoPair& pair, const DisparityMap& map) {
  plan_->is_mirrored = false;
  plan_->run(pair, left_of(map));
  stage_times = plan_->stage_times;
  rows_moved = plan_->rows_moved;
  if (map.right.empty()) return;
  StageClock clock(right_times_);
  plan_->is_mirrored = true;
  plan_->run(mirrored_.make(pair, workers_), as_map(map.right));
  mirror_back(map.right);
  clock.finish("right map");
  stage_times.push_back(right_times_.front());
}

void RightMapPlan::start(const StereoPair& pair, const DisparityMap& map) {
  wait(0);
  stage_times.clear();
  plan_->is_mirrored = false;
  plan_->start(pair, left_of(map));
  if (map.right.empty()) return;
  plan_->is_mirrored = true;
  plan_->start(mirrored_.make(pair, workers_), as_map(map.right));
  running_ = map.right;
}

void RightMapPlan::wait(int most_running) {
  if (!running_) return plan_->wait(most_running);
  if (most_running > 0) return;
  const RightDisparityMap right = *running_;
  running_.reset();
  plan_->wait(0);
  mirror_back(right);
}

void RightMapPlan::enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) {
  if (!map.right.empty())
    throw Error(ErrorCategory::device,
                "the map of the right image is made in host memory: use run(), or leave out that map");
  plan_->enqueue(pair, map, stream);
}

void RightMapPlan::enqueue_finite(const StereoPair& pair, const FiniteMap& map, void* stream) {
  plan_->enqueue_finite(pair, map, stream);
}

void RightMapPlan::mirror_back(const RightDisparityMap& map) const {
  const auto mirror = [&](const auto& view, std::size_t bytes) {
    if (!view.empty()) mirror_rows(const_rows_of(view), rows_of(view), format_.size, bytes, workers_);
  };
  mirror(map.disparity, sizeof(float));
  mirror(map.status, 1);
  mirror(map.confidence, sizeof(float));
  mirror(map.row_offset, sizeof(float));
}

std::unique_ptr<Plan> with_right_map(std::unique_ptr<Plan> plan, const ImageFormat& format,
                                     const Device& device) {
#ifdef PARALLAX_HAS_CUDA
  if (device.kind == DeviceKind::cuda) return cuda_with_right_map(std::move(plan), format, device);
#endif
  return std::make_unique<RightMapPlan>(std::move(plan), format,
                                        device.kind == DeviceKind::reference ? 1 : device.threads);
}

}  // namespace parallax::detail
