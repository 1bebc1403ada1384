// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/checks.h"
#include "refine/refine.h"

namespace parallax {

RefineParameters RefineParameters::none() {
  RefineParameters parameters;
  parameters.left_right_check = false;
  parameters.speckle_size = 0;
  parameters.fill = Fill::none;
  parameters.median = 0;
  parameters.weighted_median = 0;
  parameters.bilateral = 0;
  return parameters;
}

void RefineParameters::validate() const {
  check_not_negative("left_right_tolerance", left_right_tolerance);
  check_not_negative("speckle_size", speckle_size);
  check_not_negative("speckle_range", speckle_range);
  check_choice("fill", fill, Fill::row);
  if (median != 0 && median != 3 && median != 5) refuse("median", median, "0, 3 or 5");
  refine::check_guided_window_or_none("weighted_median", weighted_median);
  refine::check_gray_range("weighted_median_range", weighted_median_range);
  refine::check_guided_window_or_none("bilateral", bilateral);
  refine::check_gray_range("bilateral_range", bilateral_range);
  refine::check_bilateral_step("bilateral_step", bilateral_step);
}

namespace refine {

Pipeline::Pipeline(const RefineParameters& p, Size size, bool reference, ArenaLayout& layout)
    : parameters_(p),
      reference_(reference),
      size_(size),
      guided_window_(std::max(p.weighted_median, p.bilateral)) {
  const int window = std::max(p.median, guided_window_);
  if (window > 0) scratch_ = layout.reserve_plane<float>(bordered_size(size, window));
  if (guided_window_ > 0)
    guide_ = layout.reserve_plane<std::uint8_t>(bordered_guide_size(size, guided_window_));
  if (p.weighted_median > 0)
    weighted_median_ = weighted_median_window(p.weighted_median, p.weighted_median_range);
  if (p.bilateral > 0) bilateral_ = bilateral_window(p.bilateral, p.bilateral_range);
  if (p.speckle_size > 1) {
    check_speckle_size(size);
    regions_ = layout.reserve<std::int32_t>(size.pixels());
  }
}

void Pipeline::run(const ImageView& left, const DisparityMap& map, View<const float> right, std::byte* arena,
                   const Workers& workers, detail::StageClock& clock) const {
  if (parameters_.left_right_check) {
    left_right_check(map, right, parameters_.left_right_tolerance, workers);
    clock.finish("left_right_check");
  }
  if (parameters_.speckle_size > 1) {
    speckle_filter(map, parameters_.speckle_size, parameters_.speckle_range, regions_.in(arena));
    clock.finish("speckle");
  }
  if (parameters_.fill == Fill::row) {
    fill_row(map, workers);
    clock.finish("fill");
  }
  if (parameters_.median > 0) {
    if (reference_)
      median_reference(map.disparity, parameters_.median, scratch_.in(arena));
    else
      median(map.disparity, parameters_.median, scratch_.in(arena), workers);
    clock.finish("median");
  }
  if (guided_window_ > 0) run_guided(left, map.disparity, arena, workers, clock);
}

void Pipeline::run_guided(const ImageView& left, View<float> disparity, std::byte* arena,
                          const Workers& workers, detail::StageClock& clock) const {
  const RefineParameters& p = parameters_;
  const View<std::uint8_t> guide = inside_border(guide_.in(arena), size_, guided_window_);
  const View<float> scratch = scratch_.in(arena);
  take_guide(left, guide, workers);
  if (p.weighted_median > 0) {
    if (reference_)
      weighted_median_reference(disparity, guide, p.weighted_median, p.weighted_median_range, scratch);
    else
      weighted_median(disparity, guide, weighted_median_, scratch, workers);
    clock.finish("weighted_median");
  }
  if (p.bilateral > 0) {
    if (reference_)
      bilateral_reference(disparity, guide, p.bilateral, p.bilateral_range, p.bilateral_step, scratch);
    else
      bilateral(disparity, guide, bilateral_, p.bilateral_step, scratch, workers);
    clock.finish("bilateral");
  }
}

}  // namespace refine
}  // namespace parallax
