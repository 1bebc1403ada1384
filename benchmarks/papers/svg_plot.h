// SPDX-License-Identifier: Apache-2.0
// Bar charts of speed-ups, as SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace parallax::tool {

// One bar for each figure that is present. Both figures are above 0.
struct SpeedUpBars {
  std::string name;
  std::optional<double> here, published;
};

struct SpeedUpStep {
  std::string name;
  std::vector<SpeedUpBars> bars;
};

struct SpeedUpChart {
  std::string title, subtitle;
  std::vector<SpeedUpStep> steps;
};

// The scale is logarithmic; bars begin at 1, and slow-downs extend to the left. Light or dark as the viewer
// prefers.
std::string draw_svg(const SpeedUpChart& chart);

}  // namespace parallax::tool
