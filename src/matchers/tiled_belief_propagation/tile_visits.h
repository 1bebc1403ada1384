// SPDX-License-Identifier: Apache-2.0
// Visits of tiles on the CPU, a batch at a time. A visit turns data costs from columns into rows, sweeps
// right and left, transposes the sums of sent messages into columns, and sweeps down and up; it keeps only
// those sums from one iteration to the next. Right and left do not read each other's messages, nor do down
// and up, so both run at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "decision/decision.h"
#include "matchers/tiled_belief_propagation/borders.h"
#include "matchers/tiled_belief_propagation/cpu_kernels.h"
#include "matchers/tiled_belief_propagation/tile_costs.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {

// Writes what the tiles of a block decide on the CPU into a map.

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
      disparities[i] = known[i] == decision::code(Status::matched) ? static_cast<float>(lowest + labels[i])
                                                                   : decision::no_value;
    if (mirrored_)
      std::reverse(disparities, disparities + count);
    else
      std::copy_n(known, count, map_.status.row(y) + column);
  }

  void write_beliefs(int column, int y, int count, const Decision& found, int element) const {
    const decision::DecisionRule rule = model_.decision();
    for (int x = column, i = element; x < column + count; ++x, ++i) {
      const auto known = static_cast<Status>(known_.at(x, y));
      if (known == Status::matched)
        decision::write_decision({.label = found.labels[i],
                                  .before = found.before[i],
                                  .best = found.best[i],
                                  .after = found.after[i]},
                                 rule, x, y, map_);
      else
        decision::write_none(known, x, y, map_);
    }
  }

  const Model& model_;
  const View<std::uint8_t>& known_;
  const BlockShape& shape_;
  bool wants_beliefs_;
  const DisparityMap& map_;
  bool mirrored_;
};

struct Visit {
  bool reverse;  // the pass goes from the last tile to the first
  int iterations;
  const MapWriter* writer;  // takes the decisions; null for a visit that decides nothing
};

class TileVisits {
 public:
  // If threads share blocks, they share those of a batch, and batches are visited one by one; else each
  // thread visits batches of its own.
  TileVisits(const Model& model, const Tiling& tiling, const TileCosts& costs, const Borders& borders,
             const Workers& workers, bool shares_blocks)
      : model_(model),
        tiling_(tiling),
        costs_(costs),
        borders_(borders),
        workers_(workers),
        shares_blocks_(shares_blocks),
        work_(to_size(shares_blocks ? 1 : workers.slots())),
        scratch_(to_size(workers.slots())) {}

  void reserve(Arena& arena) {
    const auto bytes = [&](std::size_t count) { return arena.reserve<std::byte>(count); };
    const auto rows = to_size(tiling_.row_blocks()), columns = to_size(tiling_.column_blocks());
    for (Work& work : work_) {
      work.rows = bytes(rows * tiling_.row_block_bytes());
      work.columns = bytes(tiling_.batch_bytes());
      for (const Side side : {left, right}) work.from[side] = bytes(rows * tiling_.step_bytes());
      for (const Side side : {above, below}) work.from[side] = bytes(columns * tiling_.step_bytes());
    }
    const int steps = std::max(tiling_.row_steps(), tiling_.column_steps());
    const auto pixels = to_size(steps * tiling_.shape().lanes);
    for (Scratch& scratch : scratch_) {
      scratch.messages = bytes(to_size(steps) * tiling_.step_bytes());
      scratch.forward = bytes(tiling_.step_bytes());
      scratch.backward = bytes(tiling_.step_bytes());
      Decision& decision = scratch.decision;
      decision.labels = arena.reserve<std::uint16_t>(pixels);
      decision.scratch = arena.reserve<std::uint16_t>(tiling_.step_elements());
      for (float** beliefs : {&decision.before, &decision.best, &decision.after})
        *beliefs = arena.reserve<float>(pixels);
    }
  }

  // Visits a batch.
  void visit(int index, const Visit& visit, int slot) const {
    const Batch& batch = tiling_.batches()[index];
    const Stay stay{.visit = visit,
                    .batch = batch,
                    .work = work_[shares_blocks_ ? 0 : to_size(slot)],
                    .data = costs_.of_batch(index),
                    .across = steps_of(batch, true),
                    .along = steps_of(batch, false)};
    const int rows = tiling_.blocks(stay.along.count), columns = tiling_.blocks(stay.across.count);
    borders_.receive(batch, left, rows, stay.work.from[left]);
    borders_.receive(batch, right, rows, stay.work.from[right]);
    const bool comes_down = borders_.receive(batch, above, columns, stay.work.from[above]);
    const bool comes_up = borders_.receive(batch, below, columns, stay.work.from[below]);

    for_each_block(columns, slot,
                   [&](int block, int own_slot) { turn_data(stay, block, own_slot, comes_down, comes_up); });
    for (int iteration = 1;; ++iteration) {
      for_each_block(rows, slot, [&](int block, int own_slot) { sweep_across(stay, block, own_slot); });
      if (iteration == visit.iterations) break;
      std::atomic<bool> changed(false);
      for_each_block(columns, slot, [&](int block, int own_slot) {
        if (sweep_along(stay, block, own_slot)) changed = true;
      });
      if (model_.parameters.early_out && !changed) break;
    }
    for_each_block(columns, slot, [&](int block, int own_slot) { finish(stay, block, own_slot); });
  }

 private:
  // Memory for the visit of a batch.
  struct Work {
    std::byte *rows, *columns;  // data costs and the messages from the other two sides
    std::byte* from[4];         // messages from each Side: one step per block
  };
  struct Scratch {
    std::byte *messages, *forward, *backward;
    Decision decision;
  };
  // Steps of a batch's sweeps, and which tile has fewer.
  struct Steps {
    int count, short_tile, short_count;
  };
  // The visit of a batch.
  struct Stay {
    const Visit& visit;
    const Batch& batch;
    const Work& work;
    std::byte* data;
    Steps across, along;
  };

