// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/checks.h"
#include "refine/refine.h"
#include "rows/row_offsets.h"

namespace parallax {

RefineParameters RefineParameters::none() {
  RefineParameters parameters;
  parameters.left_right_check = false;
  parameters.speckle_size = 0;
  parameters.refit = 0;
  parameters.fill = Fill::none;
  parameters.median = 0;
  parameters.weighted_median = 0;
  parameters.bilateral = 0;
  return parameters;
}

bool RefineParameters::is_guided() const {
  return fill == Fill::directions || fill == Fill::planes || weighted_median > 0 || bilateral > 0;
}

void RefineParameters::validate() const {
  RefineParameters copy = *this;
  detail::Fields fields;
  refine::add_fields(fields, copy);
  fields.check();
}

namespace refine {

void add_fields(detail::Fields& fields, RefineParameters& p) {
  using detail::Audience, detail::not_negative, detail::odd_or_zero, detail::range;
  fields.group(detail::refinement_group)
      .add("left_right_check", p.left_right_check,
           {"Reject pixels where the left and the right map disagree"})
      .add("left_right_tolerance", p.left_right_tolerance, not_negative(),
           {"Largest difference allowed between the two maps", "pixels", Audience::experts})
      .add("speckle_size", p.speckle_size, not_negative(),
           {"Reject regions of fewer pixels; 0 = none", "pixels"})
      .add("speckle_range", p.speckle_range, not_negative(),
           {"Largest difference between neighbours in a region", "pixels", Audience::experts})
      .add("refit", p.refit, odd_or_zero(3, 15),
           {"Window over which fractions of disparities are fitted to census costs: 0 (none), or odd from 3 "
            "to 15",
            "pixels"})
      .add("fill", p.fill,
           {{"none", Fill::none},
            {"row", Fill::row},
            {"directions", Fill::directions},
            {"planes", Fill::planes}},
           {"How to fill pixels without a value; row = from a neighbour on the same row, directions = also "
            "from above and below, guided by the left image, planes = first from planes of superpixels"})
      .add("median", p.median, detail::one_of({0, 3, 5}),
           {"Window of the median filter: 0 (none), 3 or 5", "pixels"})
      .add("weighted_median", p.weighted_median, odd_or_zero(3, 15),
           {"Window of the median weighted by the left image: 0 (none), or odd from 3 to 15", "pixels"})
      .add("weighted_median_range", p.weighted_median_range, range(1, 255),
           {"Difference in gray at which its weights fall to 1/e", "gray levels", Audience::experts})
      .add("bilateral", p.bilateral, odd_or_zero(3, 15),
           {"Window of the bilateral filter guided by the left image: 0 (none), or odd from 3 to 15",
            "pixels"})
      .add("bilateral_range", p.bilateral_range, range(1, 255),
           {"Difference in gray at which its weights fall to 1/e", "gray levels", Audience::experts})
      .add("bilateral_step", p.bilateral_step, range(0, 128),
           {"Largest difference in disparity of neighbours that count", "pixels", Audience::experts});
}

void add_sub_pixel_field(detail::Fields& fields, SubPixel& sub_pixel) {
  fields.add("sub_pixel", sub_pixel,
             {{"none", SubPixel::none}, {"parabola", SubPixel::parabola}, {"v-shape", SubPixel::v_shape}},
             {"Interpolation between labels"});
}

Pipeline::Pipeline(const RefineParameters& p, Size size, bool reference)
    : parameters_(p),
      reference_(reference),
      size_(size),
      guided_window_(std::max(p.weighted_median, p.bilateral)) {
  if (p.weighted_median > 0)
    weighted_median_ = weighted_median_window(p.weighted_median, p.weighted_median_range);
  if (p.bilateral > 0) bilateral_ = bilateral_window(p.bilateral, p.bilateral_range);
  if (p.speckle_size > 1) check_speckle_size(size);
}

void Pipeline::reserve(Arena& arena) {
  const int window = std::max(parameters_.median, guided_window_);
  if (window > 0) scratch_ = arena.reserve_plane<float>(bordered_size(size_, window));
  if (parameters_.is_guided())
    guide_ = arena.reserve_plane<std::uint8_t>(bordered_guide_size(size_, guided_window_));
  if (parameters_.refit > 0) refit_ = RefitMemory(size_, arena);
  if (parameters_.fill == Fill::planes) planes_ = PlaneFill(size_, arena);
  if (parameters_.fill == Fill::directions || parameters_.fill == Fill::planes)
    candidates_ = {arena.reserve_plane<float>(size_), arena.reserve_plane<float>(size_)};
  if (parameters_.speckle_size > 1) regions_ = arena.reserve<std::int32_t>(size_.pixels());
}

void Pipeline::run(const StereoPair& pair, const DisparityMap& map, View<const float> right,
                   const Workers& workers, detail::StageClock& clock) const {
  if (parameters_.left_right_check) {
    left_right_check(map, right, parameters_.left_right_tolerance, workers);
    clock.finish("left_right_check");
  }
  if (parameters_.speckle_size > 1) {
    if (reference_)
      speckle_filter_reference(map, parameters_.speckle_size, parameters_.speckle_range, regions_);
    else
      speckle_filter(map, parameters_.speckle_size, parameters_.speckle_range, regions_, workers);
    clock.finish("speckle");
  }
  if (parameters_.refit > 0) {
    if (reference_)
      refit_reference(map.disparity, pair, parameters_.refit, refit_);
    else
      refit(map.disparity, pair, parameters_.refit, refit_, workers);
    clock.finish("refit");
  }
  if (!map.row_offset.empty()) rows::fill_row_offsets(map, reach_of(parameters_.fill), workers);
  if (parameters_.is_guided()) take_guide(pair.left, guide(), workers);
  if (parameters_.fill != Fill::none) {
    fill(pair.left, map, workers);
    clock.finish("fill");
  }
  if (!map.row_offset.empty()) rows::clear_row_offsets(map, workers);
  if (parameters_.median > 0) {
    take_median(map.disparity, workers);
    if (!map.row_offset.empty()) take_median(map.row_offset, workers);
    clock.finish("median");
  }
  filter_guided(map.disparity, workers, clock);
}

void Pipeline::fill(const ImageView& left, const DisparityMap& map, const Workers& workers) const {
  if (parameters_.fill == Fill::planes) {
    if (reference_)
      fill_planes_reference(map, left, planes_);
    else
      fill_planes(map, left, planes_, workers);
  }
  if (parameters_.fill == Fill::row)
    fill_row(map, workers);
  else if (reference_)
    fill_directions_reference(map, guide(), candidates_.value);
  else
    fill_directions(map, guide(), candidates_, workers);
}

void Pipeline::take_median(View<float> values, const Workers& workers) const {
  if (reference_)
    median_reference(values, parameters_.median, scratch_);
  else
    median(values, parameters_.median, scratch_, workers);
}

void Pipeline::filter_guided(View<float> disparity, const Workers& workers, detail::StageClock& clock) const {
  const RefineParameters& p = parameters_;
  if (p.weighted_median > 0) {
    if (reference_)
      weighted_median_reference(disparity, guide(), p.weighted_median, p.weighted_median_range, scratch_);
    else
      weighted_median(disparity, guide(), weighted_median_, scratch_, workers);
    clock.finish("weighted_median");
  }
  if (p.bilateral > 0) {
    if (reference_)
      bilateral_reference(disparity, guide(), p.bilateral, p.bilateral_range, p.bilateral_step, scratch_);
    else
      bilateral(disparity, guide(), bilateral_, p.bilateral_step, scratch_, workers);
    clock.finish("bilateral");
  }
}

}  // namespace refine
}  // namespace parallax
