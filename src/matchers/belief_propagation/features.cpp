// SPDX-License-Identifier: Apache-2.0
#include "matchers/belief_propagation/features.h"

#include <algorithm>
#include <cstring>

#include "core/round_up.h"

namespace parallax::belief_propagation {
namespace {

// `count` elements, plus those that full pairs of vectors read and write beyond them.
std::size_t padded(int count) {
  return static_cast<std::size_t>(count) + 2 * widest_vector_bytes;
}

// An even number, because a tile of the second level takes two.
int strip_count(Size size) {
  return round_up(divide_round_up(size.height, tile_side), 2);
}

}  // namespace

Features::Features(const Model& model, const ImageFormat& format, const PlaneShape& shape, bool in_strips,
                   int slots)
    : model_(model),
      size_(format.size),
      shape_(shape),
      feature_(data_cost::choose_feature(model.cost, format.depth, model.smoothing)),
      rows_(feature_, model.smoothing, size_, slots),
      in_strips_(in_strips),
      scratch_(static_cast<std::size_t>(slots)) {
  const bool in_bytes = feature_bytes(feature_) == 1;
  if (in_bytes && model.parameters.arithmetic == Arithmetic::fixed8 &&
      model.highest_data_cost() <= static_cast<float>(model.data_bound())) {
    simple_ = true;
    for (int level = 0; level < 256; ++level)
      table_.push_back(static_cast<std::uint8_t>(model.data_cost(level * per_level)));
    table_end_ = std::min(256, divide_round_up(model.differences, per_level) + 1);
  }
}

void Features::reserve(Arena& arena) {
  rows_.reserve(arena);
  // The right elements that the last label of the last element reads.
  const int right_elements = shape_.copied + model_.labels / 2 + 1;
  halves_[0] = reserve_halves(feature_planes(feature_), feature_bytes(feature_), shape_.copied, arena);
  halves_[1] = reserve_halves(feature_planes(feature_), feature_bytes(feature_), right_elements, arena);
  valid_[0] = reserve_halves(1, 1, shape_.copied, arena);
  valid_[1] = reserve_halves(1, 1, right_elements, arena);
  if (in_strips_) {
    // A tile of the second level has 16×16 pixels.
    const int columns = round_up(size_.width, 2 * tile_side);
    strips_[0] = reserve_strips(columns, arena);
    strips_[1] = reserve_strips(round_up(columns + model_.labels - 1, 2 * tile_side), arena);
  }
  status_ = arena.reserve_plane<std::uint8_t>(size_);
  for (Scratch& scratch : scratch_) {
    scratch.extended = arena.reserve<std::uint16_t>(padded(extended_columns()));
    scratch.valid = arena.reserve<std::uint8_t>(padded(size_.width));
    scratch.exists = arena.reserve<std::uint8_t>(padded(extended_columns()));
    scratch.costs = arena.reserve<std::byte>(scratch_bytes(model_.labels));
    for (std::uint8_t*& rows : scratch.strips)
      if (in_strips_)
        rows = arena.reserve<std::uint8_t>(static_cast<std::size_t>(strip_pitch()) * tile_side *
                                           (most_feature_planes + 1));
  }
}

Features::Halves Features::reserve_halves(int planes, int bytes, int elements, Arena& arena) const {
  Halves halves;
  halves.pitch = static_cast<std::ptrdiff_t>(round_up(padded(elements), 64));
  halves.planes = planes;
  halves.bytes = bytes;
  halves.memory = arena.reserve<std::byte>(static_cast<std::size_t>(halves.pitch) *
                                           static_cast<std::size_t>(2 * planes * bytes) *
                                           static_cast<std::size_t>(size_.height));
  return halves;
}

Features::Strips Features::reserve_strips(int columns, Arena& arena) const {
  const auto planes = static_cast<std::size_t>(strip_count(size_)) * (most_feature_planes + 1);
  return {arena.reserve<std::uint8_t>(planes * static_cast<std::size_t>(columns * tile_side) + tile_margin),
          columns};
}

void Features::fill_memory() const {
  if (!in_strips_) return;
  const int last = strip_count(size_) - 1;
  for (const Strips& strips : strips_)
    std::memset(strips.memory, 0, static_cast<std::size_t>(strips.plane(last + 1, 0) - strips.memory));
}

std::uint8_t* Features::strip_row(int side, int y, int plane, int slot) const {
  return scratch_[static_cast<std::size_t>(slot)].strips[side] +
         (plane * tile_side + y % tile_side) * strip_pitch();
}

void Features::write_strip(int index, int slot) const {
  const int columns[] = {size_.width, extended_columns()};
  for (int side = 0; side < 2; ++side)
    for (int plane = 0; plane <= most_feature_planes; ++plane)
      transpose_rows(strip_row(side, 0, plane, slot), strip_pitch(), columns[side],
                     strips_[side].plane(index, plane));
}

FeatureStrip Features::strip(int side, int index) const {
  FeatureStrip strip;
  for (int plane = 0; plane <= most_feature_planes; ++plane)
    strip.planes[plane] = strips_[side].plane(index, plane);
  return strip;
}

void Features::set_tile_costs(TileCosts& costs) const {
  costs.table = table_.data();
  costs.outside = static_cast<std::uint8_t>(model_.outside);
  costs.labels_end = model_.labels;
}

void Features::prepare(const StereoPair& pair, bool mirrored, const Workers& workers) {
  pair_ = pair;
  mirrored_ = mirrored;
  if (mirrored) {
    std::swap(pair_.left, pair_.right);
    std::swap(pair_.left_mask, pair_.right_mask);
  }
  rows_.prepare(pair_, mirrored, workers);
  const auto prepare_row = [&](int y, int slot) {
    if (!takes_volume())
      for (int side = 0; side < 2; ++side) extract_row(side, y, slot);
    write_validity(y, slot);
  };
  if (!in_strips_)
    return for_row_ranges(workers, size_.height, [&](int first, int last, int slot) {
      for (int y = first; y < last; ++y) prepare_row(y, slot);
    });
  workers.for_each(divide_round_up(size_.height, tile_side), [&](int strip, int slot) {
    const int first = strip * tile_side, last = std::min(first + tile_side, size_.height);
    for (int y = first; y < last; ++y) prepare_row(y, slot);
    // Rows below the image are not valid.
    for (int y = last; y < first + tile_side; ++y)
      for (int side = 0; side < 2; ++side)
        std::fill_n(strip_row(side, y, most_feature_planes, slot), strip_pitch(), std::uint8_t{0});
    write_strip(strip, slot);
  });
}

void Features::extract_row(int side, int y, int slot) const {
  const data_cost::RowFeatures::Planes planes = rows_.planes(side, y, slot);
  for (int plane = 0; plane < feature_planes(feature_); ++plane) {
    const std::uint16_t* words = planes[static_cast<std::size_t>(plane)];
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words);
    const Halves& halves = halves_[side];
    if (in_strips_ && side == 0) std::copy_n(bytes, size_.width, strip_row(0, y, plane, slot));
    if (side == 0 && halves.bytes == 1)
      split_left(bytes, halves, y, plane);
    else if (side == 0)
      split_left(words, halves, y, plane);
    else if (halves.bytes == 1)
      split_right(bytes, halves, y, plane, slot);
    else
      split_right(words, halves, y, plane, slot);
  }
}

