// SPDX-License-Identifier: Apache-2.0
#include <parallax/parallax.h>

#ifdef WITH_OPENCV
bool opencv_works();
#else
bool opencv_works() {
  return true;
}
#endif

int main() {
  const parallax::SynthPair pair = parallax::synthesize({});
  parallax::Matcher matcher(parallax::preset("block", "default"), parallax::Device::parse("cpu"),
                            {pair.size()});
  parallax::Plane<float> disparity(pair.size());
  parallax::Plane<std::uint8_t> status(pair.size());
  matcher.run({pair.left_view(), pair.right_view()}, {disparity.view(), status.view()});
  const bool is_right = parallax::evaluate(disparity.view(), pair.left_truth.view()).bad1 < 0.2;
  return is_right && opencv_works() ? 0 : 1;
}
