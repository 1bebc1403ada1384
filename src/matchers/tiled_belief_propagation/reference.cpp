// SPDX-License-Identifier: Apache-2.0
// The specification of tiled belief propagation, written directly from tiled_belief_propagation.h: one tile,
// one pixel and one label at a time.

#include <algorithm>
#include <limits>

#include "matchers/host_plan.h"
#include "matchers/tiled_belief_propagation/tiled_belief_propagation.h"

namespace parallax::tiled_belief_propagation {
namespace {

using refine::Beliefs, refine::no_value, refine::write_decision, refine::write_none;

// The direction in which a message is sent.
enum Direction { to_right, to_left, down, up, direction_count };
constexpr int step_x[] = {1, -1, 0, 0};
constexpr int step_y[] = {0, 0, 1, -1};
constexpr Direction opposite[] = {to_left, to_right, up, down};

class Reference final : public host::Plan {
 public:
  Reference(const TiledBeliefPropagationParameters& parameters, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size,
                   data_cost::volume_labels(parameters.cost, parameters.disparities)),
        model_(make_model(parameters)),
        grid_(size_, parameters.tile),
        costs_(model_, size_) {
    data_cost::check_reachable(model_, size_);
    plan_memory();
  }

  CostCurve cost_curve(int x, int y) const override {
    CostCurve curve;
    for (int label = 0; label < model_.labels; ++label) {
      curve.data_costs.push_back(static_cast<float>(data(x, y)[label]));
      curve.totals.push_back(belief(x, y, label));
    }
    return curve;
  }

 private:
  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    const std::size_t count = size_.pixels() * static_cast<std::size_t>(model_.labels);
    data_ = arena.reserve<int>(count);
    for (int*& messages : messages_) messages = arena.reserve<int>(count);
    h_ = arena.reserve<int>(static_cast<std::size_t>(model_.labels));
    decisions_ = arena.reserve<Beliefs>(size_.pixels());
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    propagate(pair, false);
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) decide(x, y, map);
    clock.finish("match");
    if (!checks_left_right_) return;
    propagate(pair, true);
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x)
        right_disparity_.at(size_.width - 1 - x, y) =
            undecided(x, y) ? no_value : static_cast<float>(model_.min_disparity + decision(x, y).label);
    clock.finish("right_match");
  }

  std::size_t pixel(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(size_.width) + static_cast<std::size_t>(x);
  }
  // The values of a pixel, one for each label.
  int* at(int* volume, int x, int y) const {
    return volume + pixel(x, y) * static_cast<std::size_t>(model_.labels);
  }
  int* data(int x, int y) const { return at(data_, x, y); }
  // The message to a pixel that was sent in this direction.
  int* message(Direction direction, int x, int y) const { return at(messages_[direction], x, y); }
  Beliefs& decision(int x, int y) const { return decisions_[pixel(x, y)]; }
  bool in_image(int x, int y) const { return x >= 0 && y >= 0 && x < size_.width && y < size_.height; }

  void propagate(const StereoPair& pair, bool mirrored) {
    costs_.prepare(pair, mirrored);
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) {
        write_data(x, y);
        for (int direction = 0; direction < direction_count; ++direction)
          std::fill_n(message(static_cast<Direction>(direction), x, y), model_.labels, 0);
      }
    }
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
      sweep(tile, to_right);
      sweep(tile, to_left);
      const bool down_first = model_.parameters.sweep_order == SweepOrder::right_left_down_up;
      sweep(tile, down_first ? down : up);
      sweep(tile, down_first ? up : down);
    }
  }

  void forget_inside(const Tile& tile) const {
    for (int direction = 0; direction < direction_count; ++direction)
      for (int y = tile.top; y < tile.bottom; ++y)
        for (int x = tile.left; x < tile.right; ++x)
          if (tile.contains(x - step_x[direction], y - step_y[direction]))
            std::fill_n(message(static_cast<Direction>(direction), x, y), model_.labels, 0);
  }

  void sweep(const Tile& tile, Direction direction) const {
    const bool forward = direction == to_right || direction == down;
    for (int j = 0; j < tile.bottom - tile.top; ++j)
      for (int i = 0; i < tile.right - tile.left; ++i)
        send(forward ? tile.left + i : tile.right - 1 - i, forward ? tile.top + j : tile.bottom - 1 - j,
             direction);
  }

  // The message that pixel (x, y) sends, by a forward and a backward pass over the labels.
  void send(int x, int y, Direction direction) const {
    if (!in_image(x + step_x[direction], y + step_y[direction])) return;
    const int labels = model_.labels;
    int* h = h_;
    std::copy_n(data(x, y), labels, h);
    for (int from = 0; from < direction_count; ++from) {
      if (from == opposite[direction]) continue;
      const int* incoming = message(static_cast<Direction>(from), x, y);
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
      for (int x = tile.left; x < tile.right; ++x) decision(x, y) = beliefs(x, y);
  }

  float belief(int x, int y, int label) const {
    int sum = data(x, y)[label];
    for (int from = 0; from < direction_count; ++from)
      sum += message(static_cast<Direction>(from), x, y)[label];
    return static_cast<float>(sum);
  }

  Beliefs beliefs(int x, int y) const {
    return refine::find_beliefs(model_.labels, [&](int label) { return belief(x, y, label); });
  }

  bool undecided(int x, int y) const { return costs_.masked(x, y) || !costs_.reachable(x, y); }

  void decide(int x, int y, const DisparityMap& map) const {
    if (undecided(x, y))
      write_none(costs_.masked(x, y) ? Status::input_masked : Status::out_of_range, x, y, map);
    else
      write_decision(decision(x, y), model_.decision(), x, y, map);
  }

  Model model_;
  TileGrid grid_;
  data_cost::DataCosts costs_;
  int *data_ = nullptr, *messages_[direction_count] = {}, *h_ = nullptr;
  Beliefs* decisions_ = nullptr;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const TiledBeliefPropagationParameters& parameters,
                                             const Device&, const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format);
}

}  // namespace parallax::tiled_belief_propagation
