// SPDX-License-Identifier: Apache-2.0
// All steps of a matcher's RefineParameters, with the memory they need.
#pragma once

#include <optional>

#include "core/plan.h"
#include "refine/refine.h"
#include "refine/refit_vectors.h"
#include "refine/unseen.h"
#include "refine/vectors.h"

namespace parallax::refine {

class Pipeline {
 public:
  // `reference`: uses the readable filters.
  Pipeline(const RefineParameters& parameters, Size size, bool reference, Maps maps = Maps::disparities);

  // Before reserve(): confidences are those of confidence.h, and pixels of a lower one are rejected.
  void find_confidence(float least) { least_confidence_ = least; }
  bool finds_confidence() const { return least_confidence_.has_value(); }

  // Called twice, as Arena says, before the first run.
  void reserve(Arena& arena);

  // `pair`: the images of the map; the right one is for the refit only. `right`: the right map, for the
  // left-right check. Row offsets beside disparities, where there are some, are filled and filtered by the
  // median, too.
  void run(const StereoPair& pair, const DisparityMap& map, const RightMap& right, const Workers& workers,
           detail::StageClock& clock) const;

 private:
  bool takes_guide() const;
  // Vectors have no such step.
  bool rejects_unseen() const { return parameters_.reject_unseen && !vectors_; }
  View<std::uint8_t> guide() const { return inside_border(guide_, size_, guided_window_); }
  void check(const DisparityMap& map, const RightMap& right, const Workers& workers) const;
  void reject_unseen(const DisparityMap& map, const Workers& workers) const;
  void judge(const DisparityMap& map, const Workers& workers) const;
  void refit(const StereoPair& pair, const DisparityMap& map, const Workers& workers) const;
  void fill(const ImageView& left, const DisparityMap& map, const Workers& workers) const;
  void fill_seen(const ImageView& left, const DisparityMap& map, const Workers& workers) const;
  void take_median(View<float> values, const Workers& workers) const;
  void take_weighted_median(View<float> values, const Workers& workers) const;
  void filter_guided(const DisparityMap& map, const Workers& workers, detail::StageClock& clock) const;

  RefineParameters parameters_;
  bool reference_, vectors_;
  Size size_;
  int guided_window_;  // the largest guided window; 0 = there is none
  std::optional<float> least_confidence_;
  GuidedWindow weighted_median_, bilateral_;
  View<float> scratch_;
  View<float> highest_;  // highest disparities of occlusion_check()
  Candidates candidates_;
  RightMap unfilled_;  // vectors before the reference fills them
  FillSteps steps_;
  RefitMemory refit_;
  Shifts shifts_;
  PlaneFill planes_;
  UnseenBlocks unseen_;
  View<float> farthest_;  // values of unseen pixels
  View<std::uint8_t> guide_;
  std::int32_t* regions_ = nullptr;
};

}  // namespace parallax::refine
