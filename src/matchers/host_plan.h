// SPDX-License-Identifier: Apache-2.0
// Base of all plans on the host, reference and CPU: memory, workers, the right map, and the steps after
// matching.
#pragma once

#include <cstddef>
#include <utility>

#include "core/arena.h"
#include "core/integers.h"
#include "core/plan.h"
#include "core/workers.h"
#include "refine/pipeline.h"

namespace parallax::host {

class Plan : public detail::Plan {
 public:
  std::size_t memory_bytes() const override { return arena_.bytes(); }
  int cost_labels() const final { return volume_labels_; }
  bool tells_confidence() const final { return true; }

  void allocate() override {
    arena_.allocate();
    plan_memory(searches_rows_);
    fill_memory();
  }

  bool tells_row_offsets() const final { return searches_rows_; }

  void run(const StereoPair& pair, const DisparityMap& given) final {
    detail::StageClock clock(stage_times);
    DisparityMap map = given;
    if (map.row_offset.empty()) map.row_offset = row_offset_;
    DisparityMap decided = map;
    if (refinement_.finds_confidence()) decided.confidence = {};
    match(pair, decided, clock);
    refinement_.run(pair, map, {right_disparity_, right_row_offset_}, workers_, clock);
  }

 protected:
  // For references: one thread, and the readable filters. `volume_labels`: labels of the caller's data costs;
  // 0 = the plan computes its own.
  Plan(const RefineParameters& refinement, Size size, int volume_labels = 0,
       refine::Maps maps = refine::Maps::disparities)
      : Plan(refinement, size, volume_labels, true, Workers(1), maps) {}
  Plan(const RefineParameters& refinement, Size size, int volume_labels, Workers workers,
       refine::Maps maps = refine::Maps::disparities)
      : Plan(refinement, size, volume_labels, false, std::move(workers), maps) {}

  // Before plan_memory(): the confidence is that of refine/confidence.h, and match() finds none.
  void judge_afterwards(float min_confidence) { refinement_.find_confidence(min_confidence); }
  // Must be called at the end of the constructor. `searches_rows`: maps have row offsets, as those of vectors
  // do.
  void plan_memory(bool searches_rows = false) {
    searches_rows_ = searches_rows || vectors_;
    refinement_.reserve(arena_);
    if (searches_rows_) row_offset_ = arena_.reserve_plane<float>(size_);
    if (checks_left_right_) right_disparity_ = arena_.reserve_plane<float>(size_);
    if (checks_left_right_ && vectors_) right_row_offset_ = arena_.reserve_plane<float>(size_);
    reserve(arena_);
  }

  // Reserves all other memory. Called twice (see Arena).
  virtual void reserve(Arena& arena) = 0;
  // Initialises memory before the first run.
  virtual void fill_memory() {}
  // Computes the map of a pair, and the right map where the left-right check needs it. The map has row
  // offsets if this plan tells them.
  virtual void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) = 0;

  const Size size_;
  const Workers workers_;
  const bool checks_left_right_;
  // Empty without the left-right check; only vectors have row offsets there.
  View<float> right_disparity_, right_row_offset_;

 private:
  Plan(const RefineParameters& refinement, Size size, int volume_labels, bool reference, Workers&& workers,
       refine::Maps maps)
      : size_(size),
        workers_(std::move(workers)),
        checks_left_right_(refinement.left_right_check),
        vectors_(maps == refine::Maps::vectors),
        volume_labels_(volume_labels),
        refinement_(refinement, size, reference, maps) {}

  bool vectors_;
  int volume_labels_;
  bool searches_rows_ = false;
  View<float> row_offset_;  // used if the caller wants none
  refine::Pipeline refinement_;
  Arena arena_;
};

}  // namespace parallax::host
