// SPDX-License-Identifier: Apache-2.0
// Features of both images, from which data costs are computed, in the layout of cpu_kernels.h.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/workers.h"
#include "data_cost/features.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"

namespace parallax::belief_propagation {

// `count` elements, plus those that full pairs of vectors read and write beyond them.
inline std::size_t padded(int count) {
  return to_size(count) + 2 * widest_vector_bytes;
}

class Features {
 public:
  Features(const Model& model, const ImageFormat& format, const PlaneShape& shape, int slots)
      : model_(model),
        size_(format.size),
        shape_(shape),
        feature_(data_cost::choose_feature(model.cost, format.depth, model.smoothing)),
        rows_(feature_, model.smoothing, format, slots, model.census_tolerance),
        scratch_(to_size(slots)) {
    const bool in_bytes = feature_bytes(feature_) == 1;
    if (in_bytes && model.parameters.arithmetic == Arithmetic::fixed8 &&
        model.highest_data_cost() <= static_cast<float>(model.data_bound())) {
      simple_ = true;
      for (int level = 0; level < 256; ++level)
        table_.push_back(static_cast<std::uint8_t>(model.data_cost(level * per_level)));
      table_end_ = std::min(256, divide_round_up(model.differences, per_level) + 1);
    }
  }

  void reserve(Arena& arena) {
    rows_.reserve(arena);
    // The right elements that the last label of the last element reads.
    const int right_elements = shape_.copied + model_.disparities() / 2 + 1;
    for (int side = 0; side < 2; ++side) {
      const int elements = side == 0 ? shape_.copied : right_elements;
      halves_[side] =
          reserve_halves(feature_planes(feature_), feature_bytes(feature_), elements, size_.height, arena);
      valid_[side] = reserve_halves(1, 1, elements, size_.height, arena);
    }
    if (!model_.space().is_flat()) missing_ = reserve_halves(1, 1, right_elements, 1, arena);
    status_ = arena.reserve_plane<std::uint8_t>(size_);
    for (Scratch& scratch : scratch_) {
      scratch.extended = arena.reserve<std::uint16_t>(padded(extended_columns()));
      scratch.valid = arena.reserve<std::uint8_t>(padded(size_.width));
      scratch.exists = arena.reserve<std::uint8_t>(padded(extended_columns()));
      scratch.costs = arena.reserve<std::byte>(scratch_bytes(model_.labels));
      scratch.right = arena.reserve<RightRow>(to_size(model_.row_offsets));
    }
  }

  // Extracts the features of a pair; arguments as of DataCosts::prepare().
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers) {
    pair_ = mirrored ? data_cost::exchanged(pair) : pair;
    mirrored_ = mirrored;
    if (missing_.memory != nullptr) std::memset(missing_.memory, 0, 2 * to_size(missing_.pitch));
    rows_.prepare(pair_, mirrored, workers);
    for_rows(workers, size_.height, [&](int y, int slot) {
      if (!takes_volume())
        for (int side = 0; side < 2; ++side) extract_row(side, y, slot);
      write_validity(y, slot);
    });
  }

  View<const std::uint16_t> gray() const { return rows_.gray(0); }
  // For each pixel: matched, or the Status that is known before matching.
  const View<std::uint8_t>& status() const { return status_; }

  // Writes data costs of a row of one colour.
  void write_costs(int y, int colour, Range range, int slot, void* out) const {
    if (!takes_volume()) {
      RowCost row = row_cost(y, colour, slot);
      row.range = range;
      row.out = out;
      row.scratch = scratch_[to_size(slot)].costs;
      return cost_row(model_.parameters.arithmetic, row);
    }
    float* units = reinterpret_cast<float*>(scratch_[to_size(slot)].costs);
    write_volume_costs(row_cost(y, colour, slot), y, range, units, out);
  }

 private:
  struct Scratch {
    std::uint16_t* extended;
    std::uint8_t *valid, *exists;
    std::byte* costs;
    RightRow* right;  // for each row offset
  };
  // The halves of all rows of one side: [row][plane][parity][pitch] elements.
  struct Halves {
    std::byte* memory;
    std::ptrdiff_t pitch;
    int planes, bytes;
    std::byte* at(int y, int plane, int parity) const {
      return memory + ((static_cast<std::ptrdiff_t>(y) * planes + plane) * 2 + parity) * pitch * bytes;
    }
  };

