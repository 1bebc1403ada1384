// SPDX-License-Identifier: Apache-2.0
// Messages and data costs of a level's rows, in the layout of all_labels_kernels.h.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "core/round_up.h"
#include "matchers/motion/all_labels_kernels.h"
#include "matchers/motion/motion.h"

namespace parallax::motion {

// All rows of a level, or the latest `held`; all of their columns, or some of them.
struct LabelRows {
  Size size = {};  // size of the level
  int labels = 0;
  std::size_t element = 1;  // bytes of an element
  int held = 0;
  int first = 0;              // the first pixel of a parity; even
  int computed = 0;           // pixels of a parity, filling widest vectors
  std::ptrdiff_t stride = 0;  // elements between labels
  std::byte* memory = nullptr;

  LabelRows() = default;
  LabelRows(Size of, int pixels, int of_labels, std::size_t element_size, int rows)
      : size(of), labels(of_labels), element(element_size), held(rows) {
    const int line = widest_vector_bytes / static_cast<int>(element);
    computed = round_up(pixels, line);
    // An element that is always 0 ends each label: the message from beyond the left border to the next one.
    // An odd number of cache lines spreads labels over all sets of a cache.
    const int lines = pixels / line + 1;
    stride = (lines % 2 == 0 ? lines + 1 : lines) * line;
  }

  // Planes of labels, then slopes and truncations on each side.
  static constexpr int data_plane = side::count, planes = side::count + 1;
  std::size_t plane_bytes() const { return static_cast<std::size_t>(labels) * label_bytes(); }
  std::size_t label_bytes() const { return static_cast<std::size_t>(stride) * element; }
  std::size_t half_bytes() const { return planes * plane_bytes() + 2 * side::count * label_bytes(); }
  // Includes room for vectors that begin and end beside a plane.
  std::size_t bytes() const {
    return static_cast<std::size_t>(2 * held) * half_bytes() + 2 * widest_vector_bytes;
  }
  // The used part of the planes, without padding.
  std::size_t used_bytes() const {
    return static_cast<std::size_t>(2 * planes * held) * static_cast<std::size_t>(computed) *
           static_cast<std::size_t>(labels) * element;
  }
  void reserve(Arena& arena) { memory = arena.reserve<std::byte>(bytes()); }

  std::byte* half(int y, int parity) const {
    return memory + widest_vector_bytes + static_cast<std::size_t>(2 * (y % held) + parity) * half_bytes();
  }
  // Address of the messages to a side, or of the data costs.
  std::byte* plane(int y, int parity, int index) const {
    return half(y, parity) + static_cast<std::size_t>(index) * plane_bytes();
  }
  std::byte* data(int y, int parity) const { return plane(y, parity, data_plane); }
  std::byte* slopes(int y, int parity, int to) const {
    return plane(y, parity, planes) + static_cast<std::size_t>(2 * to) * label_bytes();
  }
  std::byte* truncations(int y, int parity, int to) const { return slopes(y, parity, to) + label_bytes(); }
};

}  // namespace parallax::motion
