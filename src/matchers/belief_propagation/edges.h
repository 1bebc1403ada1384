// SPDX-License-Identifier: Apache-2.0
// Smoothness at image edges: slopes and truncations for every pixel and direction of every level, in the
// layout of cpu_kernels.h.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"
#include "matchers/belief_propagation/levels.h"

namespace parallax::belief_propagation {

inline void average_row(View<const std::uint16_t> fine, int y, View<std::uint16_t> coarse) {
  const int rows = std::min(2, fine.size.height - 2 * y);
  for (int x = 0; x < coarse.size.width; ++x) {
    const int columns = std::min(2, fine.size.width - 2 * x);
    int sum = 0;
    for (int j = 0; j < rows; ++j)
      for (int i = 0; i < columns; ++i) sum += fine.at(2 * x + i, 2 * y + j);
    const int children = rows * columns;
    coarse.at(x, y) = static_cast<std::uint16_t>((sum + children / 2) / children);
  }
}

class Edges {
 public:
  // `sizes` are those of all levels; slopes and truncations are made from level `first` on.
  Edges(const Model& model, const std::vector<Size>& sizes, std::size_t first)
      : model_(model), first_(first) {
    const Arithmetic arithmetic = model.parameters.arithmetic;
    for (const Size size : sizes) {
      const int computed = plane_shape(size, model.labels, model.row_offsets, arithmetic).computed;
      levels_.push_back(
          {size, static_cast<std::size_t>(computed) * computing_bytes(arithmetic), nullptr, {}});
    }
  }

