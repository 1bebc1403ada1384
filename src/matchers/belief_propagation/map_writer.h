// SPDX-License-Identifier: Apache-2.0
// Writes the decisions on the finest level, by pixel or, with candidates, by tile: into the map, or into the map of
// the mirrored pair.
#pragma once

#include <algorithm>

#include "decision/decision.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"

namespace parallax::belief_propagation {

// What is known of pixels before their decision.
class KnownStatus {
 public:
  KnownStatus(const Model& model, const View<std::uint8_t>& status) : model_(model), status_(status) {}

  // In floats, the outermost pixels get no disparity.
  Status at(int x, int y) const {
    const auto given = static_cast<Status>(status_.at(x, y));
    const bool outermost = x == 0 || y == 0 || x == status_.size.width - 1 || y == status_.size.height - 1;
    return given == Status::matched && outermost && !model_.integer ? Status::out_of_range : given;
  }

 private:
  const Model& model_;
  const View<std::uint8_t>& status_;
};

class MapWriter {
 public:
  MapWriter(const Model& model, const View<std::uint8_t>& status, Wanted wanted, const DisparityMap& map)
      : model_(model), status_(model, status), wanted_(wanted), map_(map) {}

  void write_pixel(int x, int y, const refine::Beliefs& beliefs) const {
    const Status status = status_.at(x, y);
    if (status != Status::matched) {
      refine::write_none(status, x, y, map_);
    } else if (wanted_ == Wanted::labels) {
      const refine::DecisionRule rule = model_.decision();
      map_.status.at(x, y) = refine::code(Status::matched);
      map_.disparity.at(x, y) = rule.integer_disparity(beliefs.label);
      if (has_rows())
        map_.row_offset.at(x, y) = static_cast<float>(rule.min_row_offset + rule.row(beliefs.label));
    } else {
      refine::write_decision(beliefs, model_.decision(), x, y, map_);
    }
  }

  void write_tile(int tile_x, int tile_y, const TileDecision* found) const {
    if (wanted_ == Wanted::neighbours) return write_located(tile_x, tile_y, found);
    for_each_pixel(tile_x, tile_y, map_.disparity.size, [&](int x, int y, int colour, int lane) {
      write_pixel(x, y, beliefs_of(found[colour], lane));
    });
  }

 private:
  bool has_rows() const { return model_.row_offsets > 1; }

  // Writes a tile of which only sub-pixel values are wanted, a vector of them at a time.
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
    for_each_pixel(tile_x, tile_y, map_.disparity.size, [&](int x, int y, int colour, int lane) {
      const Status status = status_.at(x, y);
      const bool matched = status == Status::matched;
      map_.status.at(x, y) = refine::code(status);
      map_.disparity.at(x, y) = matched ? disparities[colour][lane] : refine::no_value;
      if (has_rows()) map_.row_offset.at(x, y) = matched ? row_offsets[colour][lane] : refine::no_value;
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
  KnownStatus status_;
  Wanted wanted_;
  const DisparityMap& map_;
};

// Writes the map of the mirrored pair: labels only, mirrored back.
class RightMapWriter {
 public:
  RightMapWriter(const Model& model, const View<std::uint8_t>& status, const View<float>& disparity)
      : rule_(model.decision()), status_(model, status), disparity_(disparity) {}

  void write_pixel(int x, int y, const refine::Beliefs& beliefs) const { write(x, y, beliefs.label); }
  void write_tile(int tile_x, int tile_y, const TileDecision* found) const {
    for_each_pixel(tile_x, tile_y, disparity_.size,
                   [&](int x, int y, int colour, int lane) { write(x, y, found[colour].labels[lane]); });
  }

 private:
  void write(int x, int y, int label) const {
    disparity_.at(disparity_.size.width - 1 - x, y) =
        status_.at(x, y) == Status::matched ? rule_.integer_disparity(label) : refine::no_value;
  }

  refine::DecisionRule rule_;
  KnownStatus status_;
  const View<float>& disparity_;
};

}  // namespace parallax::belief_propagation