template <class Element>
void Features::split_left(const Element* row, const Halves& halves, int y, int plane) const {
  split_row(row, size_.width, reinterpret_cast<Element*>(halves.at(y, plane, 0)),
            reinterpret_cast<Element*>(halves.at(y, plane, 1)));
}

template <class Element>
void Features::split_right(const Element* row, const Halves& halves, int y, int plane, int slot) const {
  auto* extended = reinterpret_cast<Element*>(scratch_[static_cast<std::size_t>(slot)].extended);
  data_cost::extend_row(row, size_.width, model_, 0, extended);
  if constexpr (sizeof(Element) == 1)
    if (in_strips_) std::copy_n(extended, extended_columns(), strip_row(1, y, plane, slot));
  split_row(extended, extended_columns(), reinterpret_cast<Element*>(halves.at(y, plane, 0)),
            reinterpret_cast<Element*>(halves.at(y, plane, 1)));
}

void Features::write_validity(int y, int slot) const {
  const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
  std::uint8_t *left = scratch.valid, *right = scratch.exists;
  data_cost::write_validity(model_, pair_, mirrored_, y, {left, right, status_.row(y)});
  split_row(right, extended_columns(), reinterpret_cast<std::uint8_t*>(valid_[1].at(y, 0, 0)),
            reinterpret_cast<std::uint8_t*>(valid_[1].at(y, 0, 1)));
  if (in_strips_) {
    std::uint8_t* left_row = strip_row(0, y, most_feature_planes, slot);
    std::copy_n(left, size_.width, left_row);
    std::fill_n(left_row + size_.width, tile_side * 2, std::uint8_t{0});
    std::copy_n(right, extended_columns(), strip_row(1, y, most_feature_planes, slot));
  }
  // Elements computed beyond the border must have no data, because coarse pixels at the border add some of
  // them.
  std::fill_n(left + size_.width, 2 * widest_vector_bytes, std::uint8_t{0});
  for (int parity = 0; parity < 2; ++parity)
    std::fill_n(valid_[0].at(y, 0, parity), shape_.computed, std::byte{0});
  split_row(left, size_.width, reinterpret_cast<std::uint8_t*>(valid_[0].at(y, 0, 0)),
            reinterpret_cast<std::uint8_t*>(valid_[0].at(y, 0, 1)));
}