  template <class Body>
  void for_each_block(int count, int slot, const Body& body) const {
    if (shares_blocks_) return workers_.for_each(count, body);
    for (int block = 0; block < count; ++block) {
      stop_if_cancelled();
      body(block, slot);
    }
  }

  const Scratch& scratch(int slot) const { return scratch_[to_size(slot)]; }

  Steps steps_of(const Batch& batch, bool across) const {
    Steps steps{0, no_tile, 0};
    const auto count = [&](int i) {
      const Tile tile = tiling_.tile_of(batch, i);
      return across ? tile.right - tile.left : tile.bottom - tile.top;
    };
    for (int i = 0; i < batch.tiles; ++i) steps.count = std::max(steps.count, count(i));
    for (int i = 0; i < batch.tiles; ++i)
      if (count(i) < steps.count) steps = {steps.count, i, count(i)};
    return steps;
  }

  // The start of a visit: the only messages are those from above, to the first step, and from below, to the
  // last.
  void turn_data(const Stay& stay, int block, int slot, bool comes_down, bool comes_up) const {
    const auto index = to_size(block);
    const std::size_t step = tiling_.step_bytes();
    std::byte* first = stay.data + index * tiling_.column_block_bytes();
    std::byte* last = first + to_size(stay.along.count - 1) * step;
    std::byte *first_data = scratch(slot).forward, *last_data = scratch(slot).backward;
    const auto add = [&](Side side, std::byte* data, std::byte* kept) {
      std::memcpy(kept, data, step);
      add_step(tiling_.shape(), stay.work.from[side] + index * step, data);
    };
    if (comes_down) add(above, first, first_data);
    if (comes_up) add(below, last, last_data);
    turn_block(tiling_.shape(), first, block, stay.along.count, into_rows(stay));
    if (comes_up) std::memcpy(last, last_data, step);
    if (comes_down) std::memcpy(first, first_data, step);
  }

  Turn into_rows(const Stay& stay) const {
    return {.target = stay.work.rows, .target_steps = tiling_.row_steps()};
  }

  void sweep_across(const Stay& stay, int block, int slot) const {
    const Sweeps sweeps = sweeps_of(stay, block, true, slot);
    sweep_and_turn(sweeps,
                   {.target = stay.work.columns, .target_steps = tiling_.column_steps(), .add = stay.data});
    leave(stay, true, block, sweeps);
  }

  // Returns whether the sums of data costs and messages down and up have changed; all other messages follow
  // from them.
  bool sweep_along(const Stay& stay, int block, int slot) const {
    bool changed = false;
    Sweeps sweeps = sweeps_of(stay, block, false, slot);
    sweeps.data = stay.data + to_size(block) * tiling_.column_block_bytes();
    Turn turn = into_rows(stay);
    turn.compares = model_.parameters.early_out;
    turn.changed = &changed;
    sweep_and_turn(sweeps, turn);
    leave(stay, false, block, sweeps);
    return changed;
  }

  // The last sweeps along.
  void finish(const Stay& stay, int block, int slot) const {
    const Sweeps sweeps = sweeps_of(stay, block, false, slot);
    if (const MapWriter* writer = stay.visit.writer) {
      Decision decision = scratch(slot).decision;
      if (!writer->wants_beliefs()) decision.before = decision.best = decision.after = nullptr;
      sweep_and_decide(sweeps, decision);
      for (int i = 0; i < stay.batch.tiles; ++i)
        writer->write(tiling_.tile_of(stay.batch, i), block, i, decision);
    } else {
      sweep_out(sweeps);
    }
    leave(stay, false, block, sweeps);
  }

  Sweeps sweeps_of(const Stay& stay, int block, bool across, int slot) const {
    const Work& work = stay.work;
    const Steps& steps = across ? stay.across : stay.along;
    const auto index = to_size(block);
    const std::size_t step = tiling_.step_bytes();
    const Sweeps sweeps{.shape = tiling_.shape(),
                        .slope = model_.slope,
                        .truncation = model_.truncation,
                        .block = block,
                        .steps = steps.count,
                        .sums = across ? work.rows + index * tiling_.row_block_bytes()
                                       : work.columns + index * tiling_.column_block_bytes(),
                        .forward = scratch(slot).forward,
                        .backward = scratch(slot).backward,
                        .forward_leaves = !stay.visit.reverse && tiling_.grid().count() > 1,
                        .backward_leaves = stay.visit.reverse && tiling_.grid().count() > 1,
                        .messages = scratch(slot).messages,
                        .data = nullptr,
                        .short_tile = steps.short_tile,
                        .short_steps = steps.short_count};
    std::memcpy(sweeps.forward, work.from[across ? left : above] + index * step, step);
    std::memcpy(sweeps.backward, work.from[across ? right : below] + index * step, step);
    return sweeps;
  }

  void leave(const Stay& stay, bool across, int block, const Sweeps& sweeps) const {
    const bool reverse = stay.visit.reverse;
    const Side side = across ? (reverse ? left : right) : (reverse ? above : below);
    borders_.leave(stay.batch, side, block,
                   static_cast<std::byte*>(reverse ? sweeps.backward : sweeps.forward));
  }

  const Model& model_;
  const Tiling& tiling_;
  const TileCosts& costs_;
  const Borders& borders_;
  const Workers& workers_;
  bool shares_blocks_;
  std::vector<Work> work_;        // one, or one for each slot
  std::vector<Scratch> scratch_;  // by slot
};

}  // namespace parallax::tiled_belief_propagation
