// SPDX-License-Identifier: Apache-2.0
// Levels with candidate labels on the CPU, from the messages of the level above them to the decisions.
//
// A thread takes a band of rows of tiles of the finest level. Rows come in one by one: when row r comes in,
// iteration t runs on row r − 1 − t, so that only a window of rows is in progress. The rows of the next
// coarser level that a row needs are computed just before it, in the same way. Bands are swept in strips of
// columns, so that this window stays small. Tiles near the ends of bands and strips are computed by each that
// needs them.
#pragma once

#include <functional>
#include <vector>

#include "core/arena.h"
#include "core/workers.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidate_kernels.h"
#include "matchers/belief_propagation/edges.h"
#include "matchers/belief_propagation/strips.h"

namespace parallax::belief_propagation {

// The finest level on which all labels are considered, after its iterations.
struct LabelLevel {
  Size size;
  const std::uint8_t* messages;  // [row][colour][direction] planes, as cpu_kernels.h describes them
  std::size_t plane_bytes;
  std::ptrdiff_t stride;           // from one label to the next
  View<const std::uint16_t> best;  // the label with the lowest belief of each pixel

  const std::uint8_t* plane(int y, int colour, int direction) const {
    return messages + static_cast<std::size_t>((y * 2 + colour) * direction_count + direction) * plane_bytes;
  }
};

class CandidateLevels {
 public:
  // Receives the decisions of a tile, by colour.
  using Decide = std::function<void(int tile_x, int tile_y, const TileDecision* decisions)>;

  // `sizes` are those of all levels; the first `count` have candidates.
  CandidateLevels(const Model& model, const std::vector<Size>& sizes, int count, const Strips& strips,
                  const Edges& edges, int slots);
  CandidateLevels(const CandidateLevels&) = delete;
  ~CandidateLevels();

  // Called twice, as Arena says, before any other function.
  void reserve(Arena& arena);
  void fill_memory();

  // Decides all pixels of the pair that the strips describe.
  void run(const LabelLevel& coarser, bool mirrored, Wanted wanted, const Workers& workers,
           const Decide& decide);

 private:
  class Sweep;

  Sweep& sweep(int slot, int level);
  // The larger number of both matches.
  int most_iterations(int level) const;
  // Tiles in a row of a strip and beyond it, as far as iterations reach, at most.
  int computed_columns(int level) const;

  const Model& model_;
  const Strips& strips_;
  const Edges& edges_;
  std::vector<Size> sizes_;               // sizes of the levels with candidates, the finest first
  int strip_columns_ = 0;                 // tiles of the finest level in a strip
  std::vector<Sweep> sweeps_;             // [slot][level]
  std::vector<std::int32_t> edge_table_;  // a byte of each EdgeTable, the first one lowest
  const TileRecord* nothing_ = nullptr;   // messages from beyond the border
  LabelLevel coarser_{};
  bool mirrored_ = false;
};

}  // namespace parallax::belief_propagation
