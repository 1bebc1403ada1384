// SPDX-License-Identifier: Apache-2.0
// The specification of tiled belief propagation, written directly from tiled_belief_propagation.h: one tile,
// one pixel and one label at a time.

#include <algorithm>
#include <limits>

#include "data_cost/reference_grid.h"
#include "matchers/belief_reference.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {
namespace {

using data_cost::all_directions, data_cost::Direction, data_cost::opposite, data_cost::step_x,
    data_cost::step_y;
using enum data_cost::Direction;
using host::for_each_pixel, decision::Beliefs;

class Reference final : public host::BeliefReference<Model> {
 public:
  Reference(const TiledBeliefPropagationParameters& parameters, Size size)
      : BeliefReference(make_model(parameters), size), grid_(size, parameters.tile) {
    judge_afterwards(parameters.min_confidence);
    plan_memory();
  }

 private:
  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    const std::size_t count = size_.pixels() * to_size(model_.labels);
    data_ = arena.reserve<int>(count);
    for (int*& messages : messages_) messages = arena.reserve<int>(count);
    h_ = arena.reserve<int>(to_size(model_.labels));
    decisions_ = arena.reserve<Beliefs>(size_.pixels());
  }

  std::size_t pixel(int x, int y) const { return to_size(y) * to_size(size_.width) + to_size(x); }
  // The values of a pixel, one for each label.
  int* at(int* volume, int x, int y) const { return volume + pixel(x, y) * to_size(model_.labels); }
  int* data(int x, int y) const { return at(data_, x, y); }
  // The message to a pixel that was sent in this direction.
  int* message(Direction direction, int x, int y) const { return at(messages_[direction], x, y); }
  Beliefs& decision(int x, int y) const { return decisions_[pixel(x, y)]; }
  bool in_image(int x, int y) const { return x >= 0 && y >= 0 && x < size_.width && y < size_.height; }

  void propagate(const StereoPair& pair, bool mirrored) override {
    costs_.prepare(pair, mirrored);
    for_each_pixel(size_, [&](int x, int y) {
      write_data(x, y);
      for (const Direction direction : all_directions)
        std::fill_n(message(direction, x, y), model_.labels, 0);
    });
    for (int outer = 1; outer <= model_.parameters.outer; ++outer) {
      for (int tile = 0; tile < grid_.count(); ++tile) visit(tile);
      for (int tile = grid_.count() - 1; tile >= 0; --tile) {
        visit(tile);
        if (outer == model_.parameters.outer) decide(tile);
      }
    }
  }

  void write_data(int x, int y) const {
    int* costs = data(x, y);
    float least = std::numeric_limits<float>::infinity();
    for (int label = 0; label < model_.labels; ++label) least = std::min(least, costs_.at(x, y, label));
    for (int label = 0; label < model_.labels; ++label)
      costs[label] =
          static_cast<int>(std::min(costs_.at(x, y, label) - least, static_cast<float>(model_.data_bound())));
  }

  Tile tile_of(int index) const { return tile_at(grid_, index % grid_.columns, index / grid_.columns); }

  void visit(int index) const {
    const Tile tile = tile_of(index);
    if (model_.parameters.tile > 0) forget_inside(tile);
    for (int iteration = 0; iteration < model_.parameters.inner; ++iteration) {
      sweep(tile, right);
      sweep(tile, left);
      const bool down_first = model_.parameters.sweep_order == SweepOrder::right_left_down_up;
      sweep(tile, down_first ? below : above);
      sweep(tile, down_first ? above : below);
    }
  }

  void forget_inside(const Tile& tile) const {
    for (const Direction direction : all_directions)
      for (int y = tile.top; y < tile.bottom; ++y)
        for (int x = tile.left; x < tile.right; ++x)
          if (tile.contains(x - step_x[direction], y - step_y[direction]))
            std::fill_n(message(direction, x, y), model_.labels, 0);
  }

  void sweep(const Tile& tile, Direction direction) const {
    const bool forward = direction == right || direction == below;
    for (int j = 0; j < tile.bottom - tile.top; ++j) {
      stop_if_cancelled();
      for (int i = 0; i < tile.right - tile.left; ++i)
        send(forward ? tile.left + i : tile.right - 1 - i, forward ? tile.top + j : tile.bottom - 1 - j,
             direction);
    }
  }

  // The message that pixel (x, y) sends, by a forward and a backward pass over the labels.
  void send(int x, int y, Direction direction) const {
    if (!in_image(x + step_x[direction], y + step_y[direction])) return;
    const int labels = model_.labels;
    int* h = h_;
    std::copy_n(data(x, y), labels, h);
    for (const Direction from : all_directions) {
      if (from == opposite[direction]) continue;
      const int* incoming = message(from, x, y);
      for (int label = 0; label < labels; ++label) h[label] += incoming[label];
    }
    const int least = *std::min_element(h, h + labels);
    for (int label = 1; label < labels; ++label) h[label] = std::min(h[label], h[label - 1] + model_.slope);
    for (int label = labels - 2; label >= 0; --label)
      h[label] = std::min(h[label], h[label + 1] + model_.slope);
    int* out = message(direction, x + step_x[direction], y + step_y[direction]);
    for (int label = 0; label < labels; ++label) out[label] = std::min(h[label] - least, model_.truncation);
  }

  void decide(int index) const {
    const Tile tile = tile_of(index);
    for (int y = tile.top; y < tile.bottom; ++y)
      for (int x = tile.left; x < tile.right; ++x) decision(x, y) = beliefs_now(x, y);
  }

  float data_cost(int x, int y, int label) const override { return static_cast<float>(data(x, y)[label]); }

  float belief(int x, int y, int label) const override {
    int sum = data(x, y)[label];
    for (const Direction from : all_directions) sum += message(from, x, y)[label];
    return static_cast<float>(sum);
  }

  Beliefs beliefs_now(int x, int y) const {
    return decision::find_beliefs(model_.labels, [&](int label) { return belief(x, y, label); });
  }
  Beliefs beliefs(int x, int y) const override { return decision(x, y); }

  TileGrid grid_;
  int *data_ = nullptr, *messages_[4] = {}, *h_ = nullptr;
  Beliefs* decisions_ = nullptr;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const TiledBeliefPropagationParameters& parameters,
                                             const Device&, const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format.size);
}

}  // namespace parallax::tiled_belief_propagation
