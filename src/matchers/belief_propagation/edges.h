// SPDX-License-Identifier: Apache-2.0
// Smoothness at image edges: slopes and truncations for every pixel and direction of every level, in the
// layout of cpu_kernels.h.
#pragma once

#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"

namespace parallax::belief_propagation {

class Edges {
 public:
  // `sizes` are those of all levels; slopes and truncations are made from level `first` on.
  Edges(const Model& model, const std::vector<Size>& sizes, std::size_t first);

  // Called twice, as Arena says, before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory() const;
  void prepare(View<const std::uint16_t> gray, const Workers& workers);

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
  std::size_t rows(const Level& level) const {
    return flat() ? 1 : static_cast<std::size_t>(level.size.height);
  }
  bool flat() const { return model_.parameters.edge_contrast == 0; }
  std::byte* plane(std::size_t level, int y, int colour, int index) const;
  template <class Value>
  void write_tables() const;
  template <class Value>
  void write_row(std::size_t level, int y) const;
  template <class Value>
  void write_plane(std::size_t level, int y, int colour, int direction, const std::uint16_t* row,
                   const std::uint16_t* neighbours) const;
  template <class Action>
  void in_computing_type(const Action& action) const;

  Model model_;
  std::vector<Level> levels_;
  std::size_t first_;
  View<const std::uint16_t> finest_;
  // Slopes and truncations in the computing type.
  std::byte* tables_ = nullptr;
};

}  // namespace parallax::belief_propagation
