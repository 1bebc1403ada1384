// SPDX-License-Identifier: Apache-2.0
// Labels from a file of data costs, in the format of the MEMOCODE 2013 design contest. Without an argument,
// the costs are those of a synthetic pair.
#include <cstdio>

#include <parallax/parallax.h>

int main(int argc, char** argv) {
  auto parameters = parallax::preset<parallax::TiledBeliefPropagationParameters>("memocode-2013");
  parallax::CostArray costs;
  if (argc > 1) {
    costs = parallax::read_costs(argv[1], parameters.disparities);
  } else {
    const parallax::SynthPair pair = parallax::synthesize({.size = {160, 120}, .disparities = 16});
    costs = {pair.size(), parameters.disparities,
             parallax::tiled_belief_propagation_costs(parameters, {pair.left_view(), pair.right_view()})};
  }

  // Only the costs count: the images may be any of the same size.
  parameters.cost = parallax::DataCost::volume;
  const parallax::Plane<std::uint8_t> image(costs.size);
  const parallax::StereoPair pair{image.view(), image.view(), {}, {}, costs.view()};
  const parallax::Result result = parallax::match(pair, parameters);
  std::printf("energy %.0f\n", parallax::energy(parameters, pair, result.disparity.view()));
}
