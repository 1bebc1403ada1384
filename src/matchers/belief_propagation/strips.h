// SPDX-License-Identifier: Apache-2.0
// Census features of both images in the layout of candidate_kernels.h, from which matches with candidates
// compute all their data costs.
#pragma once

#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "data_cost/features.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"

namespace parallax::belief_propagation {

class Strips {
 public:
  Strips(const Model& model, const ImageFormat& format, int slots);

  // Called twice, as Arena says, before any other function.
  void reserve(Arena& arena);
  // Called once, after reserve().
  void fill_memory();

  void prepare(const StereoPair& pair, const Workers& workers);
  // Turns the features of this pair, once prepared, into those of the mirrored one, as DataCosts::prepare()
  // has it.
  void mirror(const StereoPair& pair, const Workers& workers);

  View<const std::uint16_t> gray() const { return rows_.gray(0); }
  // For each pixel: matched, or the Status that is known before matching.
  const View<std::uint8_t>& status() const { return status_; }

  // An even number, because a tile of the second level takes two.
  int count() const;
  // For the row offset number `row_offset`. A strip below the image has no valid pixels.
  StripCosts costs(int strip, int row_offset = 0) const;
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
             static_cast<std::ptrdiff_t>(strip * (most_feature_planes + 1) + plane) * columns * tile_side;
    }
    std::uint8_t* pixels(int strip, int plane) const { return this->plane(strip, plane) + first * tile_side; }
  };

  Side reserve_side(int first, int end, Arena& arena) const;
  std::size_t side_bytes(int columns) const;
  // Elements of the extended right row.
  int extended_columns() const { return size_.width + model_.disparities() - 1; }
  // The column of the right side where the extended row begins.
  int extended_first() const { return sides_[1].first - first_pixel(); }
  // Where pixel 0 is in the extended right row.
  int first_pixel() const { return model_.disparities() - 1 + model_.min_disparity; }
  std::ptrdiff_t row_pitch() const { return extended_columns() + 2 * widest_vector_bytes; }
  const Side& right_side(int row_offset) const {
    return moved_.empty() ? sides_[1] : moved_[static_cast<std::size_t>(row_offset)];
  }
  void move_right_side(const Workers& workers) const;
  void write_features(int side, int strip, int slot) const;
  void write_validity(const StereoPair& pair, bool mirrored, int strip, int slot) const;

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
