#include "core/checks.h"
#include "refine/refine.h"

namespace parallax {

RefineParameters RefineParameters::none() {
  RefineParameters parameters;
  parameters.left_right_check = false;
  parameters.speckle_size = 0;
  parameters.fill = Fill::none;
  parameters.median = 0;
  return parameters;
}

void RefineParameters::validate() const {
  check_not_negative("left_right_tolerance", left_right_tolerance);
  check_not_negative("speckle_size", speckle_size);
  check_not_negative("speckle_range", speckle_range);
  check_choice("fill", fill, Fill::row);
  if (median != 0 && median != 3 && median != 5) refuse("median", median, "0, 3 or 5");
}

namespace refine {

Pipeline::Pipeline(const RefineParameters& parameters, Size size, bool reference, ArenaLayout& layout)
    : parameters_(parameters), reference_(reference) {
  if (parameters.median > 0) median_scratch_ = layout.reserve_plane<float>(median_scratch_size(size));
  if (parameters.speckle_size > 1) {
    check_speckle_size(size);
    regions_ = layout.reserve<std::int32_t>(size.pixels());
  }
}

void Pipeline::run(const DisparityMap& map, View<const float> right, std::byte* arena, const Workers& workers,
                   detail::StageClock& clock) const {
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
      median_reference(map.disparity, parameters_.median, median_scratch_.in(arena));
    else
      median(map.disparity, parameters_.median, median_scratch_.in(arena), workers);
    clock.finish("median");
  }
}

}  // namespace refine
}  // namespace parallax
