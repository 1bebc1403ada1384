// SPDX-License-Identifier: Apache-2.0
// What the data cost of planes compares, and the edges of the grid.
#pragma once

#include <cstdint>

#include "parallax/image.h"

namespace parallax::planes {

// A row of the right image holds all its pixels, then all of those a quarter of a pixel further right, and so
// on.
struct Features {
  View<std::uint64_t> signature, alike;  // census; which of the neighbours look like the pixel
  View<std::uint16_t> bit_cost, levels;  // with guards like planes
  View<std::uint64_t> right_signature;
  View<std::uint16_t> right_levels;
  // Weights of the edge to the pixel before, and to the pixel above; 0 at the border. With guards, too.
  View<std::uint16_t> edge_before, edge_above;
};

}  // namespace parallax::planes
