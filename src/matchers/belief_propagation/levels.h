// SPDX-License-Identifier: Apache-2.0
// Memory of the levels that consider all labels, on the CPU: what coarse levels keep, and the rows in
// progress on any level. Data costs and messages are in planes as cpu_kernels.h describes them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arena.h"
#include "core/memory.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"

namespace parallax::belief_propagation {

// The colour of the pixels of row y whose column has this parity; and the other way round.
inline int colour_of(int y, int parity) {
  return (y + parity) % 2;
}

// Calls body(level, first, last, slot) for ranges of rows that cover the levels [first_level, end) of an
// image of `height` rows: for rows of a level after those of the level before that are their children.
template <class Body>
void for_level_rows(const Workers& workers, int height, std::size_t first_level, std::size_t end,
                    const Body& body) {
  // One thread computes all of these levels for a band of 16 rows of the image.
  constexpr std::size_t levels_of_bands = 5;
  constexpr int band_rows = 1 << (levels_of_bands - 1);
  const auto rows_of = [&](std::size_t level) { return divide_round_up(height, 1 << level); };
  workers.for_each(divide_round_up(height, band_rows), [&](int band, int slot) {
    for (std::size_t level = first_level; level < std::min(end, levels_of_bands); ++level)
      body(level, band * band_rows >> level, std::min((band + 1) * band_rows >> level, rows_of(level)), slot);
  });
  for (std::size_t level = std::max(first_level, levels_of_bands); level < end; ++level)
    for_row_ranges(workers, rows_of(level),
                   [&](int first, int last, int slot) { body(level, first, last, slot); });
}

struct Level {
  Size size;
  PlaneShape shape;
  std::size_t plane_bytes;                         // from one plane to the next
  std::size_t margin;                              // bytes before the first plane, as between planes
  std::byte *data = nullptr, *messages = nullptr;  // [row][colour] and [row][colour][direction]; if stored

  std::byte* reserve(std::size_t planes, Arena& arena) const {
    return arena.reserve<std::byte>(planes * plane_bytes + margin);
  }
  void clear(std::byte* memory, std::size_t planes) const {
    clear_memory(memory, planes * plane_bytes + margin);
  }
  std::byte* plane(std::byte* memory, std::size_t index) const {
    return memory + margin + index * plane_bytes;
  }
  std::size_t data_planes() const { return to_size(size.height) * 2; }
  std::byte* data_plane(int y, int colour) const { return plane(data, index_of(y, colour)); }
  std::byte* message_plane(int y, int colour, int direction) const {
    return plane(messages, index_of(y, colour) * direction_count + to_size(direction));
  }
  // Pixels of one colour in a row.
  int pixels(int y, int colour) const { return (size.width - colour_of(y, colour) + 1) / 2; }

 private:
  static std::size_t index_of(int y, int colour) { return to_size(y) * 2 + to_size(colour); }
};

class Levels {
 public:
  // Planes begin on 64-byte boundaries if they are `aligned`.
  Levels(const Model& model, Size image, bool aligned, int slots) : model_(model), scratch_(to_size(slots)) {
    for (const Size size : level_sizes(image, model.parameters.levels))
      levels_.push_back(level_of(size, widest_vector_bytes + (aligned ? 0 : sizeof(float))));
    candidate_levels_ = model.candidate_levels(levels_.size());
  }

  void reserve(Arena& arena) {
    for (std::size_t i = first_stored(); i < levels_.size(); ++i) {
      levels_[i].data = levels_[i].reserve(levels_[i].data_planes(), arena);
      levels_[i].messages = levels_[i].reserve(levels_[i].data_planes() * direction_count, arena);
    }
    zeros_ = levels_.front().reserve(1, arena);
    for (std::byte*& scratch : scratch_) scratch = arena.reserve<std::byte>(scratch_bytes(model_.labels));
  }
  void fill_memory() const {
    for (std::size_t i = first_stored(); i < levels_.size(); ++i) {
      levels_[i].clear(levels_[i].data, levels_[i].data_planes());
      levels_[i].clear(levels_[i].messages, levels_[i].data_planes() * direction_count);
    }
    levels_.front().clear(zeros_, 1);
  }

