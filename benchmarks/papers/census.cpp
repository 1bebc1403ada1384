// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/papers/papers.h"

namespace parallax::tool {
namespace {

constexpr const char* mali = "ARM Mali GPU of 2015";

CensusParameters talk(int levels) {
  CensusParameters parameters = preset<CensusParameters>("mobile-gpu-2015");
  parameters.pyramid_levels = levels;
  return parameters;
}

Group frames(const char* name, const char* pair, std::optional<double> one_level, double coarse_to_fine) {
  const int levels = preset<CensusParameters>("mobile-gpu-2015").pyramid_levels;
  Group group{name, pair, 60, {}};
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda, DeviceKind::opencl}) {
    group.steps.push_back({"one level", "", device, talk(1), {one_level, {}, {}, one_level ? mali : ""}});
    group.steps.push_back(
        {"coarse to fine", "one level", device, talk(levels), {coarse_to_fine, {}, {}, mali}});
  }
  return group;
}

}  // namespace

Paper census_paper() {
  return {
      "census",
      "Census matching on a mobile GPU",
      "Gian Marco Iodice, \"Real-time dense passive stereo vision\", Embedded Vision Summit 2015, results",
      {{"census",
        "Modified census 9×9, 60 disparities",
        "The talk gives rates of its whole system, and the second size without the pyramid not at all. "
        "Its pictures are not public: synthetic pairs of its sizes. What it leaves open is chosen by "
        "measurement, see preset mobile-gpu-2015 in docs/reference/census.md.",
        Unit::pairs_per_second,
        true,
        false,
        {frames("320×240", "synthetic 320x240", 49, 120), frames("640×480", "synthetic 640x480", {}, 52)}}}};
}

}  // namespace parallax::tool
