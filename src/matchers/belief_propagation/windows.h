// SPDX-License-Identifier: Apache-2.0
// Rows in progress on a level that considers all labels: each thread has a window of a few more rows than there are
// iterations, in planes of data costs (of the finest level) and messages, and the decisions of one row.
#pragma once

#include <algorithm>
#include <vector>

#include "matchers/belief_propagation/levels.h"

namespace parallax::belief_propagation {

struct Window {
  std::vector<std::byte*> planes;  // by level: [row % rows()][plane]
  std::uint16_t* labels;
  float*
      around[6];  // beliefs before, of, and behind the label, of its rival, and of the row offsets next to it
};

class Windows {
 public:
  static constexpr int data_costs = direction_count;  // in place of a direction

  Windows(const Model& model, const Levels& levels, int slots)
      : model_(model), levels_(levels), windows_(static_cast<std::size_t>(slots)) {
    const int coarse = model.iterations(levels.count() > 1 ? 1 : 0, false);
    rows_ = std::min(std::max({coarse, model.iterations(0, false), model.iterations(0, true)}) + 3,
                     levels[0].size.height);
  }

  // Called twice, as Arena says, before any other function.
  void reserve(Arena& arena) {
    const auto pixels = static_cast<std::size_t>(levels_[0].shape.computed);
    for (Window& window : windows_) {
      window.planes.resize(levels_.count());
      for (std::size_t i = levels_.first(); i < levels_.count(); ++i)
        window.planes[i] = levels_[i].reserve(planes_of(levels_[i]), arena);
      window.labels = arena.reserve<std::uint16_t>(pixels);
      for (float*& beliefs : window.around) beliefs = arena.reserve<float>(pixels);
    }
  }
  void fill_memory() const {
    for (const Window& window : windows_)
      for (std::size_t i = levels_.first(); i < levels_.count(); ++i)
        levels_[i].clear(window.planes[i], planes_of(levels_[i]));
  }

  const Window& operator[](int slot) const { return windows_[static_cast<std::size_t>(slot)]; }
  std::byte* plane(std::size_t level, int y, int colour, int direction, int slot) const {
    return levels_[level].plane(
        (*this)[slot].planes[level],
        static_cast<std::size_t>(y % rows_) * planes_in_row() + index_in_row(colour, direction));
  }
  // Bytes of one element of a half in all rows.
  std::size_t column_bytes() const {
    return static_cast<std::size_t>(rows_) * planes_in_row() * static_cast<std::size_t>(model_.labels) *
           storage_bytes(model_.parameters.arithmetic);
  }

 private:
  // Both colours keep data costs and messages downwards and to the right. Messages upwards and to the left
  // are those of the colour that was updated last: by then, those of the other colour have been read. Floats
  // keep all, for the rows that keep their messages.
  std::size_t index_in_row(int colour, int direction) const {
    const auto index = static_cast<std::size_t>(direction), side = static_cast<std::size_t>(colour);
    if (!model_.integer) return side * (direction_count + 1) + index;
    constexpr std::size_t shared[] = {0, 2, 1, 4, 6};
    return direction == above || direction == left ? shared[index] : shared[index] + side;
  }
  std::size_t planes_in_row() const { return model_.integer ? 8 : 2 * (direction_count + 1); }
  std::size_t planes_of(const Level& level) const {
    return static_cast<std::size_t>(std::min(rows_, level.size.height)) * planes_in_row();
  }

  const Model& model_;
  const Levels& levels_;
  int rows_;
  std::vector<Window> windows_;  // by slot
};

}  // namespace parallax::belief_propagation
