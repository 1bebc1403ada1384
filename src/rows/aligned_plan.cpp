// SPDX-License-Identifier: Apache-2.0
#include "rows/aligned_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/arena.h"
#include "core/workers.h"
#include "rows/row_alignment.h"

namespace parallax::rows {
namespace {

class AlignedPlan final : public detail::Plan {
 public:
  AlignedPlan(std::unique_ptr<detail::Plan> plan, const ImageFormat& format, int threads)
      : plan_(std::move(plan)), workers_(threads), alignment_(format) {
    remedy = plan_->remedy;
    alignment_.reserve(arena_);
  }

  std::size_t memory_bytes() const override { return plan_->memory_bytes() + arena_.bytes(); }
  std::optional<GpuMemory> gpu_memory() const override { return plan_->gpu_memory(); }
  bool tells_confidence() const override { return plan_->tells_confidence(); }
  void sleep_while_waiting() override { plan_->sleep_while_waiting(); }

  void allocate() override {
    plan_->allocate();
    arena_.allocate();
    alignment_.reserve(arena_);
  }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    detail::StageClock clock(stage_times);
    match(pair, map, clock);
    const bool is_misaligned = alignment_.find(pair, map, workers_);
    const StereoPair aligned = is_misaligned ? alignment_.aligned(pair, workers_) : pair;
    clock.finish("align_rows");
    if (is_misaligned) match(aligned, map, clock);
  }

  void enqueue(const StereoPair&, const DisparityMap&, void*) override {
    throw Error(ErrorCategory::device,
                "align_rows moves rows in host memory: use run(), or match without it");
  }

 private:
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) {
    plan_->run(pair, map);
    for (const StageTime& stage : plan_->stage_times) add(stage);
    clock.restart();
  }

  // A stage of both matches has one entry, with the sum of its times.
  void add(const StageTime& time) {
    const auto known = std::find_if(stage_times.begin(), stage_times.end(), [&](const StageTime& other) {
      return std::string_view(other.stage) == time.stage;
    });
    if (known == stage_times.end())
      stage_times.push_back(time);
    else
      known->milliseconds += time.milliseconds;
  }

  std::unique_ptr<detail::Plan> plan_;
  Workers workers_;
  RowAlignment alignment_;
  Arena arena_;
};

}  // namespace

std::unique_ptr<detail::Plan> with_aligned_rows(std::unique_ptr<detail::Plan> plan, const ImageFormat& format,
                                                int threads) {
  return std::make_unique<AlignedPlan>(std::move(plan), format, threads);
}

}  // namespace parallax::rows
