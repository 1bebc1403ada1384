#include "core/checks.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {

WeightedMedian::WeightedMedian(int window_side, int range)
    : window(window_side), weights(gray_weights(range)) {}

}  // namespace refine

void weighted_median(View<float> disparity, const ImageView& guide, int window, int range, int threads) {
  refine::check_guided_window("weighted_median", window);
  refine::check_gray_range("weighted_median_range", range);
  check_view("disparity map", disparity, disparity.size);
  refine::check_guide(guide, disparity.size);
  const Workers workers = refine::checked_workers(threads);
  Plane<std::uint8_t> gray(disparity.size);
  Plane<float> scratch(refine::bordered_size(disparity.size, window));
  refine::take_guide(guide, gray.view(), workers);
  refine::weighted_median_reference(disparity, gray.view(), {window, range}, scratch.view());
}

}  // namespace parallax
