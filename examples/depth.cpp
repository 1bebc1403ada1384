// SPDX-License-Identifier: Apache-2.0
// Converts a match to metric depth, and prints the distance of the point in the middle of the image.
#include <cstdio>

#include <parallax/parallax.h>

int main() {
  const parallax::SynthPair pair = parallax::synthesize({.scene = parallax::Scene::planes});

  parallax::Matcher matcher(parallax::preset("block", "default"), parallax::Device::parse("cpu"),
                            {pair.size()});
  parallax::Plane<float> disparity(pair.size());
  parallax::Plane<std::uint8_t> status(pair.size());
  matcher.run({pair.left_view(), pair.right_view()}, {disparity.view(), status.view()});

  const int x = pair.size().width / 2, y = pair.size().height / 2;
  std::printf("disparity %.2f px, depth %.0f mm, status %s\n", disparity.at(x, y),
              parallax::depth(pair.calibration, disparity.at(x, y)),
              parallax::name(static_cast<parallax::Status>(status.at(x, y))));
}
