// SPDX-License-Identifier: Apache-2.0
// What image edges leave of smoothness: slopes and truncations for every pixel and direction of every level,
// in the layout of cpu_kernels.h.
#pragma once

#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"

namespace parallax::belief_propagation {

class Edges {
 public:
  Edges(const Model& model, const std::vector<Size>& sizes, ArenaLayout& layout);

  void allocated(std::byte* arena) const;
  void prepare(View<const std::uint16_t> gray, std::byte* arena, const Workers& workers) const;

  // Of the pixels of one half of a row.
  const void* slopes(std::size_t level, int y, int colour, int direction, std::byte* arena) const {
    return plane(level, y, colour, direction, arena);
  }
  const void* truncations(std::size_t level, int y, int colour, int direction, std::byte* arena) const {
    return plane(level, y, colour, direction_count + direction, arena);
  }

 private:
  struct Level {
    Size size;
    std::size_t plane_bytes;
    Buffer<std::byte> planes;  // [row][colour][slopes, then truncations][direction][computed]
    PlaneBuffer<std::uint16_t> gray;
  };

  bool flat() const { return model_.parameters.edge_contrast == 0; }
  std::byte* plane(std::size_t level, int y, int colour, int index, std::byte* arena) const;
  View<const std::uint16_t> gray_of(std::size_t level, View<const std::uint16_t> finest,
                                    std::byte* arena) const;
  template <class Value>
  void write_tables(std::byte* arena) const;
  template <class Value>
  void write_row(std::size_t level, View<const std::uint16_t> gray, int y, std::byte* arena) const;
  template <class Value>
  void write_plane(std::size_t level, int y, int colour, int direction, const std::uint16_t* row,
                   const std::uint16_t* neighbours, std::byte* arena) const;
  template <class Action>
  void in_computing_type(const Action& action) const;

  Model model_;
  std::vector<Level> levels_;
  Buffer<std::byte> tables_;  // the model's, in the type that is computed with
  Buffer<std::byte> flat_;    // slopes and truncations of a row without edges
};

}  // namespace parallax::belief_propagation
