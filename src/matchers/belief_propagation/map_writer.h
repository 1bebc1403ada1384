// SPDX-License-Identifier: Apache-2.0
// Writes the decisions of the finest level into a map, by pixel or, where tiles have candidates, by tile.
#pragma once

#include <algorithm>

#include "decision/decision.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"

namespace parallax::belief_propagation {

class MapWriter {
 public:
  // `known`: for each pixel, matched or the status that is known before matching. The map of a mirrored pair
  // is mirrored back, and takes only the disparities of labels.
  MapWriter(const Model& model, const View<std::uint8_t>& known, Wanted wanted, const DisparityMap& map,
            bool mirrored)
      : model_(model), known_(known), wanted_(wanted), map_(map), mirrored_(mirrored) {}

  Wanted wanted() const { return wanted_; }
  bool mirrored() const { return mirrored_; }

  void write_pixel(int x, int y, const refine::Beliefs& beliefs) const {
    const Status status = status_of(x, y);
    const refine::DecisionRule rule = model_.decision();
    if (wanted_ == Wanted::labels)
      write(x, y, status, rule.integer_disparity(beliefs.label),
            static_cast<float>(rule.min_row_offset + rule.row(beliefs.label)));
    else if (status == Status::matched)
      refine::write_decision(beliefs, rule, x, y, map_);
    else
      refine::write_none(status, x, y, map_);
  }

  void write_tile(int tile_x, int tile_y, const TileDecision* found) const {
    if (wanted_ == Wanted::neighbours) return write_located(tile_x, tile_y, found);
    for_each_pixel(tile_x, tile_y, known_.size, [&](int x, int y, int colour, int lane) {
      write_pixel(x, y, beliefs_of(found[colour], lane));
    });
  }

 private:
  bool has_rows() const { return model_.row_offsets > 1; }

  // In floats, the outermost pixels get no disparity.
  Status status_of(int x, int y) const {
    const auto known = static_cast<Status>(known_.at(x, y));
    const bool outermost = x == 0 || y == 0 || x == known_.size.width - 1 || y == known_.size.height - 1;
    return known == Status::matched && outermost && !model_.integer ? Status::out_of_range : known;
  }

  void write(int x, int y, Status status, float disparity, float row_offset) const {
    const bool matched = status == Status::matched;
    map_.disparity.at(mirrored_ ? known_.size.width - 1 - x : x, y) = matched ? disparity : refine::no_value;
    if (mirrored_) return;
    map_.status.at(x, y) = refine::code(status);
    if (has_rows()) map_.row_offset.at(x, y) = matched ? row_offset : refine::no_value;
  }

  // Writes a tile of which sub-pixel values are wanted and no confidence: computes a vector of them at a
  // time.
  void write_located(int tile_x, int tile_y, const TileDecision* found) const {
    alignas(64) float disparities[2][tile_lanes], row_offsets[2][tile_lanes];
    for (int colour = 0; colour < 2; ++colour) {
      const TileDecision& tile = found[colour];
      TileAxis axis{.first = model_.min_disparity,
                    .sub_pixel = model_.parameters.sub_pixel,
                    .labels = tile.labels,
                    .before = tile.before,
                    .best = tile.best,
                    .after = tile.after};
      locate_tile(axis, disparities[colour]);
      if (!has_rows()) continue;
      std::uint16_t rows[tile_lanes];
      std::copy_n(tile.rows, tile_lanes, rows);
      axis.first = model_.min_row_offset;
      axis.labels = rows;
      axis.before = tile.row_before;
      axis.after = tile.row_after;
      locate_tile(axis, row_offsets[colour]);
    }
    for_each_pixel(tile_x, tile_y, known_.size, [&](int x, int y, int colour, int lane) {
      write(x, y, status_of(x, y), disparities[colour][lane], has_rows() ? row_offsets[colour][lane] : 0);
    });
  }

  refine::Beliefs beliefs_of(const TileDecision& found, int lane) const {
    const auto value = [](std::uint8_t belief) {
      return belief == no_belief ? refine::no_value : static_cast<float>(belief);
    };
    refine::Beliefs beliefs{.label = found.labels[lane],
                            .before = value(found.before[lane]),
                            .best = value(found.best[lane]),
                            .after = value(found.after[lane]),
                            .rival = value(found.rival[lane])};
    if (!has_rows()) return beliefs;
    beliefs.label += found.rows[lane] * model_.disparities();
    beliefs.row_before = value(found.row_before[lane]);
    beliefs.row_after = value(found.row_after[lane]);
    return beliefs;
  }

  const Model& model_;
  const View<std::uint8_t>& known_;
  Wanted wanted_;
  const DisparityMap& map_;
  bool mirrored_;
};

}  // namespace parallax::belief_propagation
