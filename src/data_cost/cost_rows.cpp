// SPDX-License-Identifier: Apache-2.0
#include "data_cost/cost_rows.h"

#include "core/integers.h"

namespace parallax::data_cost {

CostRows::CostRows(const CostModel& model, const Form& form, const ImageFormat& format, int slots)
    : model_(model),
      form_(form),
      size_(format.size),
      feature_(choose_feature(model.cost, format.depth, model.smoothing)),
      features_(feature_, model.smoothing, format, slots, model.census_tolerance),
      cost_bytes_(form.element_bytes),
      scratch_(to_size(slots)) {
  constexpr int highest_byte = 255 * per_level;
  if (format.depth == BitDepth::bits8) model_.differences = std::min(model_.differences, highest_byte);
  make_table();
}

void CostRows::reserve(Arena& arena) {
  features_.reserve(arena);
  const int planes = feature_planes(feature_), bytes = feature_bytes(feature_);
  rows_[0] = reserve_rows(planes, bytes, size_.width, size_.height, arena);
  rows_[1] = reserve_rows(planes, bytes, extended_columns(), size_.height, arena);
  valid_[0] = reserve_rows(1, 1, size_.width, size_.height, arena);
  valid_[1] = reserve_rows(1, 1, extended_columns(), size_.height, arena);
  if (!model_.space().is_flat()) missing_ = reserve_rows(1, 1, extended_columns(), 1, arena);
  status_ = arena.reserve_plane<std::uint8_t>(size_);
  for (Scratch& scratch : scratch_) {
    scratch.costs = arena.reserve<std::byte>(to_size(model_.disparities() * cost_bytes_) * to_size(stride()));
    scratch.units = arena.reserve<std::byte>(row_costs_scratch(model_.disparities()));
  }
}

// Includes room for the elements that full vectors access beyond the end.
CostRows::Rows CostRows::reserve_rows(int planes, int bytes, int elements, int height, Arena& arena) const {
  Rows rows;
  rows.pitch = round_up(elements + 2 * border + 2 * widest_vector_bytes, widest_vector_bytes);
  rows.planes = planes;
  rows.bytes = bytes;
  rows.memory = arena.reserve<std::byte>(to_size(rows.pitch) * to_size(planes * bytes) * to_size(height));
  return rows;
}

// Makes a table of costs if differences are integer levels or bits, and all costs fit in bytes.
void CostRows::make_table() {
  constexpr int levels = 256, highest_byte = 255;
  const float highest = model_.data_cost((levels - 1) * per_level);
  if (takes_volume() || std::max(highest, model_.outside) > highest_byte) return;
  const bool are_levels = feature_bytes(feature_) == 1 && feature_ != Feature::gradients_in_bytes;
  if (!are_levels && !compares_windows()) return keep_levels();
  simple_ = true;
  cost_bytes_ = 1;
  for (int level = 0; level < levels; ++level)
    table_.push_back(static_cast<std::uint8_t>(model_.data_cost(level * per_level)));
  table_end_ = std::min(levels, divide_round_up(model_.differences, per_level) + 1);
  for (int level = 0; level < table_end_; ++level) same_ = same_ && table_[to_size(level)] == level;
}

// Uses rounded differences as costs if a level costs one unit.
void CostRows::keep_levels() {
  if (!model_.integer || model_.cost_scale * per_level != 1 || model_.data_cost(highest_difference) > 255)
    return;
  simple_ = true;
  cost_bytes_ = 1;
  table_end_ = static_cast<int>(model_.data_cost(highest_difference)) + 1;
}

void CostRows::prepare(const StereoPair& pair, bool mirrored, const Workers& workers) {
  pair_ = mirrored ? exchanged(pair) : pair;
  mirrored_ = mirrored;
  if (missing_.memory != nullptr) std::fill_n(missing_.memory, missing_.pitch, std::byte{0});
  if (!takes_volume() || form_.keeps_gray) features_.prepare(pair_, mirrored, workers);
  for_rows(workers, size_.height, [&](int y, int slot) {
    for (int side = 0; side < 2 && !takes_volume(); ++side) {
      const RowFeatures::Planes planes = features_.planes(side, y, slot);
      for (int plane = 0; plane < feature_planes(feature_); ++plane) {
        const std::uint16_t* row = planes[to_size(plane)];
        if (feature_bytes(feature_) == 1)
          keep_row<std::uint8_t>(side, y, plane, row);
        else
          keep_row<std::uint16_t>(side, y, plane, row);
      }
    }
    write_validity(model_, pair_, mirrored, y, {validity(0, y), validity(1, y), status_.row(y)});
  });
}

template <class Element>
void CostRows::keep_row(int side, int y, int plane, const std::uint16_t* row) const {
  const auto* from = reinterpret_cast<const Element*>(row);
  auto* to = reinterpret_cast<Element*>(rows_[side].at(y, plane)) + border;
  if (side == 1) return extend_row(from, size_.width, model_, border, to);
  std::fill_n(to - border, border, from[0]);
  std::copy_n(from, size_.width, to);
  std::fill_n(to + size_.width, border, from[size_.width - 1]);
}

RowCosts CostRows::row_costs(int y, int right_y, int first, int count, int slot) const {
  const Scratch& scratch = scratch_[to_size(slot)];
  RowCosts row{};
  row.labels = model_.disparities();
  row.feature = feature_;
  row.windows = compares_windows();
  const std::ptrdiff_t before = border * feature_bytes(feature_);
  for (int plane = 0; plane < (row.windows ? window_rows : feature_planes(feature_)); ++plane) {
    const auto at = [&](int side, int centre) {
      const int v = std::clamp(row.windows ? centre + plane - border : centre, 0, size_.height - 1);
      return rows_[side].at(v, row.windows ? 0 : plane) + before;
    };
    row.left[plane] = at(0, y);
    row.right[plane] = at(1, right_y);
  }
  row.left_valid = validity(0, y);
  row.right_valid = right_y >= 0 && right_y < size_.height
                        ? validity(1, right_y)
                        : reinterpret_cast<const std::uint8_t*>(missing_.at(0, 0));
  row.simple = simple_;
  row.table = table_.data();
  row.table_end = table_end_;
  row.same = same_;
  row.scale = model_.cost_scale;
  row.differences = model_.differences;
  row.outside = model_.outside;
  row.subtracts_least = form_.subtracts_least;
  row.bound = form_.bound;
  row.first = first;
  row.count = count;
  row.out = scratch.costs;
  row.out_bytes = cost_bytes_;
  row.stride = stride();
  row.scratch = scratch.units;
  return row;
}

const void* CostRows::row(int y, int first, int count, int slot, int row_offset) const {
  const RowCosts row = row_costs(y, y + model_.min_row_offset + row_offset, first, count, slot);
  if (takes_volume())
    write_volume(y, slot, row);
  else
    write_row_costs(row);
  return row.out;
}

void CostRows::write_volume(int y, int slot, RowCosts row) const {
  constexpr int step = widest_vector_bytes;
  auto* units = reinterpret_cast<float*>(scratch_[to_size(slot)].units);
  const CostModel model = model_;  // a copy, which stores of costs cannot alias
  const auto cost = [&](int x, int label) {
    if (row.left_valid[x] == 0) return 0.0f;
    if (row.right_valid[x + model.labels - 1 - label] == 0) return model.outside;
    const int column = mirrored_ ? size_.width - 1 - (x - model.min_disparity - label) : x;
    return model.volume_cost(pair_.costs.at(column, y)[label]);
  };
  const int end = row.first + row.count;
  for (; row.first < end; row.first += step) {
    row.count = std::min(step, end - row.first);
    for (int i = 0; i < row.count; ++i)
      for (int label = 0; label < model_.labels; ++label)
        units[label * step + i] = cost(row.first + i, label);
    settle_costs(units, row);
    row.out = static_cast<std::byte*>(row.out) + step * row.out_bytes;
  }
}

}  // namespace parallax::data_cost
