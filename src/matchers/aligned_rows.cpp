// SPDX-License-Identifier: Apache-2.0
#include "matchers/aligned_rows.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "check/check.h"
#include "core/arena.h"
#include "core/workers.h"
#include "rows/row_alignment.h"

namespace parallax::detail {
namespace {

// Memory that finding corners takes for a moment.
constexpr std::size_t corner_bytes_of_pixel = 32;

// Corners are matched in all columns that the labels reach, and somewhat beyond.
CheckParameters search_of(const MatcherParameters& parameters, Size size, int threads) {
  constexpr int beyond = 16;
  const int first = parameters.min_disparity(), last = first + parameters.disparities();
  const int reach = std::max(std::abs(first), std::abs(last)) + beyond;
  CheckParameters search;
  if (!searches_full_rows(parameters))
    search.search_columns = std::clamp(static_cast<double>(reach) / size.width, 0.01, 1.0);
  search.threads = threads;
  return search;
}

class AlignedPlan final : public Plan {
 public:
  AlignedPlan(std::unique_ptr<Plan> plan, ComparedRows rows, const CheckParameters& search,
              const ImageFormat& format)
      : plan_(std::move(plan)),
        keeps_rows_(rows == ComparedRows::once),
        search_(search),
        workers_(search.threads),
        alignments_{rows::RowAlignment(format), rows::RowAlignment(format)},
        corner_bytes_(corner_bytes_of_pixel * format.size.pixels()) {
    remedy = plan_->remedy;
    reserve();
  }

  std::size_t memory_bytes() const override { return plan_->memory_bytes() + arena_.bytes() + corner_bytes_; }
  std::optional<GpuMemory> gpu_memory() const override { return plan_->gpu_memory(); }
  bool tells_confidence() const override { return plan_->tells_confidence(); }
  void sleep_while_waiting() override { plan_->sleep_while_waiting(); }

  void allocate() override {
    plan_->allocate();
    arena_.allocate();
    reserve();
  }
  void forget_rows() override { is_known_.fill(false); }

  void run(const StereoPair& pair, const DisparityMap& map) override {
    StageClock clock(stage_times);
    rows::RowAlignment& alignment = alignments_[is_mirrored];
    if (!is_known_[is_mirrored]) {
      const std::vector<CheckedPoint> points = check::agreeing_points(pair, search_, workers_);
      alignment.find(points);
      is_known_[is_mirrored] = keeps_rows_ && points.size() >= rows::RowAlignment::min_points;
    }
    const StereoPair aligned = alignment.moves() ? alignment.aligned(pair, workers_) : pair;
    rows_moved = alignment.moves() ? alignment.mean_rows() : 0;
    clock.finish("rows");
    plan_->run(aligned, map);
    stage_times.insert(stage_times.end(), plan_->stage_times.begin(), plan_->stage_times.end());
  }

  void enqueue(const StereoPair&, const DisparityMap&, void*) override {
    throw Error(ErrorCategory::device, "rows are aligned in host memory: use run(), or choose rows given");
  }

 private:
  // One pair at a time is matched, so both share their memory.
  void reserve() {
    alignments_[0].reserve(arena_);
    alignments_[1] = alignments_[0];
  }

  std::unique_ptr<Plan> plan_;
  bool keeps_rows_;
  CheckParameters search_;
  Workers workers_;
  std::array<rows::RowAlignment, 2> alignments_;  // one for the caller's pairs, one for mirrored ones
  std::array<bool, 2> is_known_{};
  std::size_t corner_bytes_;
  Arena arena_;
};

}  // namespace

std::unique_ptr<Plan> with_aligned_rows(std::unique_ptr<Plan> plan, ComparedRows rows,
                                        const MatcherParameters& parameters, const ImageFormat& format,
                                        int threads) {
  return std::make_unique<AlignedPlan>(std::move(plan), rows, search_of(parameters, format.size, threads),
                                       format);
}

}  // namespace parallax::detail
