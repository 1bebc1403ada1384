// SPDX-License-Identifier: Apache-2.0
// Bars of speed-ups, as SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace parallax::tool {

// A bar for each of the two that are there. Both are above 0.
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

// On a scale of powers; bars begin at 1, those of a slow-down go to the left. Light or dark as the reader has
// it.
std::string draw_svg(const SpeedUpChart& chart);

}  // namespace parallax::tool
