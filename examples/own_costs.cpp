// SPDX-License-Identifier: Apache-2.0
// Belief propagation on data costs of your own: here, squared differences.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <parallax/parallax.h>

int main() {
  const parallax::SynthPair pair = parallax::synthesize({.size = {320, 240}, .disparities = 32});
  auto parameters = parallax::preset<parallax::BeliefPropagationParameters>("default");
  parameters.disparities = 32;
  parameters.cost = parallax::DataCost::volume;

  // The cost of each label for each pixel, row by row; a discontinuity of one label costs 1.
  const parallax::Size size = pair.size();
  std::vector<float> costs;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int d = 0; d < parameters.disparities; ++d) {
        const int difference = x >= d ? pair.left.at(3 * x, y) - pair.right.at(3 * (x - d), y) : 20;
        costs.push_back(std::min(0.01f * static_cast<float>(difference * difference), 3.0f));
      }
    }
  }

  const parallax::CostVolume volume(costs.data(), size, parameters.disparities);
  const parallax::Result result =
      parallax::match({pair.left_view(), pair.right_view(), {}, {}, volume}, parameters);

  const parallax::ErrorMetrics error =
      parallax::evaluate(result.disparity.view(), pair.left_truth.view(), pair.left_mask.view());
  std::printf("%.2f %% of the visible pixels are off by more than 1 px\n", 100 * error.bad1);
}
