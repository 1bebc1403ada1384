// SPDX-License-Identifier: Apache-2.0
// Data costs of all tiles on the CPU, in blocks of columns: computed row by row, in pieces of a row that are
// in the same block.
#pragma once

#include <vector>

#include "core/memory.h"
#include "data_cost/cost_rows.h"
#include "matchers/tiled_belief_propagation/tiling.h"

namespace parallax::tiled_belief_propagation {

class TileCosts {
 public:
  TileCosts(const Model& model, const ImageFormat& format, const Tiling& tiling, int slots)
      : tiling_(tiling),
        rows_(model,
              {.element_bytes = tiling.shape().element_bytes,
               .subtracts_least = true,
               .bound = model.data_bound()},
              format, slots),
        pieces_(cut_rows()) {}

  void reserve(Arena& arena) {
    rows_.reserve(arena);
    blocks_ = arena.reserve<std::byte>(bytes());
  }
  void fill_memory() const { clear_memory(blocks_, bytes()); }

  // Extracts the features of a pair; arguments as of DataCosts::prepare().
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers) {
    rows_.prepare(pair, mirrored, workers);
  }
  void compute(const Workers& workers) const {
    for_rows(workers, grid().image.height, [&](int y, int slot) { compute_row(y, slot); });
  }

  const View<std::uint8_t>& status() const { return rows_.status(); }
  // The blocks of columns of a batch: [step][label][lane] each.
  std::byte* of_batch(int batch) const { return blocks_ + to_size(batch) * tiling_.batch_bytes(); }

 private:
  // Columns [first, last) of the image: those of a tile that are in the same block.
  struct Piece {
    int tile_column, block;
    int first, last;
  };

  const TileGrid& grid() const { return tiling_.grid(); }
  std::size_t bytes() const { return to_size(tiling_.batches().count()) * tiling_.batch_bytes(); }

  std::vector<Piece> cut_rows() const {
    const int lanes = tiling_.shape().lanes;
    std::vector<Piece> pieces;
    for (int column = 0; column < grid().columns; ++column) {
      const Tile tile = tile_at(grid(), column, 0);
      for (int first = tile.left, block = 0; first < tile.right; first += lanes, ++block)
        pieces.push_back({column, block, first, std::min(first + lanes, tile.right)});
    }
    return pieces;
  }

  // Pieces of a row that are adjacent in a batch are computed together, as many as fit.
  void compute_row(int y, int slot) const {
    const std::size_t count = pieces_.size();
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i + 1;
      const int first = pieces_[i].first;
      while (end < count && pieces_[end].last - first <= rows_.at_once()) ++end;
      const auto* costs =
          static_cast<const std::byte*>(rows_.row(y, first, pieces_[end - 1].last - first, slot));
      for (; i < end; ++i) put_piece(pieces_[i], y, costs + (pieces_[i].first - first) * rows_.cost_bytes());
    }
  }

  void put_piece(const Piece& piece, int y, const std::byte* costs) const {
    const int row = y / grid().side;
    const Batches::Place place = tiling_.batches().place(piece.tile_column, row);
    std::byte* step = of_batch(place.batch) + to_size(piece.block) * tiling_.column_block_bytes() +
                      to_size(y - row * grid().side) * tiling_.step_bytes();
    const Lanes from{const_cast<std::byte*>(costs), rows_.cost_bytes(), data_cost::CostRows::stride()},
        to = tiling_.lanes_of(step, place.tile);
    const int pixels = piece.last - piece.first;
    // Copies full cells where it can: the group has room, and surplus lanes are ignored.
    copy_lanes(tiling_.shape().labels, from, to,
               from.bytes == to.bytes ? round_up(pixels, tiling_.cell()) : pixels);
  }

  const Tiling& tiling_;
  data_cost::CostRows rows_;
  std::vector<Piece> pieces_;    // pieces of a row
  std::byte* blocks_ = nullptr;  // [batch][block of columns][step][label][lane]
};

}  // namespace parallax::tiled_belief_propagation
