// SPDX-License-Identifier: Apache-2.0
// The map of the right image beside that of the left one.
#pragma once

#include <memory>
#include <optional>

#include "core/arena.h"
#include "core/mirrored_pair.h"
#include "core/plan.h"
#include "core/workers.h"

namespace parallax::detail {

// A plan of any method and device that also writes DisparityMap::right: `plan` then matches the mirrored
// pair, too, which is mirrored in host memory.
class RightMapPlan : public Plan {
 public:
  // \throws Error (argument) where `plan` takes the data costs of a caller, which are those of left pixels
  RightMapPlan(std::unique_ptr<Plan> plan, const ImageFormat& format, int threads);

  std::size_t memory_bytes() const override { return plan_->memory_bytes() + arena_.bytes(); }
  std::optional<GpuMemory> gpu_memory() const override { return plan_->gpu_memory(); }
  bool tells_confidence() const override { return plan_->tells_confidence(); }
  bool tells_row_offsets() const override { return plan_->tells_row_offsets(); }
  bool tells_right_map() const override { return true; }
  void forget_rows() override { plan_->forget_rows(); }
  void sleep_while_waiting() override { plan_->sleep_while_waiting(); }
  CostCurve cost_curve(int x, int y) const override { return plan_->cost_curve(x, y); }

  void allocate() override;
  void run(const StereoPair& pair, const DisparityMap& map) override;
  // The pair is mirrored while the left map is being made.
  void start(const StereoPair& pair, const DisparityMap& map) override;
  void wait(int most_running) override;
  void enqueue(const StereoPair& pair, const DisparityMap& map, void* stream) override;
  void enqueue_finite(const StereoPair& pair, const FiniteMap& map, void* stream) override;

 protected:
  static DisparityMap left_of(const DisparityMap& map) {
    return {map.disparity, map.status, map.confidence, map.row_offset};
  }
  static DisparityMap as_map(const RightDisparityMap& map) {
    return {map.disparity, map.status, map.confidence, map.row_offset};
  }
  Plan& matcher() const { return *plan_; }
  const ImageFormat& format() const { return format_; }

 private:
  void mirror_back(const RightDisparityMap& map) const;

  std::unique_ptr<Plan> plan_;
  ImageFormat format_;
  Workers workers_;
  Arena arena_;
  MirroredPair mirrored_;
  std::vector<StageTime> right_times_ = std::vector<StageTime>(1);  // reserved: a run does not allocate
  std::optional<RightDisparityMap> running_;
};

// Such a plan. On cuda, it also takes pictures in the memory of the GPU, unless rows are aligned.
std::unique_ptr<Plan> with_right_map(std::unique_ptr<Plan> plan, const ImageFormat& format,
                                     const Device& device);
std::unique_ptr<Plan> cuda_with_right_map(std::unique_ptr<Plan> plan, const ImageFormat& format,
                                          const Device& device);

}  // namespace parallax::detail
