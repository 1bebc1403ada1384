// SPDX-License-Identifier: Apache-2.0
// Data costs of a pair, row by row, and the initial status of each pixel.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "data_cost/row_costs.h"

namespace parallax::data_cost {

class CostRows {
 public:
  struct Form {
    int element_bytes;        // size of costs that are not known to fit in bytes
    bool subtracts_least;     // whether a pixel's lowest cost is subtracted from all its costs
    int bound;                // costs are limited to this
    bool keeps_gray = false;  // even if the caller provides the costs
  };
  CostRows(const CostModel& model, const Form& form, const ImageFormat& format, int slots);

  void reserve(Arena& arena);

  // See DataCosts::prepare().
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers);

  // The left image, smoothed as for costs.
  View<const std::uint16_t> gray() const { return features_.gray(0); }
  // The status of each pixel: matched, or the Status that is known before matching.
  const View<std::uint8_t>& status() const { return status_; }

  // Costs of `count` pixels of a row, up to at_once(), for the disparities at one row offset, the number
  // `row_offset`: pixel first + i of disparity k is element k·stride() + i. They are valid until the slot's
  // next call.
  const void* row(int y, int first, int count, int slot, int row_offset = 0) const;
  int cost_bytes() const { return cost_bytes_; }
  // The number of pixels that fit in the first-level cache.
  int at_once() const {
    constexpr int first_cache = 16384;
    return std::clamp(first_cache / model_.disparities(), 64, max_at_once);
  }
  // Includes a margin, which also places labels in different sets of the cache.
  static constexpr int stride() { return max_at_once + widest_vector_bytes; }

 private:
  // Rows of one side: [row][plane][pitch].
  struct Rows {
    std::byte* memory;
    std::ptrdiff_t pitch;
    int planes, bytes;
    std::byte* at(int y, int plane) const {
      return memory + (static_cast<std::ptrdiff_t>(y) * planes + plane) * pitch * bytes;
    }
  };
  struct Scratch {
    std::byte *costs, *units;
  };
  static constexpr int border = window_radius;

  Rows reserve_rows(int planes, int bytes, int elements, int rows, Arena& arena) const;
  bool takes_volume() const { return model_.cost == DataCost::volume; }
  bool compares_windows() const { return model_.cost == DataCost::mean_absolute_difference; }
  int extended_columns() const { return size_.width + model_.disparities() - 1; }
  void make_table();
  void keep_levels();
  template <class Element>
  void keep_row(int side, int y, int plane, const std::uint16_t* row) const;
  std::uint8_t* validity(int side, int y) const {
    return reinterpret_cast<std::uint8_t*>(valid_[side].at(y, 0));
  }
  RowCosts row_costs(int y, int right_y, int first, int count, int slot) const;
  void write_volume(int y, int slot, RowCosts row) const;

  CostModel model_;
  Form form_;
  Size size_;
  Feature feature_;
  RowFeatures features_;
  int cost_bytes_;
  bool simple_ = false, same_ = true;
  std::vector<std::uint8_t> table_;
  int table_end_ = 0;
  Rows rows_[2] = {}, valid_[2] = {};
  Rows missing_ = {};  // the validity of a right row outside the image
  View<std::uint8_t> status_;
  std::vector<Scratch> scratch_;  // one for each slot
  StereoPair pair_;
  bool mirrored_ = false;
};

}  // namespace parallax::data_cost
