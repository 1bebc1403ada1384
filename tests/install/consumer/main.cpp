// SPDX-License-Identifier: Apache-2.0
#include <parallax/parallax.h>

int main() {
  const parallax::SynthPair pair = parallax::synthesize({});
  parallax::Matcher matcher(parallax::preset("block", "default"), parallax::Device::parse("cpu"),
                            {pair.size()});
  parallax::Plane<float> disparity(pair.size());
  parallax::Plane<std::uint8_t> status(pair.size());
  matcher.run({pair.left_view(), pair.right_view()}, {disparity.view(), status.view()});
  return parallax::evaluate(disparity.view(), pair.left_truth.view()).bad1 < 0.2 ? 0 : 1;
}
