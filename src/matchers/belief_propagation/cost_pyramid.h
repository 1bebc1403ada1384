// SPDX-License-Identifier: Apache-2.0
// Data costs on the CPU, from the features of both images to the coarsest level. Those of levels with
// candidates, and of the finest level, are computed where messages are; here they are only added up to the
// first level that is stored.
#pragma once

#include <algorithm>
#include <vector>

#include "matchers/belief_propagation/features.h"
#include "matchers/belief_propagation/levels.h"
#include "matchers/belief_propagation/row_prior.h"
#include "matchers/belief_propagation/strips.h"

namespace parallax::belief_propagation {

class CostPyramid {
 public:
  CostPyramid(const Model& model, const ImageFormat& format, const Levels& levels, int slots)
      : model_(model),
        arithmetic_(model.parameters.arithmetic),
        levels_(levels),
        features_(model, format, levels[0].shape, slots),
        strips_(model, format, slots),
        prior_(model, format.size),
        scratch_(to_size(slots)) {}

  void reserve(Arena& arena) {
    if (levels_.has_candidates())
      strips_.reserve(arena);
    else
      features_.reserve(arena);
    prior_.reserve(arena);
    const auto row_offsets = to_size(model_.row_offsets);
    for (Scratch& scratch : scratch_) {
      if (adds_up_pixels()) scratch.costs = levels_[0].reserve(cost_planes, arena);
      scratch.strips = arena.reserve<StripCosts>(row_offsets);
      if (prior_.exists()) scratch.row_costs = arena.reserve<float>(row_offsets * first_stride());
    }
  }
  void fill_memory() {
    if (levels_.has_candidates()) strips_.fill_memory();
    for (const Scratch& scratch : scratch_)
      if (adds_up_pixels()) levels_[0].clear(scratch.costs, cost_planes);
  }

  // Extracts the features of both images.
  void prepare(const StereoPair& pair, bool mirrored, const Workers& workers) {
    if (!levels_.has_candidates())
      features_.prepare(pair, mirrored, workers);
    else if (!mirrored)
      strips_.prepare(pair, workers);
    else
      strips_.mirror(pair, workers);
  }
  // Makes the data costs of the stored levels.
  void add_up(const Workers& workers) {
    for_level_rows(workers, levels_[0].size.height, levels_.first_stored(), levels_.count(),
                   [&](std::size_t level, int first, int last, int slot) {
                     if (level == levels_.first()) return add_up_strips(level, first, last, slot);
                     for (int y = first; y < last; ++y) add_up(level, y, slot);
                   });
    if (prior_.exists()) add_row_prior(workers);
  }

  View<const std::uint16_t> gray() const {
    return levels_.has_candidates() ? strips_.gray() : features_.gray();
  }
  // For each pixel: matched, or the Status that is known before matching.
  const View<std::uint8_t>& status() const {
    return levels_.has_candidates() ? strips_.status() : features_.status();
  }
  // Inputs of the finest level's data costs; with candidates, those of all levels that have
  // them.
  const Features& features() const { return features_; }
  const Strips& strips() const { return strips_; }

 private:
  struct Scratch {
    std::byte* costs;    // data costs of two rows of the finest level: [row][colour] planes
    StripCosts* strips;  // for each row offset
    float* row_costs;    // [row offset][stride], of half a row of the first level that is stored
  };
  static constexpr std::size_t cost_planes = 2 * 2;

  bool adds_up_pixels() const { return levels_.count() > 1 && !levels_.has_candidates(); }
  std::size_t first_stride() const { return to_size(levels_[levels_.first_stored()].shape.stride); }
  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }

  // Adds up a row of a level from two rows of the finer one; those of the finest level are computed first.
  void add_up(std::size_t index, int y, int slot) const {
    const Level &fine = levels_[index - 1], &coarse = levels_[index];
    RowSum sum{.fine = fine.shape,
               .coarse = coarse.shape,
               .bound = model_.data_bound(),
               .scratch = levels_.scratch(slot)};
    for (int parity = 0; parity < 2; ++parity) {
      for (int row = 0; row < 2; ++row)
        sum.children[row][parity] = child(index - 1, 2 * y + row, parity, slot);
      sum.sums[parity] = coarse.data_plane(y, colour_of(y, parity));
    }
    sum_row(arithmetic_, sum);
  }

