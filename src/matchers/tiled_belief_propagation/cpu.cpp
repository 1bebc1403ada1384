// SPDX-License-Identifier: Apache-2.0
// Tiled belief propagation on the CPU.
//
// Data costs are computed once, in the layout of cpu_kernels.h, as columns. A visit of a tile turns them into
// rows, sweeps right and left, transposes the sums of sent messages into columns, and sweeps down and up; it
// keeps only those sums from one iteration to the next. Right and left do not read each other's messages, nor
// do down and up, so both run at once.
//
// Tiles on one anti-diagonal do not depend on each other: as many of them as fit side by side in a vector are
// a batch, and threads take batches in the order of the diagonals, waiting for those that a batch depends on.
// Threads share the blocks of large tiles, and of an image that is a single tile.
//
// Neighbouring tiles share one message buffer: messages that crossed their border in one pass are read before
// the next pass writes those in the other direction there.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/round_up.h"
#include "data_cost/cost_rows.h"
#include "decision/decision.h"
#include "devices/cpu/tuning.h"
#include "matchers/host_plan.h"
#include "matchers/tiled_belief_propagation/batches.h"
#include "matchers/tiled_belief_propagation/cpu_kernels.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {
namespace {

using refine::no_value, refine::write_decision, refine::write_none;

// The best values depend on the machine; none changes a result. Narrower vectors make smaller, and so more,
// batches.
const detail::Tunable vector_bytes{
    "vector_bytes", "Bytes of a vector; narrow vectors make small batches of tiles", {16, 32, 64}};
const detail::Tunable threads_share{
    "threads_share",
    "What is divided among threads: batches of a diagonal, or blocks of a tile",
    {0, 1},
    {"batches", "blocks"}};

// Memory for the visit of a tile, or of a batch of them.
struct Work {
  std::byte *rows, *columns;  // data costs and the messages from the other two sides
  std::byte *from_left, *from_right, *from_above, *from_below;  // one step per block
};

// Memory of one thread.
struct Scratch {
  std::byte *messages, *forward, *backward;
  std::uint16_t *labels, *beliefs;
  float* around[4];
};

class Cpu final : public host::Plan {
 public:
  Cpu(const TiledBeliefPropagationParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities),
                   Workers(threads, cpu::ranges_per_thread(configuration))),
        model_(make_model(parameters)),
        grid_(size_, parameters.tile),
        tile_{std::min(grid_.side, size_.width), std::min(grid_.side, size_.height)},
        vector_bytes_(configuration.value(vector_bytes.name, 0)),
        shape_(choose_shape()),
        shares_tiles_(configuration.value(threads_share.name, has_many_blocks()) != 0),
        cell_(cell(shape_.element_bytes)),
        pieces_(cut_rows()),
        batches_(grid_, shape_.tiles),
        costs_(model_, {shape_.element_bytes, true, model_.data_bound()}, format, workers_.slots()),
        work_(static_cast<std::size_t>(shares_tiles() ? 1 : workers_.slots())),
        scratch_(static_cast<std::size_t>(workers_.slots())) {
    data_cost::check_reachable(model_, size_);
    plan_memory();
  }

  detail::Footprint footprint() const {
    return cpu::footprint(shares_tiles() ? std::max(row_blocks(), column_blocks()) : batches_.count(),
                          workers_,
                          2 * batch_bytes() + static_cast<std::size_t>(row_blocks()) * row_block_bytes());
  }

