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
  const parallax::Result result =
      parallax::match(pair.left_view(), pair.right_view(), parallax::preset("block", "default"));
  const bool is_right = parallax::evaluate(result.disparity.view(), pair.left_truth.view()).bad1 < 0.2;
  return is_right && opencv_works() ? 0 : 1;
}