  // Data costs of one half of a row.
  const std::byte* child(std::size_t index, int y, int parity, int slot) const {
    const Level& level = levels_[index];
    if (y >= level.size.height) return levels_.zeros();
    const int colour = colour_of(y, parity);
    if (index > 0) return level.data_plane(y, colour);
    std::byte* costs = level.plane(scratch(slot).costs, to_size(y % 2 * 2 + colour));
    features_.write_costs(y, colour, {0, level.shape.computed}, slot, costs);
    return costs;
  }

  // The first level above those with candidates. Rows begin at a strip.
  void add_up_strips(std::size_t index, int first, int last, int slot) const {
    const Level& level = levels_[index];
    const int side = 1 << index, rows = tile_side / side;
    StripCosts* costs = scratch(slot).strips;
    for (int y = first; y < last; y += rows) {
      for (int k = 0; k < model_.row_offsets; ++k) costs[k] = strips_.costs(y / rows, k);
      StripSums sums{.costs = costs,
                     .row_offsets = model_.row_offsets,
                     .columns = strips_.columns(),
                     .side = side,
                     .rows = std::min(rows, last - y),
                     .stride = level.shape.stride,
                     .bound = model_.data_bound(),
                     .scratch = levels_.scratch(slot)};
      for (int row = 0; row < sums.rows; ++row)
        for (int parity = 0; parity < 2; ++parity)
          sums.out[row][parity] =
              reinterpret_cast<std::uint8_t*>(level.data_plane(y + row, colour_of(y + row, parity)));
      sum_strip(sums);
    }
  }

  // Additional costs of row offsets (row_prior.h)

  void add_row_prior(const Workers& workers) {
    prior_.clear();
    workers.for_each(prior_.squares().height, [&](int square, int slot) {
      const int last = std::min(prior_.first_row(square + 1), levels_[levels_.first_stored()].size.height);
      for (int y = prior_.first_row(square); y < last; ++y) add_up_row_offsets(y, slot);
    });
    prior_.fit();
    for (std::size_t i = levels_.first_stored(); i < levels_.count(); ++i)
      for_rows(workers, levels_[i].size.height, [&](int y, int slot) { add_row_prior(i, y, slot); });
  }

  // Calls each(x, element of the half) for the pixels of one parity in a row.
  template <class Each>
  static void for_half(const Level& level, int parity, const Each& each) {
    for (int x = parity; x < level.size.width; x += 2) each(x, x / 2);
  }

  RowOffsets row_offsets_of(const Level& level, int y, int parity, int slot) const {
    return {.shape = level.shape,
            .data = level.data_plane(y, colour_of(y, parity)),
            .costs = scratch(slot).row_costs,
            .bound = model_.data_bound(),
            .scratch = levels_.scratch(slot)};
  }

  void add_up_row_offsets(int y, int slot) const {
    const Level& level = levels_[levels_.first_stored()];
    for (int parity = 0; parity < 2; ++parity) {
      const RowOffsets row = row_offsets_of(level, y, parity, slot);
      min_costs(arithmetic_, row);
      for (int k = 0; k < model_.row_offsets; ++k)
        for_half(level, parity,
                 [&](int x, int i) { prior_.add(x, y, k, row.costs[k * level.shape.stride + i]); });
    }
  }

  void add_row_prior(std::size_t index, int y, int slot) const {
    const Level& level = levels_[index];
    for (int parity = 0; parity < 2; ++parity) {
      const RowOffsets row = row_offsets_of(level, y, parity, slot);
      for (int k = 0; k < model_.row_offsets; ++k) {
        float* costs = row.costs + k * level.shape.stride;
        std::fill_n(costs, level.shape.stride, 0.0f);
        for_half(level, parity, [&](int x, int i) { costs[i] = prior_.cost(index, x, y, k); });
      }
      add_costs(arithmetic_, row);
    }
  }

  const Model& model_;
  Arithmetic arithmetic_;
  const Levels& levels_;
  Features features_;  // with candidates, the strips are used instead
  Strips strips_;
  RowPrior prior_;
  std::vector<Scratch> scratch_;  // by slot
};

}  // namespace parallax::belief_propagation
