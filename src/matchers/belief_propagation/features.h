// SPDX-License-Identifier: Apache-2.0
// Features of both images, from which data costs are computed, in the layout of cpu_kernels.h.
#pragma once

#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "data_cost/features.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/cpu_kernels.h"

namespace parallax::belief_propagation {

class Features {
 public:
  Features(const Model& model, const ImageFormat& format, const PlaneShape& shape, int slots);

  // Called twice, as Arena says, before any other function.
  void reserve(Arena& arena);

  // Extracts the features of a pair; arguments as of DataCosts::prepare().
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers);

  View<const std::uint16_t> gray() const { return rows_.gray(0); }
  // For each pixel: matched, or the Status that is known before matching.
  const View<std::uint8_t>& status() const { return status_; }

  // Writes data costs of a row of one colour.
  void write_costs(int y, int colour, Range range, int slot, void* out) const;

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

  Halves reserve_halves(int planes, int bytes, int elements, int rows, Arena& arena) const;
  int extended_columns() const { return size_.width + model_.disparities() - 1; }
  bool takes_volume() const { return model_.parameters.cost == DataCost::volume; }
  void extract_row(int side, int y, int slot) const;
  template <class Element>
  void split(int side, int y, int plane, const std::uint16_t* words, int slot) const;
  void write_validity(int y, int slot) const;
  RowCost row_cost(int y, int colour, int slot) const;
  RightRow right_row(int y) const;
  void write_volume_costs(const RowCost& row, int y, Range range, float* units, void* out) const;

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
