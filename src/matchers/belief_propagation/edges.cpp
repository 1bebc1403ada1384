// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/edges.h"

#include <algorithm>
#include <cstdlib>

namespace parallax::belief_propagation {
namespace {

void average_row(View<const std::uint16_t> fine, int y, View<std::uint16_t> coarse) {
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

}  // namespace

Edges::Edges(const Model& model, const std::vector<Size>& sizes, std::size_t first)
    : model_(model), first_(first) {
  const Arithmetic arithmetic = model.parameters.arithmetic;
  for (const Size size : sizes) {
    const int computed = plane_shape(size, model.labels, arithmetic).computed;
    levels_.push_back({size, static_cast<std::size_t>(computed) * computing_bytes(arithmetic), nullptr, {}});
  }
}

void Edges::reserve(Arena& arena) {
  for (std::size_t i = 0; i < levels_.size() && !flat(); ++i) {
    Level& level = levels_[i];
    if (i >= first_)
      level.planes = arena.reserve<std::byte>(static_cast<std::size_t>(level.size.height) * 2 * 2 *
                                              direction_count * level.plane_bytes);
    if (i > 0) level.gray = arena.reserve_plane<std::uint16_t>(level.size);
  }
  tables_ = arena.reserve<std::byte>(2 * table_bytes());
}

std::size_t Edges::table_bytes() const {
  return flat() ? levels_.front().plane_bytes
                : edge_table_size * computing_bytes(model_.parameters.arithmetic);
}

std::byte* Edges::plane(std::size_t level, int y, int colour, int index) const {
  if (flat()) return tables_ + (index < direction_count ? 0 : table_bytes());
  const auto row = static_cast<std::size_t>(y) * 2 + static_cast<std::size_t>(colour);
  return levels_[level].planes +
         (row * 2 * direction_count + static_cast<std::size_t>(index)) * levels_[level].plane_bytes;
}

template <class Action>
void Edges::in_computing_type(const Action& action) const {
  switch (computing_bytes(model_.parameters.arithmetic)) {
    case 1:
      return action(std::uint8_t{});
    case 2:
      return action(std::uint16_t{});
    default:
      return action(float{});
  }
}

void Edges::write_tables() const {
  in_computing_type([&](auto value) { write_tables_of<decltype(value)>(); });
}

template <class Value>
void Edges::write_tables_of() const {
  const std::size_t count = table_bytes() / sizeof(Value);
  Value* slopes = reinterpret_cast<Value*>(tables_);
  Value* truncations = slopes + count;
  for (std::size_t i = 0; i < count; ++i) {
    slopes[i] = static_cast<Value>(model_.slopes[flat() ? 0 : i]);
    truncations[i] = static_cast<Value>(model_.truncations[flat() ? 0 : i]);
  }
}

View<const std::uint16_t> Edges::gray_of(std::size_t level, View<const std::uint16_t> finest) const {
  return level == 0 ? finest : levels_[level].gray;
}

void Edges::prepare(View<const std::uint16_t> gray, const Workers& workers) {
  finest_ = gray;
  if (flat()) return;
  for (std::size_t level = 1; level < levels_.size(); ++level)
    for_row_ranges(workers, levels_[level].size.height, [&](int first, int last, int) {
      for (int y = first; y < last; ++y) average_row(gray_of(level - 1, gray), y, levels_[level].gray);
    });
  for (std::size_t level = first_; level < levels_.size(); ++level)
    for_row_ranges(workers, levels_[level].size.height, [&](int first, int last, int) {
      in_computing_type([&](auto value) {
        for (int y = first; y < last; ++y) write_row<decltype(value)>(level, gray_of(level, gray), y);
      });
    });
}

template <class Value>
void Edges::write_row(std::size_t level, View<const std::uint16_t> gray, int y) const {
  const std::uint16_t* row = gray.row(y);
  const std::uint16_t* neighbours[] = {gray.row(std::max(y - 1, 0)),
                                       gray.row(std::min(y + 1, gray.size.height - 1)), row - 1, row + 1};
  for (int colour = 0; colour < 2; ++colour)
    for (int direction = 0; direction < direction_count; ++direction)
      write_plane<Value>(level, y, colour, direction, row, neighbours[direction]);
}

template <class Value>
void Edges::write_plane(std::size_t level, int y, int colour, int direction, const std::uint16_t* row,
                        const std::uint16_t* neighbours) const {
  const Value* slope_table = reinterpret_cast<const Value*>(tables_);
  const Value* truncation_table = slope_table + edge_table_size;
  Value* slopes = reinterpret_cast<Value*>(plane(level, y, colour, direction));
  Value* truncations = reinterpret_cast<Value*>(plane(level, y, colour, direction_count + direction));
  const int parity = (y + colour) % 2, width = levels_[level].size.width;
  const auto write = [&](int i, int difference) {
    const int edge = edge_index(std::abs(difference));
    slopes[i] = slope_table[edge];
    truncations[i] = truncation_table[edge];
  };
  // There are no image edges beyond the border.
  const int pixels = (width - parity + 1) / 2;
  const int computed = static_cast<int>(levels_[level].plane_bytes / sizeof(Value));
  const int first = direction == left && parity == 0 ? 1 : 0;
  const int last = direction == right && 2 * (pixels - 1) + parity == width - 1 ? pixels - 1 : pixels;
  for (int i = 0; i < std::min(first, computed); ++i) write(i, 0);
  for (int i = first; i < last; ++i) write(i, row[2 * i + parity] - neighbours[2 * i + parity]);
  for (int i = std::max(first, last); i < computed; ++i) write(i, 0);
}

}  // namespace parallax::belief_propagation