  Halves reserve_halves(int planes, int bytes, int elements, int rows, Arena& arena) const {
    Halves halves;
    halves.pitch = static_cast<std::ptrdiff_t>(round_up(padded(elements), 64));
    halves.planes = planes;
    halves.bytes = bytes;
    halves.memory =
        arena.reserve<std::byte>(to_size(halves.pitch) * to_size(2 * planes * bytes) * to_size(rows));
    return halves;
  }
  int extended_columns() const { return size_.width + model_.disparities() - 1; }
  bool takes_volume() const { return model_.parameters.cost == DataCost::volume; }
  void extract_row(int side, int y, int slot) const {
    const data_cost::RowFeatures::Planes planes = rows_.planes(side, y, slot);
    for (int plane = 0; plane < feature_planes(feature_); ++plane) {
      const std::uint16_t* words = planes[to_size(plane)];
      if (feature_bytes(feature_) == 1)
        split<std::uint8_t>(side, y, plane, words, slot);
      else
        split<std::uint16_t>(side, y, plane, words, slot);
    }
  }
  // Splits a row by parity; that of the right image after it has been extended.
  template <class Element>
  void split(int side, int y, int plane, const std::uint16_t* words, int slot) const {
    const auto* row = reinterpret_cast<const Element*>(words);
    if (side == 1) {
      auto* extended = reinterpret_cast<Element*>(scratch_[to_size(slot)].extended);
      data_cost::extend_row(row, size_.width, model_, 0, extended);
      row = extended;
    }
    split_row(row, side == 0 ? size_.width : extended_columns(),
              reinterpret_cast<Element*>(halves_[side].at(y, plane, 0)),
              reinterpret_cast<Element*>(halves_[side].at(y, plane, 1)));
  }
  void write_validity(int y, int slot) const {
    const Scratch& scratch = scratch_[to_size(slot)];
    std::uint8_t *left = scratch.valid, *right = scratch.exists;
    data_cost::write_validity(model_, pair_, mirrored_, y, {left, right, status_.row(y)});
    split_row(right, extended_columns(), reinterpret_cast<std::uint8_t*>(valid_[1].at(y, 0, 0)),
              reinterpret_cast<std::uint8_t*>(valid_[1].at(y, 0, 1)));
    // Elements computed beyond the border must have no data, because coarse pixels at the border add some of
    // them.
    std::fill_n(left + size_.width, 2 * widest_vector_bytes, std::uint8_t{0});
    for (int parity = 0; parity < 2; ++parity)
      std::fill_n(valid_[0].at(y, 0, parity), shape_.computed, std::byte{0});
    split_row(left, size_.width, reinterpret_cast<std::uint8_t*>(valid_[0].at(y, 0, 0)),
              reinterpret_cast<std::uint8_t*>(valid_[0].at(y, 0, 1)));
  }
  RowCost row_cost(int y, int colour, int slot) const {
    RowCost row{};
    row.shape = shape_;
    row.feature = feature_;
    row.parity = (y + colour) % 2;
    for (int plane = 0; plane < feature_planes(feature_); ++plane)
      row.left[plane] = halves_[0].at(y, plane, row.parity);
    row.left_valid = reinterpret_cast<const std::uint8_t*>(valid_[0].at(y, 0, row.parity));
    RightRow* right = scratch_[to_size(slot)].right;
    for (int k = 0; k < model_.row_offsets; ++k) right[k] = right_row(y + model_.min_row_offset + k);
    row.right = right;
    row.simple = simple_;
    row.table = table_.data();
    row.table_end = table_end_;
    row.scale = model_.cost_scale;
    row.differences = model_.differences;
    row.outside = model_.outside;
    row.bound = model_.data_bound();
    return row;
  }
  // Beyond the image, the features of some row, and none that takes part.
  RightRow right_row(int y) const {
    const bool inside = y >= 0 && y < size_.height;
    RightRow row{};
    for (int half = 0; half < 2; ++half) {
      for (int plane = 0; plane < feature_planes(feature_); ++plane)
        row.planes[half][plane] = halves_[1].at(inside ? y : 0, plane, half);
      row.valid[half] =
          reinterpret_cast<const std::uint8_t*>(inside ? valid_[1].at(y, 0, half) : missing_.at(0, 0, half));
    }
    return row;
  }
  // A caller's volume has one row offset.
  void write_volume_costs(const RowCost& row, int y, Range range, float* units, void* out) const {
    const data_cost::CostModel model = model_;  // a copy, which stores of costs cannot alias
    const auto fill_pixel = [&](int i, float* at) {
      const int x = 2 * i + row.parity;
      for (int label = 0; label < model_.labels; ++label) {
        float& cost = at[label * pitch];
        const int shift = row.parity + model_.labels - 1 - label;
        const std::int64_t right_x = static_cast<std::int64_t>(x) - model_.parameters.min_disparity - label;
        if (row.left_valid[i] == 0)
          cost = 0;
        else if (row.right->valid[shift % 2][i + shift / 2] == 0)
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
                   static_cast<std::byte*>(out) + to_size(i) * bytes);
    }
  }

  Model model_;
  Size size_;
  PlaneShape shape_;
  Feature feature_;
  data_cost::RowFeatures rows_;
  std::vector<std::uint8_t> table_;  // costs of integer differences, when `simple_`
  int table_end_ = 0;
  bool simple_ = false;
  Halves halves_[2] = {}, valid_[2] = {};
  Halves missing_ = {};  // the validity of a row beyond the image
  View<std::uint8_t> status_;
  std::vector<Scratch> scratch_;  // by slot
  StereoPair pair_;
  bool mirrored_ = false;
};

}  // namespace parallax::belief_propagation
