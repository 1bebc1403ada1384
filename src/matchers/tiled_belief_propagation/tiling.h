// SPDX-License-Identifier: Apache-2.0
// The tiles of an image on the CPU: in batches, and in blocks of lanes as cpu_kernels.h describes them.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/integers.h"
#include "matchers/tiled_belief_propagation/batches.h"
#include "matchers/tiled_belief_propagation/cpu_kernels.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {

// Lanes of one step, for every label: labels are `step` elements apart.
struct Lanes {
  std::byte* first;
  int bytes;  // bytes of an element: 1 or 2
  int step;
};

class Tiling {
 public:
  // `vector_bytes` 0: the best for this machine.
  Tiling(const Model& model, Size image, int vector_bytes, int threads)
      : grid_(image, model.parameters.tile),
        tile_{std::min(grid_.side, image.width), std::min(grid_.side, image.height)},
        shape_(choose_shape(model, vector_bytes, threads)),
        cell_(tiled_belief_propagation::cell(shape_.element_bytes)),
        batches_(grid_, shape_.tiles) {}

  const TileGrid& grid() const { return grid_; }
  const Batches& batches() const { return batches_; }
  Tile tile_of(const Batch& batch, int i) const { return tile_at(grid_, batch.column - i, batch.row + i); }
  const BlockShape& shape() const { return shape_; }
  int cell() const { return cell_; }
  // The lanes of a tile of a batch in a step that begins at `step`.
  Lanes lanes_of(std::byte* step, int tile) const {
    return {step + tile * shape_.group * shape_.element_bytes, shape_.element_bytes, shape_.lanes};
  }
  // Blocks of so many rows or columns of a batch.
  int blocks(int pixels) const { return shape_.tiles > 1 ? 1 : divide_round_up(pixels, shape_.lanes); }
  // Those of the largest tile, and their steps.
  int row_blocks() const { return blocks(tile_.height); }
  int column_blocks() const { return blocks(tile_.width); }
  int row_steps() const { return round_up(tile_.width, cell()); }
  int column_steps() const { return round_up(tile_.height, cell()); }

  std::size_t step_elements() const { return to_size(shape_.step()); }
  std::size_t step_bytes() const { return step_elements() * to_size(shape_.element_bytes); }
  std::size_t row_block_bytes() const { return to_size(row_steps()) * step_bytes(); }
  std::size_t column_block_bytes() const { return to_size(column_steps()) * step_bytes(); }
  std::size_t batch_bytes() const { return to_size(column_blocks()) * column_block_bytes(); }

 private:
  BlockShape choose_shape(const Model& model, int vector_bytes, int threads) const {
    BlockShape shape{};
    shape.element_bytes = fits_bytes(model) ? 1 : 2;
    shape.labels = model.labels;
    const int side = std::max(tile_.width, tile_.height);
    if (vector_bytes > 0) {
      shape.lanes = lanes_in(vector_bytes, shape.element_bytes);
    } else {
      shape.lanes = choose_lanes(shape.element_bytes, side);
      if (grid_.count() == 1) shape.lanes = lanes_to_share(shape, threads);
    }
    const int group = round_up(side, tiled_belief_propagation::cell(shape.element_bytes));
    shape.tiles = std::max(1, shape.lanes / group);
    shape.group = shape.tiles > 1 ? group : shape.lanes;
    return shape;
  }

  // Reduces the lanes where threads would not get a few blocks each.
  int lanes_to_share(const BlockShape& shape, int threads) const {
    constexpr int half_vector_bytes = 32, blocks_each = 4;
    const int few = std::min(tile_.width, tile_.height) / (blocks_each * threads);
    const int half = half_vector_bytes / shape.element_bytes;
    return shape.lanes > half && shape.lanes > few ? half : shape.lanes;
  }

  TileGrid grid_;
  Size tile_;  // the largest one
  BlockShape shape_;
  int cell_;
  Batches batches_;
};

template <class From, class To>
void copy_lanes(int labels, Lanes from, Lanes to, int count) {
  const auto copy = [&](auto bytes) {
    for (std::ptrdiff_t label = 0; label < labels; ++label)
      std::memcpy(reinterpret_cast<To*>(to.first) + label * to.step,
                  reinterpret_cast<const From*>(from.first) + label * from.step, bytes);
  };
  if constexpr (std::is_same_v<From, To>) {
    const std::size_t bytes = to_size(count) * sizeof(To);
    // With a constant size, a copy is a single move.
    if (bytes == 16) return copy(std::integral_constant<std::size_t, 16>());
    if (bytes == 32) return copy(std::integral_constant<std::size_t, 32>());
    if (bytes == 64) return copy(std::integral_constant<std::size_t, 64>());
    copy(bytes);
  } else {
    const auto* source = reinterpret_cast<const From*>(from.first);
    auto* target = reinterpret_cast<To*>(to.first);
    for (std::ptrdiff_t label = 0; label < labels; ++label)
      std::transform(source + label * from.step, source + label * from.step + count, target + label * to.step,
                     [](From value) { return static_cast<To>(value); });
  }
}

inline void copy_lanes(int labels, Lanes from, Lanes to, int count) {
  if (from.bytes == to.bytes)
    return from.bytes == 1 ? copy_lanes<std::uint8_t, std::uint8_t>(labels, from, to, count)
                           : copy_lanes<std::uint16_t, std::uint16_t>(labels, from, to, count);
  return from.bytes == 1 ? copy_lanes<std::uint8_t, std::uint16_t>(labels, from, to, count)
                         : copy_lanes<std::uint16_t, std::uint8_t>(labels, from, to, count);
}

}  // namespace parallax::tiled_belief_propagation
