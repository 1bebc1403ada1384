// SPDX-License-Identifier: Apache-2.0
#include "refine/pipeline.h"

#include <algorithm>

#include "core/checks.h"
#include "refine/confidence.h"
#include "rows/row_offsets.h"

namespace parallax {

RefineParameters RefineParameters::none() {
  RefineParameters parameters;
  parameters.left_right_check = false;
  parameters.occlusion_check = false;
  parameters.speckle_size = 0;
  parameters.reject_unseen = false;
  parameters.refit = 0;
  parameters.fill = Fill::none;
  parameters.median = 0;
  parameters.weighted_median = 0;
  parameters.bilateral = 0;
  return parameters;
}

bool RefineParameters::is_guided() const {
  return reject_unseen || fill == Fill::directions || fill == Fill::planes || weighted_median > 0 ||
         bilateral > 0;
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
      .add("occlusion_check", p.occlusion_check,
           {"Reject pixels whose right pixel a nearer one takes: needs no match of the right image"})
      .add("speckle_size", p.speckle_size, not_negative(),
           {"Reject regions of fewer pixels; 0 = none", "pixels"})
      .add("speckle_range", p.speckle_range, not_negative(),
           {"Largest difference between neighbours in a region", "pixels", Audience::experts})
      .add("reject_unseen", p.reject_unseen,
           {"Reject large blank regions, such as the sky, whose few values contradict each other"})
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

Pipeline::Pipeline(const RefineParameters& p, Size size, bool reference, Maps maps)
    : parameters_(p),
      reference_(reference),
      vectors_(maps == Maps::vectors),
      size_(size),
      guided_window_(std::max(p.weighted_median, p.bilateral)) {
  if (p.weighted_median > 0)
    weighted_median_ = weighted_median_window(p.weighted_median, p.weighted_median_range);
  if (p.bilateral > 0) bilateral_ = bilateral_window(p.bilateral, p.bilateral_range);
  if (p.speckle_size > 1) check_speckle_size(size);
}

// Vectors are filled without a guide.
bool Pipeline::takes_guide() const {
  return vectors_ ? guided_window_ > 0 : parameters_.is_guided();
}

void Pipeline::reserve(Arena& arena) {
  const RefineParameters& p = parameters_;
  if (p.occlusion_check) highest_ = arena.reserve_plane<float>(size_);
  const int window = std::max({p.median, guided_window_, finds_confidence() ? confidence_window : 0});
  if (window > 0) scratch_ = arena.reserve_plane<float>(bordered_size(size_, window));
  if (takes_guide()) guide_ = arena.reserve_plane<std::uint8_t>(bordered_guide_size(size_, guided_window_));
  if (p.refit > 0 && vectors_) shifts_ = Shifts(size_, arena);
  if (p.refit > 0 && !vectors_) refit_ = RefitMemory(size_, arena);
  if (p.fill == Fill::planes) planes_ = PlaneFill(size_, arena);
  if (rejects_unseen()) unseen_ = UnseenBlocks(size_, arena);
  if (rejects_unseen() && p.fill != Fill::none) farthest_ = arena.reserve_plane<float>(size_);
  if (p.speckle_size > 1) regions_ = arena.reserve<std::int32_t>(size_.pixels());
  if (p.fill != Fill::directions && p.fill != Fill::planes) return;
  if (!vectors_)
    candidates_ = {arena.reserve_plane<float>(size_), arena.reserve_plane<float>(size_)};
  else if (reference_)
    unfilled_ = {arena.reserve_plane<float>(size_), arena.reserve_plane<float>(size_)};
  else
    steps_ = FillSteps(size_, arena);
}

void Pipeline::run(const StereoPair& pair, const DisparityMap& map, const RightMap& right,
                   const Workers& workers, detail::StageClock& clock) const {
  if (parameters_.left_right_check) {
    check(map, right, workers);
    clock.finish("left_right_check");
  }
  if (parameters_.occlusion_check && !vectors_) {
    occlusion_check(map, parameters_.left_right_tolerance, highest_, workers);
    clock.finish("occlusion_check");
  }
  if (finds_confidence() && (!map.confidence.empty() || *least_confidence_ > 0)) {
    judge(map, workers);
    clock.finish("confidence");
  }
  if (parameters_.speckle_size > 1) {
    if (reference_)
      speckle_filter_reference(map, parameters_.speckle_size, parameters_.speckle_range, regions_);
    else
      speckle_filter(map, parameters_.speckle_size, parameters_.speckle_range, regions_, workers);
    clock.finish("speckle");
  }
  if (takes_guide()) take_guide(pair.left, guide(), workers);
  if (rejects_unseen()) {
    reject_unseen(map, workers);
    clock.finish("reject_unseen");
  }
  if (parameters_.refit > 0) {
    refit(pair, map, workers);
    clock.finish("refit");
  }
  const bool fills_row_offsets = !vectors_ && !map.row_offset.empty();
  if (fills_row_offsets) rows::fill_row_offsets(map, reach_of(parameters_.fill), workers);
  if (parameters_.fill != Fill::none) {
    fill(pair.left, map, workers);
    clock.finish("fill");
  }
  if (fills_row_offsets) rows::clear_row_offsets(map, workers);
  if (parameters_.median > 0) {
    take_median(map.disparity, workers);
    if (!map.row_offset.empty()) take_median(map.row_offset, workers);
    clock.finish("median");
  }
  filter_guided(map, workers, clock);
}

void Pipeline::check(const DisparityMap& map, const RightMap& right, const Workers& workers) const {
  if (vectors_)
    check_vectors(map, right, parameters_.left_right_tolerance, workers);
  else
    left_right_check(map, right.disparity, parameters_.left_right_tolerance, workers);
}

void Pipeline::reject_unseen(const DisparityMap& map, const Workers& workers) const {
  if (reference_)
    reject_unseen_reference(map, guide(), unseen_);
  else
    refine::reject_unseen(map, guide(), unseen_, workers);
}

void Pipeline::judge(const DisparityMap& map, const Workers& workers) const {
  if (reference_)
    find_confidence_reference(map, *least_confidence_, scratch_);
  else
    refine::find_confidence(map, *least_confidence_, scratch_, workers);
}

void Pipeline::refit(const StereoPair& pair, const DisparityMap& map, const Workers& workers) const {
  const int window = parameters_.refit;
  if (vectors_ && reference_)
    refit_vectors_reference(map, pair, window, shifts_);
  else if (vectors_)
    refit_vectors(map, pair, window, shifts_, workers);
  else if (reference_)
    refit_reference(map.disparity, pair, window, refit_);
  else
    refine::refit(map.disparity, pair, window, refit_, workers);
}

void Pipeline::fill(const ImageView& left, const DisparityMap& map, const Workers& workers) const {
  if (!rejects_unseen()) return fill_seen(left, map, workers);
  if (reference_)
    find_farthest_reference(map, farthest_);
  else
    find_farthest(map, farthest_, workers);
  fill_seen(left, map, workers);
  take_farthest(map, farthest_, workers);
}

void Pipeline::fill_seen(const ImageView& left, const DisparityMap& map, const Workers& workers) const {
  if (vectors_)
    return reference_ ? fill_vectors_reference(map, unfilled_) : fill_vectors(map, steps_, workers);
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

void Pipeline::take_weighted_median(View<float> values, const Workers& workers) const {
  const RefineParameters& p = parameters_;
  if (reference_)
    weighted_median_reference(values, guide(), p.weighted_median, p.weighted_median_range, scratch_);
  else
    weighted_median(values, guide(), weighted_median_, scratch_, workers);
}

void Pipeline::filter_guided(const DisparityMap& map, const Workers& workers,
                             detail::StageClock& clock) const {
  const RefineParameters& p = parameters_;
  if (p.weighted_median > 0) {
    take_weighted_median(map.disparity, workers);
    if (vectors_) take_weighted_median(map.row_offset, workers);
    clock.finish("weighted_median");
  }
  if (p.bilateral > 0) {
    if (reference_)
      bilateral_reference(map.disparity, guide(), p.bilateral, p.bilateral_range, p.bilateral_step, scratch_);
    else
      bilateral(map.disparity, guide(), bilateral_, p.bilateral_step, scratch_, workers);
    clock.finish("bilateral");
  }
}

}  // namespace refine
}  // namespace parallax