 private:
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    wants_beliefs_ = model_.parameters.sub_pixel != SubPixel::none || model_.parameters.min_confidence > 0 ||
                     !map.confidence.empty();
    prepare(pair, false, clock, "prepare", "costs");
    propagate([&](const Tile& tile, int column, const Scratch& scratch, int lane) {
      write(tile, column, scratch, lane, map);
    });
    clock.finish("match");
    if (!checks_left_right_) return;
    wants_beliefs_ = false;
    prepare(pair, true, clock, "right_prepare", "right_costs");
    propagate([&](const Tile& tile, int column, const Scratch& scratch, int lane) {
      write_right(tile, column, scratch, lane);
    });
    clock.finish("right_match");
  }

  // Memory

  BlockShape choose_shape() const {
    BlockShape shape;
    shape.element_bytes = fits_bytes(model_) ? 1 : 2;
    shape.labels = model_.labels;
    const int side = std::max(tile_.width, tile_.height);
    if (vector_bytes_ > 0) {
      shape.lanes = lanes_in(vector_bytes_, shape.element_bytes);
    } else {
      shape.lanes = choose_lanes(shape.element_bytes, side);
      if (grid_.count() == 1) shape.lanes = lanes_to_share(shape);
    }
    const int group = round_up(side, cell(shape.element_bytes));
    shape.group = std::min(group, shape.lanes);
    shape.tiles = group <= shape.lanes ? shape.lanes / group : 1;
    if (shape.tiles == 1) shape.group = shape.lanes;
    return shape;
  }

  // Reduces the lanes where threads would not get a few blocks each.
  int lanes_to_share(const BlockShape& shape) const {
    constexpr int half_vector_bytes = 32, blocks_each = 4;
    const int few = std::min(tile_.width, tile_.height) / (blocks_each * workers_.slots());
    const int half = half_vector_bytes / shape.element_bytes;
    return shape.lanes > half && shape.lanes > few ? half : shape.lanes;
  }

  int blocks(int pixels) const { return shape_.tiles > 1 ? 1 : divide_round_up(pixels, shape_.lanes); }
  int row_blocks() const { return blocks(tile_.height); }
  int column_blocks() const { return blocks(tile_.width); }
  int padded_width() const { return round_up(tile_.width, cell_); }
  int padded_height() const { return round_up(tile_.height, cell_); }
  std::size_t step_elements() const { return static_cast<std::size_t>(shape_.step()); }
  std::size_t step_bytes() const { return step_elements() * static_cast<std::size_t>(shape_.element_bytes); }
  std::size_t column_block_bytes() const { return static_cast<std::size_t>(padded_height()) * step_bytes(); }
  std::size_t row_block_bytes() const { return static_cast<std::size_t>(padded_width()) * step_bytes(); }
  std::size_t batch_bytes() const { return static_cast<std::size_t>(column_blocks()) * column_block_bytes(); }

  // Whether threads share the blocks of a tile, instead of the tiles.
  bool shares_tiles() const { return grid_.count() == 1 || shares_tiles_; }
  bool has_many_blocks() const {
    constexpr int enough = 4;
    return std::max(row_blocks(), column_blocks()) >= enough;
  }

  std::size_t data_bytes() const { return static_cast<std::size_t>(batches_.count()) * batch_bytes(); }
  std::size_t between_columns_bytes() const {
    return static_cast<std::size_t>(grid_.columns - 1) * static_cast<std::size_t>(grid_.rows) *
           border_bytes(row_blocks());
  }
  std::size_t between_rows_bytes() const {
    return static_cast<std::size_t>(grid_.columns) * static_cast<std::size_t>(grid_.rows - 1) *
           border_bytes(column_blocks());
  }

  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    const auto bytes = [&](std::size_t count) { return arena.reserve<std::byte>(count); };
    data_ = bytes(data_bytes());
    for (Work& work : work_) {
      work.rows = bytes(static_cast<std::size_t>(row_blocks()) * row_block_bytes());
      work.columns = bytes(batch_bytes());
      for (auto* messages : {&work.from_left, &work.from_right})
        *messages = bytes(static_cast<std::size_t>(row_blocks()) * step_bytes());
      for (auto* messages : {&work.from_above, &work.from_below})
        *messages = bytes(static_cast<std::size_t>(column_blocks()) * step_bytes());
    }
    const int steps = std::max(padded_width(), padded_height());
    const auto pixels = static_cast<std::size_t>(steps * shape_.lanes);
    for (Scratch& scratch : scratch_) {
      scratch.messages = bytes(static_cast<std::size_t>(steps) * step_bytes());
      scratch.forward = bytes(step_bytes());
      scratch.backward = bytes(step_bytes());
      scratch.labels = arena.reserve<std::uint16_t>(pixels);
      scratch.beliefs = arena.reserve<std::uint16_t>(step_elements());
      for (float*& beliefs : scratch.around) beliefs = arena.reserve<float>(pixels);
    }
    between_columns_ = bytes(between_columns_bytes());
    between_rows_ = bytes(between_rows_bytes());
    done_ = arena.reserve<int>(static_cast<std::size_t>(batches_.count()) + 1);
  }

  void fill_memory() override { std::memset(data_, 0, data_bytes()); }

  std::byte* data_of(int batch) const { return data_ + static_cast<std::size_t>(batch) * batch_bytes(); }

  // Data costs

  void prepare(const StereoPair& pair, bool mirrored, detail::StageClock& clock, const char* preparation,
               const char* costs) {
    costs_.prepare(pair, mirrored, workers_);
    clock.finish(preparation);
    for_row_ranges(workers_, size_.height, [&](int first, int last, int slot) {
      for (int y = first; y < last; ++y) write_row_data(y, slot);
    });
    clock.finish(costs);
  }

  // Pieces of a row that are adjacent in a batch are computed together, as many as fit.
  void write_row_data(int y, int slot) const {
    const std::size_t count = pieces_.size();
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i + 1;
      const int first = pieces_[i].first;
      while (end < count && pieces_[end].last - first <= costs_.at_once()) ++end;
      const auto* costs =
          static_cast<const std::byte*>(costs_.row(y, first, pieces_[end - 1].last - first, slot));
      for (; i < end; ++i) put_piece(pieces_[i], y, costs + (pieces_[i].first - first) * costs_.cost_bytes());
    }
  }

  // Columns of a tile that are in the same block.
  struct Piece {
    int column;  // of the tile
    int block;
    int first, last;
  };
  std::vector<Piece> cut_rows() const {
    std::vector<Piece> pieces;
    for (int column = 0; column < grid_.columns; ++column) {
      const Tile tile = tile_at(grid_, column, 0);
      for (int block = 0; tile.left + block * shape_.lanes < tile.right; ++block) {
        const int first = tile.left + block * shape_.lanes;
        pieces.push_back({column, block, first, std::min(first + shape_.lanes, tile.right)});
      }
    }
    return pieces;
  }

  void put_piece(const Piece& piece, int y, const std::byte* costs) const {
    const int row = y / grid_.side;
    const Batches::Place place = batches_.place(piece.column, row);
    std::byte* data = data_of(place.batch) + static_cast<std::size_t>(piece.block) * column_block_bytes() +
                      static_cast<std::size_t>(y - row * grid_.side) * step_bytes() +
                      tile_lanes_bytes(place.tile);
    const int pixels = piece.last - piece.first;
    if (costs_.cost_bytes() == shape_.element_bytes) {
      // Copies lanes in full cells: the group has room, and surplus lanes are ignored.
      copy_labels(costs, data_cost::CostRows::stride(), data, shape_.lanes, round_up(pixels, cell_));
    } else {
      const auto* from = reinterpret_cast<const std::uint8_t*>(costs);
      auto* to = reinterpret_cast<std::uint16_t*>(data);
      for (int label = 0; label < shape_.labels; ++label)
        std::copy_n(from + label * data_cost::CostRows::stride(), pixels, to + label * shape_.lanes);
    }
  }

  // Copies `count` elements of every label; labels are from_step and to_step elements apart.
  void copy_labels(const std::byte* from, int from_step, std::byte* to, int to_step, int count) const {
    const auto element = static_cast<std::size_t>(shape_.element_bytes);
    const auto copy = [&](auto bytes) {
      for (std::size_t label = 0; label < static_cast<std::size_t>(shape_.labels); ++label)
        std::memcpy(to + label * static_cast<std::size_t>(to_step) * element,
                    from + label * static_cast<std::size_t>(from_step) * element, bytes);
    };
    const std::size_t bytes = static_cast<std::size_t>(count) * element;
    // With a constant size, a copy is a single move.
    if (bytes == 16) return copy(std::integral_constant<std::size_t, 16>());
    if (bytes == 32) return copy(std::integral_constant<std::size_t, 32>());
    if (bytes == 64) return copy(std::integral_constant<std::size_t, 64>());
    copy(bytes);
  }

  // Messages between tiles: [block][label][lane of the tile], in the model's bytes.

  std::size_t border_bytes(int blocks) const {
    return static_cast<std::size_t>(blocks * shape_.labels * shape_.group * model_.message_bytes);
  }
  std::byte* between_columns(int left_column, int row) const {
    const int index = row * (grid_.columns - 1) + left_column;
    return between_columns_ + static_cast<std::size_t>(index) * border_bytes(row_blocks());
  }
  std::byte* between_rows(int column, int upper_row) const {
    const int index = upper_row * grid_.columns + column;
    return between_rows_ + static_cast<std::size_t>(index) * border_bytes(column_blocks());
  }

  enum Side { left, right, above, below };
  // The border of a tile; null at the border of the image.
  std::byte* border(int column, int row, Side side) const {
    switch (side) {
      case left:
        return column > 0 ? between_columns(column - 1, row) : nullptr;
      case right:
        return column + 1 < grid_.columns ? between_columns(column, row) : nullptr;
      case above:
        return row > 0 ? between_rows(column, row - 1) : nullptr;
      case below:
        return row + 1 < grid_.rows ? between_rows(column, row) : nullptr;
    }
    return nullptr;
  }

  // Copies from a border into a block's lanes, and back.
  void receive(const std::byte* messages, std::byte* lanes) const {
    if (shape_.element_bytes == model_.message_bytes)
      return copy_labels(messages, shape_.group, lanes, shape_.lanes, shape_.group);
    const auto* from = reinterpret_cast<const std::uint8_t*>(messages);
    auto* to = reinterpret_cast<std::uint16_t*>(lanes);
    for (int label = 0; label < shape_.labels; ++label)
      std::copy_n(from + label * shape_.group, shape_.group, to + label * shape_.lanes);
  }
  void leave(std::byte* messages, const std::byte* lanes) const {
    if (shape_.element_bytes == model_.message_bytes)
      return copy_labels(lanes, shape_.lanes, messages, shape_.group, shape_.group);
    const auto* from = reinterpret_cast<const std::uint16_t*>(lanes);
    auto* to = reinterpret_cast<std::uint8_t*>(messages);
    for (int label = 0; label < shape_.labels; ++label)
      for (int i = 0; i < shape_.group; ++i)
        to[label * shape_.group + i] = static_cast<std::uint8_t>(from[label * shape_.lanes + i]);
  }
  std::size_t tile_lanes_bytes(int tile) const {
    return static_cast<std::size_t>(tile * shape_.group * shape_.element_bytes);
  }

  // Receives a batch's messages from one side; returns whether there are any.
  bool receive_side(const Batch& batch, Side side, int blocks, std::byte* steps) const {
    std::memset(steps, 0, static_cast<std::size_t>(blocks) * step_bytes());
    bool any = false;
    for (int i = 0; i < batch.tiles; ++i) {
      std::byte* messages = border(batch.column - i, batch.row + i, side);
      if (messages == nullptr) continue;
      any = true;
      for (int block = 0; block < blocks; ++block)
        receive(messages + static_cast<std::size_t>(block) * border_bytes(1),
                steps + static_cast<std::size_t>(block) * step_bytes() + tile_lanes_bytes(i));
    }
    return any;
  }

  void leave_side(const Batch& batch, Side side, int block, std::byte* step) const {
    for (int i = 0; i < batch.tiles; ++i) {
      std::byte* messages = border(batch.column - i, batch.row + i, side);
      if (messages != nullptr)
        leave(messages + static_cast<std::size_t>(block) * border_bytes(1), step + tile_lanes_bytes(i));
    }
  }

  // Passes over all tiles

  template <class Write>
  void propagate(const Write& write) {
    std::memset(between_columns_, 0, between_columns_bytes());
    std::memset(between_rows_, 0, between_rows_bytes());
    if (grid_.count() == 1) return visit_only_tile(write);
    for (int outer = 1; outer <= model_.parameters.outer; ++outer) {
      pass({false, false, model_.parameters.inner}, write);
      pass({true, outer == model_.parameters.outer, model_.parameters.inner}, write);
    }
  }

  struct Visit {
    bool reverse;
    bool decides;
    int iterations;
  };

  // A tile without neighbours discards all messages that its last visit did not send.
  template <class Write>
  void visit_only_tile(const Write& write) {
    const TiledBeliefPropagationParameters& parameters = model_.parameters;
    const int iterations = parameters.tile == 0 ? 2 * parameters.outer * parameters.inner : parameters.inner;
    visit_sharing(0, {true, true, iterations}, write);
  }

  template <class Write>
  void pass(const Visit& visit, const Write& write) {
    const int count = batches_.count();
    if (shares_tiles()) {
      for (int i = 0; i < count; ++i) visit_sharing(visit.reverse ? count - 1 - i : i, visit, write);
      return;
    }
    int* done = done_;
    std::fill_n(done, count + 1, 0);
    std::atomic_ref<int> next(done[count]);
    // Batches are taken in an order in which each follows those it needs: a thread waits only for batches
    // that another thread is working on.
    workers_.for_each(workers_.slots(), [&](int, int slot) {
      for (int taken = next++; taken < count; taken = next++) {
        const int index = visit.reverse ? count - 1 - taken : taken;
        const Batches::Needed needed = batches_.needed(index, visit.reverse);
        for (int other = needed.first; other < needed.last; ++other) wait_for(done[other]);
        visit_alone(index, visit, slot, write);
        std::atomic_ref<int>(done[index]).store(1, std::memory_order_release);
      }
    });
  }

  static void wait_for(int& flag) {
    constexpr int tries = 2000;
    const std::atomic_ref<int> set(flag);
    for (int i = 0; set.load(std::memory_order_acquire) == 0; ++i)
      if (i >= tries) std::this_thread::yield();
  }

  // Visits of a tile, or of a batch of them

  template <class Write>
  void visit_alone(int index, const Visit& visit, int slot, const Write& write) {
    const auto for_each_block = [&](int count, const auto& body) {
      for (int block = 0; block < count; ++block) body(block, slot);
    };
    visit_batch(index, visit, work_[static_cast<std::size_t>(slot)], for_each_block, write);
  }

  template <class Write>
  void visit_sharing(int index, const Visit& visit, const Write& write) {
    const auto for_each_block = [&](int count, const auto& body) { workers_.for_each(count, body); };
    visit_batch(index, visit, work_.front(), for_each_block, write);
  }

  Tile tile_of(const Batch& batch, int i) const { return tile_at(grid_, batch.column - i, batch.row + i); }

  // Steps of a batch's sweeps, and which tile has fewer.
  struct Steps {
    int count, short_tile, short_count;
  };
  Steps steps_of(const Batch& batch, bool across) const {
    Steps steps{0, no_tile, 0};
    const auto count = [&](int i) {
      const Tile tile = tile_of(batch, i);
      return across ? tile.right - tile.left : tile.bottom - tile.top;
    };
    for (int i = 0; i < batch.tiles; ++i) steps.count = std::max(steps.count, count(i));
    for (int i = 0; i < batch.tiles; ++i)
      if (count(i) < steps.count) steps = {steps.count, i, count(i)};
    return steps;
  }

  // A visit of a batch.
  struct Stay {
    const Visit& visit;
    const Batch& batch;
    const Work& work;
    std::byte* data;
    Steps across, along;
  };

  template <class ForEachBlock, class Write>
  void visit_batch(int index, const Visit& visit, const Work& work, const ForEachBlock& for_each_block,
                   const Write& write) {
    const Batch& batch = batches_[index];
    const Stay stay{visit, batch, work, data_of(index), steps_of(batch, true), steps_of(batch, false)};
    const int rows = blocks(stay.along.count), columns = blocks(stay.across.count);
    receive_side(batch, left, rows, work.from_left);
    receive_side(batch, right, rows, work.from_right);
    const bool comes_down = receive_side(batch, above, columns, work.from_above);
    const bool comes_up = receive_side(batch, below, columns, work.from_below);

    for_each_block(columns, [&](int block, int) { turn_data(stay, block, comes_down, comes_up); });
    for (int iteration = 1;; ++iteration) {
      for_each_block(rows, [&](int block, int slot) { sweep_across(stay, block, slot); });
      if (iteration == visit.iterations) break;
      std::atomic<bool> changed(false);
      for_each_block(columns, [&](int block, int slot) {
        if (sweep_along(stay, block, slot)) changed = true;
      });
      if (model_.parameters.early_out && !changed) break;
    }
    for_each_block(columns, [&](int block, int slot) { finish(stay, block, slot, write); });
  }

  Sweeps sweeps_of(const Stay& stay, int block, bool across, int slot) const {
    const Work& work = stay.work;
    const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    const Steps& steps = across ? stay.across : stay.along;
    const auto index = static_cast<std::size_t>(block);
    Sweeps sweeps{};
    sweeps.shape = shape_;
    sweeps.slope = model_.slope;
    sweeps.truncation = model_.truncation;
    sweeps.block = block;
    sweeps.steps = steps.count;
    sweeps.sums =
        across ? work.rows + index * row_block_bytes() : work.columns + index * column_block_bytes();
    sweeps.forward = scratch.forward;
    sweeps.backward = scratch.backward;
    sweeps.forward_leaves = !stay.visit.reverse && grid_.count() > 1;
    sweeps.backward_leaves = stay.visit.reverse && grid_.count() > 1;
    const std::size_t offset = index * step_bytes();
    std::memcpy(sweeps.forward, (across ? work.from_left : work.from_above) + offset, step_bytes());
    std::memcpy(sweeps.backward, (across ? work.from_right : work.from_below) + offset, step_bytes());
    sweeps.messages = scratch.messages;
    sweeps.short_tile = steps.short_tile;
    sweeps.short_steps = steps.short_count;
    return sweeps;
  }

  void leave(const Stay& stay, bool across, int block, const Sweeps& sweeps) const {
    const bool reverse = stay.visit.reverse;
    const Side side = across ? (reverse ? left : right) : (reverse ? above : below);
    leave_side(stay.batch, side, block, static_cast<std::byte*>(reverse ? sweeps.backward : sweeps.forward));
  }

  void sweep_across(const Stay& stay, int block, int slot) const {
    const Sweeps sweeps = sweeps_of(stay, block, true, slot);
    sweep_and_turn(sweeps, {stay.work.columns, padded_height(), stay.data, false, nullptr});
    leave(stay, true, block, sweeps);
  }

  // Returns whether the sums of data costs and messages down and up have changed; all other messages follow
  // from them.
  bool sweep_along(const Stay& stay, int block, int slot) const {
    bool changed = false;
    Sweeps sweeps = sweeps_of(stay, block, false, slot);
    sweeps.data = stay.data + static_cast<std::size_t>(block) * column_block_bytes();
    sweep_and_turn(sweeps, {stay.work.rows, padded_width(), nullptr, model_.parameters.early_out, &changed});
    leave(stay, false, block, sweeps);
    return changed;
  }

  // The last sweeps along.
  template <class Write>
  void finish(const Stay& stay, int block, int slot, const Write& write) const {
    const Sweeps sweeps = sweeps_of(stay, block, false, slot);
    if (stay.visit.decides) {
      const Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
      sweep_and_decide(sweeps, decision(scratch));
      write_block(stay.batch, block, scratch, write);
    } else {
      sweep_out(sweeps);
    }
    leave(stay, false, block, sweeps);
  }

  // The start of a visit: the only messages are those from above and below.
  void turn_data(const Stay& stay, int block, bool comes_down, bool comes_up) const {
    const auto index = static_cast<std::size_t>(block);
    std::byte* first = stay.data + index * column_block_bytes();
    std::byte* last = first + static_cast<std::size_t>(stay.along.count - 1) * step_bytes();
    const std::byte *from_above = stay.work.from_above + index * step_bytes(),
                    *from_below = stay.work.from_below + index * step_bytes();
    if (comes_down) add_step(shape_, from_above, first);
    if (comes_up) add_step(shape_, from_below, last);
    turn_block(shape_, first, block, stay.along.count,
               {stay.work.rows, padded_width(), nullptr, false, nullptr});
    if (comes_down) subtract_step(shape_, from_above, first);
    if (comes_up) subtract_step(shape_, from_below, last);
  }

  // Decisions

  Decision decision(const Scratch& scratch) const {
    Decision decision{};
    decision.labels = scratch.labels;
    decision.scratch = scratch.beliefs;
    if (!wants_beliefs_) return decision;
    float** around[] = {&decision.before, &decision.best, &decision.after, &decision.rival};
    for (std::size_t i = 0; i < 4; ++i) *around[i] = scratch.around[i];
    return decision;
  }

  // Calls write(tile, first column, scratch, first lane) for each tile's part of a block.
  template <class Write>
  void write_block(const Batch& batch, int block, const Scratch& scratch, const Write& write) const {
    for (int i = 0; i < batch.tiles; ++i) {
      const Tile tile = tile_of(batch, i);
      write(tile, tile.left + block * shape_.lanes, scratch, i * shape_.group);
    }
  }

  // Calls row(y, count, element) for the rows of a tile in a block: `count` pixels from column `column` on.
  template <class Row>
  void for_each_row(const Tile& tile, int column, int lane, const Row& row) const {
    const int count = std::min(tile.right - column, shape_.group);
    for (int y = tile.top; y < tile.bottom; ++y) row(y, count, (y - tile.top) * shape_.lanes + lane);
  }

  void write(const Tile& tile, int column, const Scratch& scratch, int lane, const DisparityMap& map) const {
    for_each_row(tile, column, lane, [&](int y, int count, int element) {
      if (wants_beliefs_)
        write_beliefs(column, y, count, scratch, element, map);
      else
        write_labels(column, y, count, scratch, element, map);
    });
  }

  void write_labels(int column, int y, int count, const Scratch& scratch, int element,
                    const DisparityMap& map) const {
    const std::uint8_t* status = costs_.status().row(y) + column;
    write_disparities(status, scratch.labels + element, count, map.disparity.row(y) + column);
    std::copy_n(status, count, map.status.row(y) + column);
  }

  void write_disparities(const std::uint8_t* status, const std::uint16_t* labels, int count,
                         float* disparities) const {
    const int lowest = model_.min_disparity;
    for (int i = 0; i < count; ++i)
      disparities[i] =
          status[i] == refine::code(Status::matched) ? static_cast<float>(lowest + labels[i]) : no_value;
  }

  void write_beliefs(int column, int y, int count, const Scratch& scratch, int element,
                     const DisparityMap& map) const {
    const std::uint8_t* status = costs_.status().row(y) + column;
    const std::uint16_t* labels = scratch.labels + element;
    const float* around[4];
    for (std::size_t i = 0; i < 4; ++i) around[i] = scratch.around[i] + element;
    const refine::DecisionRule rule = model_.decision();
    for (int i = 0; i < count; ++i) {
      if (status[i] == refine::code(Status::matched))
        write_decision({labels[i], around[0][i], around[1][i], around[2][i], around[3][i]}, rule, column + i,
                       y, map);
      else
        write_none(static_cast<Status>(status[i]), column + i, y, map);
    }
  }

  void write_right(const Tile& tile, int column, const Scratch& scratch, int lane) const {
    for_each_row(tile, column, lane, [&](int y, int count, int element) {
      float* mirrored = right_disparity_.row(y) + size_.width - column - count;
      write_disparities(costs_.status().row(y) + column, scratch.labels + element, count, mirrored);
      std::reverse(mirrored, mirrored + count);
    });
  }

  Model model_;
  TileGrid grid_;
  Size tile_;         // the largest tile
  int vector_bytes_;  // 0 = the best for this machine
  BlockShape shape_;
  bool shares_tiles_;
  int cell_;
  std::vector<Piece> pieces_;
  Batches batches_;
  data_cost::CostRows costs_;
  std::byte* data_ = nullptr;     // [batch][block of columns][step][label][lane]
  std::vector<Work> work_;        // one, or one for each slot
  std::vector<Scratch> scratch_;  // by slot
  std::byte *between_columns_ = nullptr, *between_rows_ = nullptr;
  int* done_ = nullptr;  // by batch; the last entry is the next batch to take
  bool wants_beliefs_ = false;
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const TiledBeliefPropagationParameters& parameters,
                                       const Device& device, const ImageFormat& format,
                                       const detail::Configuration& configuration) {
  return std::make_unique<Cpu>(parameters, device.threads, format, configuration);
}

detail::TuningSpace cpu_tuning_space(const TiledBeliefPropagationParameters& parameters, const Device& device,
                                     const ImageFormat& format) {
  detail::TuningSpace space;
  space.variant = variant(make_model(parameters));
  space.tunables = {vector_bytes, threads_share, cpu::ranges_per_thread()};
  // Only vectors that this processor has; tiles can be shared only where there are several.
  space.allowed = [one = parameters.tile == 0](const detail::Configuration& configuration) {
    const int bytes = configuration.value(vector_bytes.name, 0);
    return (bytes == 0 || lanes_in(bytes, 1) == bytes) &&
           !(one && configuration.value(threads_share.name, 1) == 0);
  };
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cpu(parameters, device.threads, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::tiled_belief_propagation
