// SPDX-License-Identifier: Apache-2.0
// Writes what the tiles of a block decide on the CPU into a map.
#pragma once

#include <algorithm>

#include "decision/decision.h"
#include "matchers/tiled_belief_propagation/cpu_kernels.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {

class MapWriter {
 public:
  // `known`: for each pixel, matched or the status that is known before matching. The map of a mirrored pair
  // is mirrored back, and takes only the disparities of labels.
  MapWriter(const Model& model, const View<std::uint8_t>& known, const BlockShape& shape, bool wants_beliefs,
            const DisparityMap& map, bool mirrored)
      : model_(model),
        known_(known),
        shape_(shape),
        wants_beliefs_(wants_beliefs),
        map_(map),
        mirrored_(mirrored) {}

  bool wants_beliefs() const { return wants_beliefs_; }
  bool mirrored() const { return mirrored_; }

  // Writes a tile's part of a block; the tile is the number `index` of its batch.
  void write(const Tile& tile, int block, int index, const Decision& found) const {
    const int column = tile.left + block * shape_.lanes, count = std::min(tile.right - column, shape_.group);
    for (int y = tile.top; y < tile.bottom; ++y) {
      const int element = (y - tile.top) * shape_.lanes + index * shape_.group;
      if (wants_beliefs_)
        write_beliefs(column, y, count, found, element);
      else
        write_labels(column, y, count, found.labels + element);
    }
  }

 private:
  void write_labels(int column, int y, int count, const std::uint16_t* labels) const {
    const std::uint8_t* known = known_.row(y) + column;
    float* disparities = map_.disparity.row(y) + (mirrored_ ? known_.size.width - column - count : column);
    const int lowest = model_.min_disparity;
    for (int i = 0; i < count; ++i)
      disparities[i] = known[i] == refine::code(Status::matched) ? static_cast<float>(lowest + labels[i])
                                                                 : refine::no_value;
    if (mirrored_)
      std::reverse(disparities, disparities + count);
    else
      std::copy_n(known, count, map_.status.row(y) + column);
  }

  void write_beliefs(int column, int y, int count, const Decision& found, int element) const {
    const refine::DecisionRule rule = model_.decision();
    for (int x = column, i = element; x < column + count; ++x, ++i) {
      const auto known = static_cast<Status>(known_.at(x, y));
      if (known == Status::matched)
        refine::write_decision({.label = found.labels[i],
                                .before = found.before[i],
                                .best = found.best[i],
                                .after = found.after[i],
                                .rival = found.rival[i]},
                               rule, x, y, map_);
      else
        refine::write_none(known, x, y, map_);
    }
  }

  const Model& model_;
  const View<std::uint8_t>& known_;
  const BlockShape& shape_;
  bool wants_beliefs_;
  const DisparityMap& map_;
  bool mirrored_;
};

}  // namespace parallax::tiled_belief_propagation
