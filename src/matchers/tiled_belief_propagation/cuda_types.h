// SPDX-License-Identifier: Apache-2.0
// What the host tells the kernels of tiled belief propagation; included by both.
#pragma once

namespace parallax::tiled_belief_propagation {

// An image in tiles. How the values of a pixel lie: see cuda_common.h. Rows of values have no gaps.
struct CudaTiles {
  int width, height;
  int columns, rows;     // of tiles
  const unsigned* data;  // data costs, of all pixels
  // Messages from tile to tile: [column − 1][y] and [row − 1][x] of the tiles that they go to or come from.
  unsigned* to_right;
  unsigned* to_left;
  unsigned* down;
  unsigned* up;
  // Where messages inside tiles are in global memory: sums of two planes, one behind the other; of the image
  // where it is one tile, otherwise for each block that runs.
  unsigned* sums;
  long long plane_words;
  unsigned* progress;        // a counter of all blocks, or one of each tile's visits; 0 when a run starts
  const unsigned* numbered;  // passes of all runs, with those of this one
  int inner, passes;
};

}  // namespace parallax::tiled_belief_propagation
