// SPDX-License-Identifier: Apache-2.0
// Plans once and matches a pair several times; prints its errors and times.
#include <cstdio>

#include <parallax/parallax.h>

int main() {
  const parallax::SynthPair pair = parallax::synthesize({.size = {640, 480}, .disparities = 64});

  auto parameters = parallax::preset<parallax::BlockParameters>("default");
  parameters.disparities = 64;
  parallax::Matcher matcher(parameters, parallax::Device::parse("auto"), {pair.size()});

  parallax::Result result = matcher.make_result();
  for (int frame = 0; frame < 3; ++frame) matcher.run({pair.left_view(), pair.right_view()}, result.map());

  const parallax::ErrorMetrics error =
      parallax::evaluate(result.disparity.view(), pair.left_truth.view(), pair.left_mask.view());
  std::printf("%.2f %% of the visible pixels are off by more than 1 px\n", 100 * error.bad1);
  for (const parallax::StageTime& stage : matcher.stage_times())
    std::printf("%-18s %6.2f ms\n", stage.stage, stage.milliseconds);
}