RowCost Features::row_cost(int y, int colour) const {
  RowCost row{};
  row.shape = shape_;
  row.feature = feature_;
  row.parity = (y + colour) % 2;
  for (int plane = 0; plane < feature_planes(feature_); ++plane) {
    row.left[plane] = halves_[0].at(y, plane, row.parity);
    for (int half = 0; half < 2; ++half) row.right[half][plane] = halves_[1].at(y, plane, half);
  }
  row.left_valid = reinterpret_cast<const std::uint8_t*>(valid_[0].at(y, 0, row.parity));
  for (int half = 0; half < 2; ++half)
    row.right_valid[half] = reinterpret_cast<const std::uint8_t*>(valid_[1].at(y, 0, half));
  row.simple = simple_;
  row.table = table_.data();
  row.table_end = table_end_;
  row.scale = model_.cost_scale;
  row.differences = model_.differences;
  row.outside = model_.outside;
  row.bound = model_.data_bound();
  return row;
}

void Features::write_costs(int y, int colour, Range range, int slot, void* out) const {
  if (!takes_volume()) {
    RowCost row = row_cost(y, colour);
    row.range = range;
    row.out = out;
    row.scratch = scratch_[static_cast<std::size_t>(slot)].costs;
    return cost_row(model_.parameters.arithmetic, row);
  }
  float* units = reinterpret_cast<float*>(scratch_[static_cast<std::size_t>(slot)].costs);
  write_volume_costs(y, colour, range, units, out);
}

void Features::write_volume_costs(int y, int colour, Range range, float* units, void* out) const {
  const RowCost row = row_cost(y, colour);
  const data_cost::CostModel model = model_;  // a copy, which stores of costs cannot alias
  const auto fill_pixel = [&](int i, float* at) {
    const int x = 2 * i + row.parity;
    for (int label = 0; label < model_.labels; ++label) {
      float& cost = at[label * pitch];
      const int shift = row.parity + model_.labels - 1 - label;
      const std::int64_t right_x = static_cast<std::int64_t>(x) - model_.parameters.min_disparity - label;
      if (row.left_valid[i] == 0)
        cost = 0;
      else if (row.right_valid[shift % 2][i + shift / 2] == 0)
        cost = model.outside;
      else
        cost = model.volume_cost(
            pair_.costs.at(mirrored_ ? size_.width - 1 - static_cast<int>(right_x) : x, y)[label]);
    }
  };
  const std::size_t bytes = storage_bytes(model_.parameters.arithmetic);
  for (int i = range.first; i < range.last; i += pitch) {
    const int count = std::min(pitch, range.last - i);
    for (int j = 0; j < count; ++j) fill_pixel(i + j, units + j);
    settle_costs(model_.parameters.arithmetic, shape_, count, units, model_.data_bound(),
                 static_cast<std::byte*>(out) + static_cast<std::size_t>(i) * bytes);
  }
}

}  // namespace parallax::belief_propagation
