// SPDX-License-Identifier: Apache-2.0
// Belief propagation by sweeps (BP-M: Tappen & Freeman 2003) over tiles (Liang, Cheng, Lai, Chen & Chen 2011;
// on a GPU Kotsifakou 2019). A labelling l of the left image costs, in integer units,
//
//   E(l) = Σ_p c(p, l(p)) + Σ_{p~q} λ·min(|l(p) − l(q)|, K)
//
// where p~q are neighbours on the 4-connected grid. Pixel p sends to its neighbour q
//
//   h(a)     = c(p, a) + Σ messages to p, except the one from q
//   m_p→q(b) = min_a ( h(a) + λ·min(|a − b|, K) ) − min_a h(a)
//
// so a message lies in [0, T], T = λ·K, and its least value is 0. A message not yet sent is zero, and so are
// messages from beyond the border of the image.
//
// A sweep goes over a tile in one direction; each pixel sends in that direction, from the messages it
// has by then. An iteration is four sweeps: right, left and the two vertical ones. Tiles of tile × tile
// pixels begin at (0, 0); the last ones may be smaller. A visit of a tile begins with the messages that
// crossed its border before, and zeros inside; it makes `inner` iterations, in which the pixels at the border
// send to those beyond it. An outer iteration visits all tiles in raster order and then all in reverse. In
// the last reverse pass, a tile decides at the end of its visit: a pixel takes the label of the lowest
// belief, c plus the four messages to it; of equals, the lowest.
//
// Where the image is a single tile, a visit begins with the messages that the previous visit left.
//
// A tile reads what its left and upper neighbours sent in this pass, and what its right and lower ones sent
// in the pass before (in reverse, the other way round). So tiles on one anti-diagonal do not depend on each
// other, and to go from diagonal to diagonal (a "wavefront") gives the raster's result.
//
// A pixel's least data cost is subtracted from all of them, and they are cut at 4·T + 1: against three
// messages of at most T and a step of T, a label that far above the least can neither win nor change a
// message. So a belief is at most 8·T + 1, and h at most 7·T + 1.
#pragma once

#include <algorithm>
#include <memory>

#include "parallax/margins.h"
#include "parallax/tiled_belief_propagation.h"

#include "core/integers.h"
#include "core/plan.h"
#include "core/tuning.h"
#include "data_cost/data_cost.h"
#include "decision/decision.h"
#include "matchers/method.h"

namespace parallax::tiled_belief_propagation {

// The highest T with which a belief, up to 8·T + 1, fits in 16 bits.
inline constexpr int highest_truncation = 8191;

std::unique_ptr<detail::Method> method();

double energy(const TiledBeliefPropagationParameters& parameters, const StereoPair& pair,
              View<const float> disparity);

using On = detail::Backends<TiledBeliefPropagationParameters>;
On::Make make_reference;
On::MakeTuned make_cpu, make_cuda;
On::Space cpu_tuning_space, cuda_tuning_space;

// Values derived from the parameters.
struct Model : data_cost::CostModel {
  TiledBeliefPropagationParameters parameters;
  int slope;       // λ
  int truncation;  // T
  int message_bytes;

  int data_bound() const { return 4 * truncation + 1; }
  decision::DecisionRule decision() const { return {min_disparity, labels, parameters.sub_pixel}; }
};

// \throws Error (argument) for parameters that the message width cannot represent
Model make_model(const TiledBeliefPropagationParameters& parameters);

// Whether bytes suffice. They must hold a data cost plus two messages, 6·T + 1. Sums with a third message may
// saturate at 255, because values T or more above the least, which is at most 4·T, do not matter.
bool fits_bytes(const Model& model);

// The kernels' specialisation, as in tuning files: "tile 32, outer 2, inner 1, 8 bits".
std::string variant(const Model& model);

// Margins of a part of the image that is matched on its own; "tiles" here are those of TileGrid.
// \throws Error (argument) as make_model() and data_cost::margins() do
Margins margins(const TiledBeliefPropagationParameters& parameters, const ImageFormat& format, int padding);

// \throws Error (argument) for more tiles than can be counted
void check_tile_count(int columns, int rows);

// The tiles of an image.
struct TileGrid {
  Size image;
  int side;  // side of a tile; at most the longer side of the image
  int columns, rows;

  TileGrid(Size size, int tile)
      : image(size),
        side(tile > 0 ? std::min(tile, std::max(size.width, size.height))
                      : std::max(size.width, size.height)),
        columns(divide_round_up(size.width, side)),
        rows(divide_round_up(size.height, side)) {
    check_tile_count(columns, rows);
  }

  int count() const { return columns * rows; }
};

struct Tile {
  int left, top, right, bottom;  // columns [left, right), rows [top, bottom)

  bool contains(int x, int y) const { return x >= left && x < right && y >= top && y < bottom; }
};

inline Tile tile_at(const TileGrid& grid, int column, int row) {
  const int left = column * grid.side, top = row * grid.side;
  return {left, top, std::min(left + grid.side, grid.image.width),
          std::min(top + grid.side, grid.image.height)};
}

}  // namespace parallax::tiled_belief_propagation
