// SPDX-License-Identifier: Apache-2.0
// Messages between tiles on the CPU. Neighbouring tiles share one buffer, [block][label][lane of the tile]:
// messages that crossed their border in one pass are read before the next pass writes those in the other
// direction there.
#pragma once

#include "core/arena.h"
#include "core/memory.h"
#include "matchers/tiled_belief_propagation/tiling.h"

namespace parallax::tiled_belief_propagation {

enum Side { left, right, above, below };

class Borders {
 public:
  Borders(const Model& model, const Tiling& tiling)
      : tiling_(tiling),
        bytes_(model.message_bytes),
        block_bytes_(to_size(tiling.shape().labels * tiling.shape().group * bytes_)) {}

  void reserve(Arena& arena) {
    between_columns_ = arena.reserve<std::byte>(between_columns_bytes());
    between_rows_ = arena.reserve<std::byte>(between_rows_bytes());
  }
  // No message has been sent yet.
  void clear() const {
    clear_memory(between_columns_, between_columns_bytes());
    clear_memory(between_rows_, between_rows_bytes());
  }

  // Copies a batch's messages from one side into steps, one for each block; returns whether there are any.
  bool receive(const Batch& batch, Side side, int blocks, std::byte* steps) const {
    std::memset(steps, 0, to_size(blocks) * tiling_.step_bytes());
    bool any = false;
    for (int i = 0; i < batch.tiles; ++i) {
      std::byte* border = border_of(batch, i, side);
      if (border == nullptr) continue;
      any = true;
      for (int block = 0; block < blocks; ++block)
        copy(messages(border, block), tiling_.lanes_of(steps + to_size(block) * tiling_.step_bytes(), i));
    }
    return any;
  }
  // Copies the messages that leave a block on one side from a step.
  void leave(const Batch& batch, Side side, int block, std::byte* step) const {
    for (int i = 0; i < batch.tiles; ++i)
      if (std::byte* border = border_of(batch, i, side))
        copy(tiling_.lanes_of(step, i), messages(border, block));
  }

 private:
  const TileGrid& grid() const { return tiling_.grid(); }
  std::size_t row_border_bytes() const { return to_size(tiling_.row_blocks()) * block_bytes_; }
  std::size_t column_border_bytes() const { return to_size(tiling_.column_blocks()) * block_bytes_; }
  std::size_t between_columns_bytes() const {
    return to_size((grid().columns - 1) * grid().rows) * row_border_bytes();
  }
  std::size_t between_rows_bytes() const {
    return to_size(grid().columns * (grid().rows - 1)) * column_border_bytes();
  }

  std::byte* between_columns(int left_column, int row) const {
    return between_columns_ + to_size(row * (grid().columns - 1) + left_column) * row_border_bytes();
  }
  std::byte* between_rows(int column, int upper_row) const {
    return between_rows_ + to_size(upper_row * grid().columns + column) * column_border_bytes();
  }

  // The border of a tile of a batch; null at the border of the image.
  std::byte* border_of(const Batch& batch, int tile, Side side) const {
    const int column = batch.column - tile, row = batch.row + tile;
    switch (side) {
      case left:
        return column > 0 ? between_columns(column - 1, row) : nullptr;
      case right:
        return column + 1 < grid().columns ? between_columns(column, row) : nullptr;
      case above:
        return row > 0 ? between_rows(column, row - 1) : nullptr;
      case below:
        return row + 1 < grid().rows ? between_rows(column, row) : nullptr;
    }
    return nullptr;
  }

  Lanes messages(std::byte* border, int block) const {
    return {border + to_size(block) * block_bytes_, bytes_, tiling_.shape().group};
  }
  void copy(Lanes from, Lanes to) const {
    copy_lanes(tiling_.shape().labels, from, to, tiling_.shape().group);
  }

  const Tiling& tiling_;
  int bytes_;  // bytes of an element
  std::size_t block_bytes_;
  std::byte *between_columns_ = nullptr, *between_rows_ = nullptr;
};

}  // namespace parallax::tiled_belief_propagation