  void reserve(Arena& arena) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      Level& level = levels_[i];
      if (i >= first_)
        level.planes =
            arena.reserve<std::byte>(rows(level) * 2 * tables() * direction_count * level.plane_bytes);
      if (i > 0 && !flat()) level.gray = arena.reserve_plane<std::uint16_t>(level.size);
    }
    tables_ = arena.reserve<std::byte>(tables() * table_bytes());
  }
  void fill_memory() const {
    in_computing_type([&](auto value) {
      write_tables<decltype(value)>();
      for (std::size_t level = first_; level < levels_.size() && flat(); ++level)
        write_row<decltype(value)>(level, 0);
    });
  }
  void prepare(View<const std::uint16_t> gray, const Workers& workers) {
    finest_ = gray;
    if (flat()) return;
    const int height = levels_.front().size.height;
    for_level_rows(workers, height, 1, levels_.size(), [&](std::size_t level, int first, int last, int) {
      for (int y = first; y < last; ++y) average_row(this->gray(level - 1), y, levels_[level].gray);
    });
    for_level_rows(workers, height, first_, levels_.size(), [&](std::size_t level, int first, int last, int) {
      in_computing_type([&](auto value) {
        for (int y = first; y < last; ++y) write_row<decltype(value)>(level, y);
      });
    });
  }

  // The gray image of a level; empty where all edges are alike.
  View<const std::uint16_t> gray(std::size_t level) const {
    return flat() ? View<const std::uint16_t>{} : level == 0 ? finest_ : levels_[level].gray;
  }

  // Slopes of the pixels of one half of a row; 0 beyond the border.
  const void* slopes(std::size_t level, int y, int colour, int direction) const {
    return plane(level, y, colour, direction);
  }
  const void* truncations(std::size_t level, int y, int colour, int direction) const {
    return plane(level, y, colour, direction_count + direction);
  }
  // Model::row_bound; null where there is one row offset.
  const void* row_bounds(std::size_t level, int y, int colour, int direction) const {
    return tables() == 2 ? nullptr : plane(level, y, colour, 2 * direction_count + direction);
  }

 private:
  struct Level {
    Size size;
    std::size_t plane_bytes;
    // [row][colour][slopes, truncations, row bounds][direction][computed]; one row where all edges are alike.
    std::byte* planes;
    View<std::uint16_t> gray;
  };

  // Slopes and truncations, and row bounds where there are several row offsets.
  std::size_t tables() const { return model_.row_offsets == 1 ? 2 : 3; }
  std::size_t table_bytes() const { return edge_table_size * computing_bytes(model_.parameters.arithmetic); }
  // Rows of planes that differ.
  std::size_t rows(const Level& level) const { return flat() ? 1 : to_size(level.size.height); }
  bool flat() const { return model_.parameters.edge_contrast == 0; }
  std::byte* plane(std::size_t level, int y, int colour, int index) const {
    // Without edges in the image, only the parity of x matters.
    const int row = flat() ? (y + colour) % 2 : y * 2 + colour;
    return levels_[level].planes +
           (to_size(row) * tables() * direction_count + to_size(index)) * levels_[level].plane_bytes;
  }
  template <class Value>
  void write_tables() const {
    Value* slopes = reinterpret_cast<Value*>(tables_);
    std::copy(model_.slopes.begin(), model_.slopes.end(), slopes);
    std::copy(model_.truncations.begin(), model_.truncations.end(), slopes + edge_table_size);
    if (tables() > 2)
      std::fill_n(slopes + 2 * edge_table_size, edge_table_size, static_cast<Value>(model_.row_bound));
  }
  template <class Value>
  void write_row(std::size_t level, int y) const {
    const View<const std::uint16_t> gray = this->gray(level);
    const std::uint16_t* row = flat() ? nullptr : gray.row(y);
    const std::uint16_t* neighbours[direction_count] = {};
    if (!flat()) {
      neighbours[above] = gray.row(std::max(y - 1, 0));
      neighbours[below] = gray.row(std::min(y + 1, gray.size.height - 1));
      neighbours[left] = row - 1;
      neighbours[right] = row + 1;
    }
    for (int colour = 0; colour < 2; ++colour)
      for (int direction = 0; direction < direction_count; ++direction)
        write_plane<Value>(level, y, colour, direction, row, neighbours[direction]);
  }
  template <class Value>
  void write_plane(std::size_t level, int y, int colour, int direction, const std::uint16_t* row,
                   const std::uint16_t* neighbours) const {
    const Value* table = reinterpret_cast<const Value*>(tables_);
    Value* out[3] = {};
    for (std::size_t i = 0; i < tables(); ++i)
      out[i] = reinterpret_cast<Value*>(
          plane(level, y, colour, static_cast<int>(i) * direction_count + direction));
    const bool has_rows = tables() > 2;
    const int parity = (y + colour) % 2, width = levels_[level].size.width;
    const auto write = [&](int i, int difference) {
      const int edge = edge_index(std::abs(difference));
      out[0][i] = table[edge];
      out[1][i] = table[edge_table_size + edge];
      if (has_rows) out[2][i] = table[2 * edge_table_size + edge];
    };
    // There are no image edges beyond the border, and no edges at all between pixels beyond it.
    const int pixels = (width - parity + 1) / 2;
    const auto computed = static_cast<std::ptrdiff_t>(levels_[level].plane_bytes / sizeof(Value));
    const bool at_left = direction == left && parity == 0;
    const bool at_right = direction == right && 2 * (pixels - 1) + parity == width - 1;
    for (int i = 0; i < pixels; ++i) {
      const bool at_border = row == nullptr || (at_left && i == 0) || (at_right && i == pixels - 1);
      write(i, at_border ? 0 : row[2 * i + parity] - neighbours[2 * i + parity]);
    }
    for (std::size_t i = 0; i < tables(); ++i) std::fill(out[i] + pixels, out[i] + computed, Value{0});
  }
  template <class Action>
  void in_computing_type(const Action& action) const {
    switch (computing_bytes(model_.parameters.arithmetic)) {
      case 1:
        return action(std::uint8_t{});
      case 2:
        return action(std::uint16_t{});
      default:
        return action(float{});
    }
  }

  Model model_;
  std::vector<Level> levels_;
  std::size_t first_;
  View<const std::uint16_t> finest_;
  // Slopes and truncations in the computing type.
  std::byte* tables_ = nullptr;
};

}  // namespace parallax::belief_propagation
