// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/papers_pairs.h"

namespace parallax::tool {

std::span<const PapersPair> papers_pairs() {
  static constexpr PapersPair pairs[] = {{"tsukubaSet", 16, 16},    {"venus", 21, 8},
                                         {"barn1", 32, 8},          {"conesQuarterSize", 64, 4},
                                         {"conesHalfSize", 128, 2}, {"conesFullSizeCropped", 256, 1}};
  return pairs;
}

}  // namespace parallax::tool
