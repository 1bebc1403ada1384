// SPDX-License-Identifier: Apache-2.0
// Converts a match to metric depth, and prints the distance of the point in the middle of the image.
#include <cstdio>

#include <parallax/parallax.h>

int main() {
  const parallax::SynthPair pair = parallax::synthesize({.scene = parallax::Scene::planes});

  const parallax::Result result =
      parallax::match(pair.left_view(), pair.right_view(), parallax::preset("block", "default"));

  const int x = pair.size().width / 2, y = pair.size().height / 2;
  std::printf("disparity %.2f px, depth %.0f mm, status %s\n", result.disparity.at(x, y),
              parallax::depth(pair.calibration, result.disparity.at(x, y)),
              parallax::name(static_cast<parallax::Status>(result.status.at(x, y))));
}