  std::size_t count() const { return levels_.size(); }
  const Level& operator[](std::size_t level) const { return levels_[level]; }
  bool has_candidates() const { return candidate_levels_ > 0; }
  // The finest level on which all labels are considered: all finer ones have candidates.
  std::size_t first() const { return candidate_levels_; }
  // The finest level that keeps its data costs and messages.
  std::size_t first_stored() const { return std::max<std::size_t>(1, candidate_levels_); }
  // A plane of zeros: data costs and messages from beyond the top and the bottom.
  const std::byte* zeros() const { return levels_.front().plane(zeros_, 0); }
  // Scratch memory of the kernels.
  std::byte* scratch(int slot) const { return scratch_[to_size(slot)]; }

 private:
  Level level_of(Size size, std::size_t margin) const {
    // At multiples of 4096 bytes, planes would share cache sets, and a load would wait for a store to another
    // plane.
    constexpr std::size_t gap = 192;
    const Arithmetic arithmetic = model_.parameters.arithmetic;
    const PlaneShape shape = plane_shape(size, model_.labels, model_.row_offsets, arithmetic);
    const std::size_t elements = to_size(shape.stride) * to_size(model_.labels);
    return {size, shape, elements * storage_bytes(arithmetic) + gap, margin};
  }

  const Model& model_;
  std::vector<Level> levels_;
  std::size_t candidate_levels_;
  std::byte* zeros_ = nullptr;
  std::vector<std::byte*> scratch_;  // by slot
};

// Rows in progress of one thread: a few more than there are iterations, and the decisions of one row.
struct Window {
  std::vector<std::byte*> planes;  // by level: [row % rows][plane]
  std::uint16_t* labels;
  // Beliefs of the label before, that label, the one after, and the row offsets before and after.
  float* around[5];
};

class Windows {
 public:
  static constexpr int data_costs = direction_count;  // in place of a direction

  Windows(const Model& model, const Levels& levels, int slots)
      : model_(model), levels_(levels), windows_(to_size(slots)) {
    const int coarse = model.iterations(levels.count() > 1 ? 1 : 0, false);
    rows_ = std::min(std::max({coarse, model.iterations(0, false), model.iterations(0, true)}) + 3,
                     levels[0].size.height);
  }

  void reserve(Arena& arena) {
    const auto pixels = to_size(levels_[0].shape.computed);
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

  const Window& operator[](int slot) const { return windows_[to_size(slot)]; }
  std::byte* plane(std::size_t level, int y, int colour, int direction, int slot) const {
    return levels_[level].plane((*this)[slot].planes[level],
                                to_size(y % rows_) * planes_in_row() + index_in_row(colour, direction));
  }
  // Bytes of one element of a half in all rows.
  std::size_t column_bytes() const {
    return to_size(rows_) * planes_in_row() * to_size(model_.labels) *
           storage_bytes(model_.parameters.arithmetic);
  }

 private:
  // Both colours keep data costs and messages downwards and to the right. Messages upwards and to the left
  // are those of the colour that was updated last: by then, those of the other colour have been read. Floats
  // keep all, for the rows that keep their messages.
  std::size_t index_in_row(int colour, int direction) const {
    const auto index = to_size(direction), side = to_size(colour);
    if (!model_.integer) return side * (direction_count + 1) + index;
    constexpr std::size_t shared[] = {0, 2, 1, 4, 6};
    return direction == above || direction == left ? shared[index] : shared[index] + side;
  }
  std::size_t planes_in_row() const { return model_.integer ? 8 : 2 * (direction_count + 1); }
  std::size_t planes_of(const Level& level) const {
    return to_size(std::min(rows_, level.size.height)) * planes_in_row();
  }

  const Model& model_;
  const Levels& levels_;
  int rows_;
  std::vector<Window> windows_;  // by slot
};

}  // namespace parallax::belief_propagation
