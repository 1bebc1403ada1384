// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of tiled belief propagation; included by host and kernels.
#pragma once

namespace parallax::tiled_belief_propagation {

// An image in tiles. For the layout of a pixel's values see cuda_common.h. Rows of values have no gaps.
struct CudaTiles {
  int width, height;
  int columns, rows;     // numbers of tiles
  const unsigned* data;  // data costs of all pixels
  // Messages from tile to tile: [column − 1][y] and [row − 1][x] of the tiles that they go to or come from.
  unsigned* to_right;
  unsigned* to_left;
  unsigned* down;
  unsigned* up;
  // Memory of messages inside tiles in global memory: sums in two consecutive planes, for the image if it is
  // a single tile, otherwise for each running block.
  unsigned* sums;
  long long plane_words;
  // one counter for all blocks, or one per tile, of its visits; 0 when a run starts
  unsigned* progress;
  const unsigned* numbered;  // number of passes of all runs, including this one
  int inner, passes;
};

}  // namespace parallax::tiled_belief_propagation
