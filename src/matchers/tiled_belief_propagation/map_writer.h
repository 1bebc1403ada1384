// SPDX-License-Identifier: Apache-2.0
// Writes what the tiles of a block decide on the CPU: into the map, or into the map of the mirrored pair.
#pragma once

#include <algorithm>

#include "decision/decision.h"
#include "matchers/tiled_belief_propagation/cpu_kernels.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {

// A tile's part of a block: its columns from the first one on, and its first lane.
struct TilePart {
  Tile tile;
  int column, lane;
};

// Calls row(y, count, element) for the rows of a part: `count` pixels, whose decisions begin at an element.
template <class Row>
void for_each_row(const TilePart& part, const BlockShape& shape, const Row& row) {
  const int count = std::min(part.tile.right - part.column, shape.group);
  for (int y = part.tile.top; y < part.tile.bottom; ++y)
    row(y, count, (y - part.tile.top) * shape.lanes + part.lane);
}

inline void write_disparities(const Model& model, const std::uint8_t* status, const std::uint16_t* labels,
                              int count, float* disparities) {
  const int lowest = model.min_disparity;
  for (int i = 0; i < count; ++i)
    disparities[i] = status[i] == refine::code(Status::matched) ? static_cast<float>(lowest + labels[i])
                                                                : refine::no_value;
}

class MapWriter {
 public:
  MapWriter(const Model& model, const View<std::uint8_t>& status, const BlockShape& shape,
            const DisparityMap& map)
      : model_(model), status_(status), shape_(shape), map_(map) {}

  void write(const TilePart& part, const Decision& found) const {
    for_each_row(part, shape_, [&](int y, int count, int element) {
      if (found.best != nullptr)
        write_beliefs(part.column, y, count, found, element);
      else
        write_labels(part.column, y, count, found.labels + element);
    });
  }

 private:
  void write_labels(int column, int y, int count, const std::uint16_t* labels) const {
    const std::uint8_t* status = status_.row(y) + column;
    write_disparities(model_, status, labels, count, map_.disparity.row(y) + column);
    std::copy_n(status, count, map_.status.row(y) + column);
  }

  void write_beliefs(int column, int y, int count, const Decision& found, int element) const {
    const std::uint8_t* status = status_.row(y) + column;
    const refine::DecisionRule rule = model_.decision();
    for (int i = 0; i < count; ++i) {
      const int at = element + i;
      if (status[i] == refine::code(Status::matched))
        refine::write_decision({.label = found.labels[at],
                                .before = found.before[at],
                                .best = found.best[at],
                                .after = found.after[at],
                                .rival = found.rival[at]},
                               rule, column + i, y, map_);
      else
        refine::write_none(static_cast<Status>(status[i]), column + i, y, map_);
    }
  }

  const Model& model_;
  const View<std::uint8_t>& status_;
  const BlockShape& shape_;
  const DisparityMap& map_;
};

// Writes the map of the mirrored pair: labels only, mirrored back.
class RightMapWriter {
 public:
  RightMapWriter(const Model& model, const View<std::uint8_t>& status, const BlockShape& shape,
                 const View<float>& disparity)
      : model_(model), status_(status), shape_(shape), disparity_(disparity) {}

  void write(const TilePart& part, const Decision& found) const {
    for_each_row(part, shape_, [&](int y, int count, int element) {
      float* mirrored = disparity_.row(y) + disparity_.size.width - part.column - count;
      write_disparities(model_, status_.row(y) + part.column, found.labels + element, count, mirrored);
      std::reverse(mirrored, mirrored + count);
    });
  }

 private:
  const Model& model_;
  const View<std::uint8_t>& status_;
  const BlockShape& shape_;
  const View<float>& disparity_;
};

}  // namespace parallax::tiled_belief_propagation
