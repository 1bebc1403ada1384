#include "core/checks.h"
#include "refine/refine.h"

namespace parallax {
namespace refine {

Bilateral::Bilateral(int window_side, int range, float largest_step)
    : window(window_side),
      gray(gray_weights(range)),
      distance(distance_weights(window_side)),
      step(largest_step) {}

}  // namespace refine

void bilateral(View<float> disparity, const ImageView& guide, int window, int range, float step,
               int threads) {
  refine::check_guided_window("bilateral", window);
  refine::check_gray_range("bilateral_range", range);
  refine::check_bilateral_step("bilateral_step", step);
  check_view("disparity map", disparity, disparity.size);
  refine::check_guide(guide, disparity.size);
  const Workers workers = refine::checked_workers(threads);
  Plane<std::uint8_t> gray(disparity.size);
  Plane<float> scratch(refine::bordered_size(disparity.size, window));
  refine::take_guide(guide, gray.view(), workers);
  refine::bilateral_reference(disparity, gray.view(), {window, range, step}, scratch.view());
}

}  // namespace parallax
