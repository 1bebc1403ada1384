// SPDX-License-Identifier: Apache-2.0
// The pairs used in the papers on belief propagation.
#pragma once

#include <span>

namespace parallax::tool {

// A folder in papers/ of the data, with left.png, right.png and truth.png.
struct PapersPair {
  const char* name;
  int disparities;
  double truth_scale;  // value of one pixel of disparity in truth.png
};

std::span<const PapersPair> papers_pairs();

}  // namespace parallax::tool
