// SPDX-License-Identifier: Apache-2.0
// The pairs used in the papers on belief propagation.
#pragma once

namespace parallax::tool {

// A folder in papers/ of the data, with left.png, right.png and truth.png.
struct PapersPair {
  const char* name;
  int disparities;
  double truth_scale;  // value of one pixel of disparity in truth.png
};

inline constexpr PapersPair papers_pairs[] = {{"tsukubaSet", 16, 16},    {"venus", 21, 8},
                                              {"barn1", 32, 8},          {"conesQuarterSize", 64, 4},
                                              {"conesHalfSize", 128, 2}, {"conesFullSizeCropped", 256, 1}};

}  // namespace parallax::tool
