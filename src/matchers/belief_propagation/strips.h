// SPDX-License-Identifier: Apache-2.0
// Census features of both images in the layout of candidate_kernels.h, from which matches with candidates
// compute all their data costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "core/memory.h"
#include "core/workers.h"
#include "data_cost/features.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"

namespace parallax::belief_propagation {

inline constexpr int strip_planes = max_feature_planes + 1;
inline constexpr int validity_plane = max_feature_planes;
// transpose_rows() writes up to this many columns more.
inline constexpr int spare_columns = 15;

class Strips {
 public:
  Strips(const Model& model, const ImageFormat& format, int slots)
      : model_(model),
        size_(format.size),
        rows_(data_cost::Feature::census, model.smoothing, format, slots, model.census_tolerance),
        table_(64),
        scratch_(to_size(slots)) {}

  void reserve(Arena& arena) {
    rows_.reserve(arena);
    sides_[0] = reserve_side(0, size_.width, arena);
    // All pixels of the right image and all columns that labels reach; either may begin, and end, first.
    const int pixel = first_pixel();
    const int end = std::max(size_.width + pixel, sides_[0].columns + model_.disparities() - 1);
    const auto reserve_right = [&] {
      return reserve_side(std::max(0, pixel), end - std::min(0, pixel), arena);
    };
    sides_[1] = reserve_right();
    moved_.clear();
    for (int k = 0; k < model_.row_offsets && !model_.space().is_flat(); ++k)
      moved_.push_back(reserve_right());
    status_ = arena.reserve_plane<std::uint8_t>(size_);
    for (std::uint8_t*& rows : scratch_)
      rows = arena.reserve<std::uint8_t>(to_size(row_pitch()) * tile_side * max_feature_planes);
  }
  void fill_memory() {
    for (const Side& side : sides_) clear_memory(side.memory, side_bytes(side.columns));
    for (int distance = 0; distance < 63; ++distance)
      table_[to_size(distance)] =
          static_cast<std::uint8_t>(model_.data_cost(distance * data_cost::per_level));
    table_[63] = static_cast<std::uint8_t>(model_.outside);
  }

  void prepare(const StereoPair& pair, const Workers& workers) {
    rows_.prepare(pair, false, workers);
    workers.for_each(divide_round_up(size_.height, tile_side), [&](int strip, int slot) {
      for (int side = 0; side < 2; ++side) write_features(side, strip, slot);
      write_validity(pair, false, strip, slot);
    });
    move_right_side(workers);
  }
  // Turns the features of this pair, once prepared, into those of the mirrored one (see
  // DataCosts::prepare()): the mirrored features, because the order of a signature's bits has no meaning.
  void mirror(const StereoPair& pair, const Workers& workers) {
    const StereoPair mirrored = data_cost::exchanged(pair);
    workers.for_each(divide_round_up(size_.height, tile_side), [&](int strip, int slot) {
      for (int plane = 0; plane < max_feature_planes; ++plane) {
        auto* left = reinterpret_cast<std::uint64_t*>(sides_[0].pixels(strip, plane));
        auto* right = reinterpret_cast<std::uint64_t*>(sides_[1].pixels(strip, plane));
        std::swap_ranges(left, left + size_.width, std::make_reverse_iterator(right + size_.width));
      }
      for (int y = strip * tile_side; y < std::min((strip + 1) * tile_side, size_.height); ++y)
        rows_.mirror_right_gray(y);
      write_validity(mirrored, true, strip, slot);
    });
    move_right_side(workers);
  }

  View<const std::uint16_t> gray() const { return rows_.gray(0); }
  // For each pixel: matched, or the Status that is known before matching.
  const View<std::uint8_t>& status() const { return status_; }

  // An even number, because a tile of the second level takes two.
  int count() const { return round_up(divide_round_up(size_.height, tile_side), 2); }
  // For the row offset number `row_offset`. A strip below the image has no valid pixels.
  StripCosts costs(int strip, int row_offset = 0) const {
    StripCosts costs{{}, {}, table_.data(), model_.disparities()};
    for (int plane = 0; plane < strip_planes; ++plane) {
      costs.left.planes[plane] = sides_[0].plane(strip, plane);
      costs.right.planes[plane] = right_side(row_offset).plane(strip, plane) + extended_first() * tile_side;
    }
    return costs;
  }
  // Columns of the left side, a multiple of `strip_unit`; those beyond the image have no valid pixels.
  int columns() const { return sides_[0].columns; }

 private:
  // One side: [strip][plane][column][row].
  struct Side {
    std::uint8_t* memory;
    int columns;
    int first;  // the column of pixel 0
    std::uint8_t* plane(int strip, int plane) const {
      return memory +
             static_cast<std::ptrdiff_t>(strip * (max_feature_planes + 1) + plane) * columns * tile_side;
    }
    std::uint8_t* pixels(int strip, int plane) const { return this->plane(strip, plane) + first * tile_side; }
  };

  Side reserve_side(int first, int end, Arena& arena) const {
    const int columns = round_up(end + spare_columns, strip_unit);
    return {arena.reserve<std::uint8_t>(side_bytes(columns)), columns, first};
  }
  std::size_t side_bytes(int columns) const {
    return to_size(count() * strip_planes) * to_size(columns * tile_side);
  }
  // Elements of the extended right row.
  int extended_columns() const { return size_.width + model_.disparities() - 1; }
  // The column of the right side where the extended row begins.
  int extended_first() const { return sides_[1].first - first_pixel(); }
  // Position of pixel 0 in the extended right row.
  int first_pixel() const { return model_.disparities() - 1 + model_.min_disparity; }
  std::ptrdiff_t row_pitch() const { return extended_columns() + 2 * widest_vector_bytes; }
  const Side& right_side(int row_offset) const {
    return moved_.empty() ? sides_[1] : moved_[to_size(row_offset)];
  }
  // Row y of a strip becomes row y + v: in two neighbouring strips, of which a column is a word.
  void move_right_side(const Workers& workers) const {
    if (moved_.empty()) return;
    static_assert(tile_side == sizeof(std::uint64_t) && std::endian::native == std::endian::little);
    constexpr int bits = 8;
    workers.for_each(count(), [&](int strip, int) {
      for (int k = 0; k < model_.row_offsets; ++k) {
        const int first = strip * tile_side + model_.min_row_offset + k;  // the row that comes first
        const int upper = first >= 0 ? first / tile_side : (first + 1) / tile_side - 1;
        const int up = first - upper * tile_side;
        for (int plane = 0; plane < strip_planes; ++plane) {
          const auto words = [&](int from) {
            return from < 0 || from >= count()
                       ? nullptr
                       : reinterpret_cast<const std::uint64_t*>(sides_[1].plane(from, plane));
          };
          auto* out = reinterpret_cast<std::uint64_t*>(moved_[to_size(k)].plane(strip, plane));
          const std::uint64_t *above = words(upper), *below = up > 0 ? words(upper + 1) : nullptr;
          for (int x = 0; x < sides_[1].columns; ++x)
            out[x] = (above != nullptr ? above[x] >> bits * up : 0) |
                     (below != nullptr ? below[x] << bits * (tile_side - up) : 0);
        }
      }
    });
  }
  void write_features(int side, int strip, int slot) const {
    std::uint8_t* rows = scratch_[to_size(slot)];
    const std::ptrdiff_t pitch = row_pitch();
    const int first = strip * tile_side, last = std::min(first + tile_side, size_.height);
    std::uint8_t* planes[max_feature_planes];
    for (int plane = 0; plane < max_feature_planes; ++plane) planes[plane] = rows + plane * tile_side * pitch;
    rows_.write_census(side, first, last, slot, planes, pitch);
    for (int plane = 0; plane < max_feature_planes; ++plane)
      transpose_rows(planes[plane], pitch, size_.width, sides_[side].pixels(strip, plane));
  }
  void write_validity(const StereoPair& pair, bool mirrored, int strip, int slot) const {
    const std::ptrdiff_t pitch = row_pitch();
    std::uint8_t *left_rows = scratch_[to_size(slot)], *right_rows = left_rows + tile_side * pitch;
    const int first = strip * tile_side, last = std::min(first + tile_side, size_.height);
    // Neither pixels to the right of the image nor those below it are valid; right ones below it count where
    // rows are moved.
    const auto bytes = to_size(tile_side * pitch);
    std::memset(left_rows, 0, bytes);
    if (!moved_.empty()) std::memset(right_rows, 0, bytes);
    std::uint8_t *left = left_rows, *right = right_rows;
    const bool rows_are_alike = pair.left_mask.empty() && pair.right_mask.empty() && model_.frame == 0 &&
                                (model_.space().is_flat() || model_.has_outside);
    for (int y = first; y < last; ++y, left += pitch, right += pitch) {
      if (y == first || !rows_are_alike) {
        data_cost::write_validity(model_, pair, mirrored, y, {left, right, status_.row(y)});
      } else {
        std::copy_n(left - pitch, size_.width, left);
        std::copy_n(right - pitch, extended_columns(), right);
        std::copy_n(status_.row(y - 1), size_.width, status_.row(y));
      }
    }
    transpose_rows(left_rows, pitch, size_.width, sides_[0].plane(strip, validity_plane));
    transpose_rows(right_rows, pitch, extended_columns(),
                   sides_[1].plane(strip, validity_plane) + extended_first() * tile_side);
  }

  Model model_;
  Size size_;
  data_cost::RowFeatures rows_;
  std::vector<std::uint8_t> table_;  // costs of 0…62 bits of difference, and of no right pixel
  Side sides_[2] = {};
  std::vector<Side> moved_;  // the right side moved up by each row offset; empty if there is but one
  View<std::uint8_t> status_;
  std::vector<std::uint8_t*> scratch_;  // by slot: rows of a strip, [plane][row][row_pitch()]
};

}  // namespace parallax::belief_propagation
