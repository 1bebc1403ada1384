// SPDX-License-Identifier: Apache-2.0
// The specification of planes as labels, written directly from planes.h: one pixel at a time.

#include <bit>
#include <cstdlib>

#include "data_cost/data_cost.h"
#include "data_cost/reference_grid.h"
#include "matchers/planes/expansion.h"

namespace parallax::planes {
namespace {

using data_cost::for_each_pixel;
using data_cost::gray_channel, data_cost::per_level, data_cost::sample_row;

class Reference final : public Expansion {
 public:
  Reference(const PlanesParameters& parameters, const Device& device, const ImageFormat& format)
      : Expansion(parameters, device, format) {
    plan_memory();
  }

 private:
  // An edge of the grid within a region, and the costs of its pixels' choices: both keep their planes, only
  // the second takes the new one, only the first does. Both together cost nothing.
  struct Edge {
    int both_keep, second_takes, first_takes;
  };
  // What a move knows of a pixel of its region.
  struct Choice {
    int data = 0;   // cost of the new plane
    int unary = 0;  // what taking it costs more than keeping the old one, but for edges inside the region
    Edge before = {}, above = {};  // to the pixel to the left, and above; 0 where that is outside the region
    int from_left = 0, from_right = 0, from_above = 0, from_below = 0;  // messages
    bool takes = false;
  };
  struct Region {
    Box box;
    Plane offered;  // at the first pixel
  };

  void reserve_more(Arena& arena) override {
    for (auto& samples : samples_)
      for (auto& channel : samples) channel = arena.reserve_plane<std::uint16_t>(size_);
    shifted_ = arena.reserve_plane<std::uint16_t>(size_);
    choices_ = arena.reserve<Choice>(to_size(largest_region * largest_region));
  }

  void prepare(const StereoPair& pair) override {
    for (int channel = 0; channel < 4; ++channel)
      for (int y = 0; y < size_.height; ++y) {
        sample_row(pair.left, channel, y, false, samples_[0][channel].row(y));
        sample_row(pair.right, channel, y, false, samples_[1][channel].row(y));
      }
    const View<const std::uint16_t> gray = samples_[0][gray_channel];
    for_each_pixel(size_, [&](int x, int y) {
      features_.signature.at(x, y) = signature(gray, x, y);
      features_.levels.at(x, y) = levels(gray, x, y);
      find_neighbours_alike(x, y);
      features_.edge_before.at(x, y) = x > 0 ? edge(gray.at(x, y), gray.at(x - 1, y)) : std::uint16_t{0};
      features_.edge_above.at(x, y) = y > 0 ? edge(gray.at(x, y), gray.at(x, y - 1)) : std::uint16_t{0};
    });
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int y = 0; y < size_.height; ++y)
        shift_row(samples_[1][gray_channel].row(y), size_.width, quarter, shifted_.row(y));
      for_each_pixel(size_, [&](int x, int y) {
        const int column = quarter * size_.width + x;
        features_.right_signature.at(column, y) = signature(shifted_, x, y);
        features_.right_levels.at(column, y) = levels(shifted_, x, y);
      });
    }
  }

  // Calls visit(bit, x, y) for the neighbours in the window of the census; the image repeats its border.
  template <class Visit>
  void for_each_neighbour(int x, int y, const Visit& visit) const {
    int bit = 0;
    for (int row = -3; row <= 3; ++row)
      for (int column = -4; column <= 4; ++column)
        if (row != 0 || column != 0)
          visit(bit++, std::clamp(x + column, 0, size_.width - 1), std::clamp(y + row, 0, size_.height - 1),
                data_cost::census_bit(column + 4, row + 3));
  }

  std::uint64_t signature(View<const std::uint16_t> gray, int x, int y) const {
    constexpr int tolerance = census_tolerance * per_level;
    const int centre = gray.at(x, y);
    std::uint64_t signature = 0;
    for_each_neighbour(x, y, [&](int bit, int i, int j, data_cost::CensusBit kind) {
      const int sample = gray.at(i, j);
      const bool counts = kind == data_cost::CensusBit::darker                  ? sample < centre
                          : kind == data_cost::CensusBit::darker_than_tolerance ? sample + tolerance < centre
                                                                                : centre + tolerance < sample;
      signature |= std::uint64_t{counts} << bit;
    });
    return signature;
  }

  void find_neighbours_alike(int x, int y) const {
    std::uint64_t alike = 0;
    for_each_neighbour(x, y, [&](int bit, int i, int j, data_cost::CensusBit) {
      int difference = 0;
      for (int channel = 0; channel < 3; ++channel) {
        const View<const std::uint16_t> samples = samples_[0][channel];
        difference =
            std::max(difference, std::abs(samples.at(i, j) / per_level - samples.at(x, y) / per_level));
      }
      alike |= std::uint64_t{difference <= look_alike} << bit;
    });
    const int count = std::popcount(alike);
    constexpr std::uint64_t all = (std::uint64_t{1} << census_neighbours) - 1;
    features_.alike.at(x, y) = count < fewest_alike ? all : alike;
    features_.bit_cost.at(x, y) = model_.bit_costs[to_size(count < fewest_alike ? census_neighbours : count)];
  }

  static std::uint16_t levels(View<const std::uint16_t> gray, int x, int y) {
    return levels_of(gray.at(std::max(x - 1, 0), y), gray.at(x, y),
                     gray.at(std::min(x + 1, gray.size.width - 1), y));
  }

  std::uint16_t edge(int sample, int other) const {
    return model_.edge_weights[to_size(data_cost::edge_index(std::abs(sample - other)))];
  }

  int data_cost(int x, int y, std::int32_t disparity) const {
    if (!pair_.left_mask.empty() && pair_.left_mask.at(x, y) == 0) return 0;
    if (disparity < model_.lowest || disparity > model_.highest) return out_of_range;
    const int quarter = right_quarter(x, disparity), nearest = (quarter + 2) >> 2;
    if (nearest < 0 || nearest >= size_.width) return model_.outside;
    if (!pair_.right_mask.empty() && pair_.right_mask.at(nearest, y) == 0) return model_.outside;
    const int inside = std::max(quarter, 0), column = inside % 4 * size_.width + inside / 4;
    const std::uint64_t differences = features_.signature.at(x, y) ^ features_.right_signature.at(column, y);
    const int bits = std::popcount(differences & features_.alike.at(x, y));
    const int levels = features_.levels.at(x, y), others = features_.right_levels.at(column, y);
    return model_.census_cost(bits, features_.bit_cost.at(x, y)) +
           model_.level_cost * std::min(std::abs((levels & 255) - (others & 255)), max_levels) +
           model_.gradient_cost * std::min(std::abs((levels >> 8) - (others >> 8)), max_gradient);
  }

  void expand(const StereoPair& pair) override {
    pair_ = pair;
    for_each_pixel(size_, [&](int x, int y) {
      planes_.data.at(x, y) = static_cast<std::int16_t>(data_cost(x, y, planes_.disparity.at(x, y)));
    });
    for_each_grid(model_.parameters, size_, [&](const CellGrid& grid) {
      for (int index = 0; index < grid.count(); ++index) {
        stop_if_cancelled();
        const Cell cell = grid.cell(index);
        Offers offered(cell, grid.step);
        for (int i = 0; i < offers; ++i) move({cell.region, offered.next(i, planes_)});
      }
    });
  }

  Choice& choice(const Region& region, int x, int y) const {
    return choices_[(y - region.box.top) * region.box.width() + x - region.box.left];
  }
  template <class Visit>
  static void for_each(const Region& region, const Visit& visit) {
    for (int y = region.box.top; y < region.box.bottom; ++y)
      for (int x = region.box.left; x < region.box.right; ++x) visit(x, y);
  }
  static Plane offered_at(const Region& region, int x, int y) {
    Plane plane = region.offered;
    plane.disparity = plane.at(x - region.box.left, y - region.box.top);
    return plane;
  }

  // The cost of planes `p` of a pixel, and `q` of the one some columns and rows from it.
  int jump(const Plane& p, const Plane& q, int columns, int rows, int weight) const {
    return jump_cost(
        model_, std::abs(p.disparity - q.at(-columns, -rows)) + std::abs(p.at(columns, rows) - q.disparity),
        weight);
  }

  // The edge from the pixel (x − columns, y − rows) to (x, y).
  Edge edge_to(const Region& region, int x, int y, int columns, int rows) const {
    const int i = x - columns, j = y - rows;
    const int weight = columns > 0 ? features_.edge_before.at(x, y) : features_.edge_above.at(x, y);
    const Plane first = planes_.at(i, j), second = planes_.at(x, y);
    const Plane new_first = offered_at(region, i, j), new_second = offered_at(region, x, y);
    return {jump(first, second, columns, rows, weight), jump(first, new_second, columns, rows, weight),
            jump(new_first, second, columns, rows, weight)};
  }

  void prepare_move(const Region& region) const {
    const Box& box = region.box;
    for_each(region, [&](int x, int y) {
      const int data = data_cost(x, y, offered_at(region, x, y).disparity);
      choice(region, x, y) = {.data = data, .unary = data - planes_.data.at(x, y)};
    });
    // Pixels outside the region keep their planes.
    const auto add = [&](int x, int y, int columns, int rows, Edge Choice::*place) {
      const int i = x - columns, j = y - rows;
      if (i < 0 || j < 0 || x >= size_.width || y >= size_.height) return;
      const Edge edge = edge_to(region, x, y, columns, rows);
      const bool first_inside = i >= box.left && j >= box.top,
                 second_inside = x < box.right && y < box.bottom;
      if (first_inside && second_inside) choice(region, x, y).*place = edge;
      if (!first_inside) choice(region, x, y).unary += edge.second_takes - edge.both_keep;
      if (!second_inside) choice(region, i, j).unary += edge.first_takes - edge.both_keep;
    };
    for (int y = box.top; y < box.bottom; ++y)
      for (int x = box.left; x <= box.right; ++x) add(x, y, 1, 0, &Choice::before);
    for (int y = box.top; y <= box.bottom; ++y)
      for (int x = box.left; x < box.right; ++x) add(x, y, 0, 1, &Choice::above);
  }

  // The message along an edge: what taking the new plane costs the receiver more than keeping the old one,
  // where that is `taking` for the sender. `alone`: cost of the edge if only the receiver takes it.
  static int message(int taking, int alone, const Edge& edge) {
    const int sender_alone = edge.first_takes + edge.second_takes - alone;
    return std::min(alone, taking) - std::min(edge.both_keep, sender_alone + taking);
  }
  static int belief(const Choice& c) {
    return c.unary + c.from_left + c.from_right + c.from_above + c.from_below;
  }

  // Sweeps downwards, upwards, to the right and to the left; each from the newest messages.
  void send_messages(const Region& region) const {
    const Box& box = region.box;
    for (int y = box.top; y + 1 < box.bottom; ++y)
      for (int x = box.left; x < box.right; ++x) {
        const Choice& c = choice(region, x, y);
        Choice& below = choice(region, x, y + 1);
        below.from_above = message(belief(c) - c.from_below, below.above.second_takes, below.above);
      }
    for (int y = box.bottom; --y > box.top;)
      for (int x = box.left; x < box.right; ++x) {
        const Choice& c = choice(region, x, y);
        choice(region, x, y - 1).from_below = message(belief(c) - c.from_above, c.above.first_takes, c.above);
      }
    for (int x = box.left; x + 1 < box.right; ++x)
      for (int y = box.top; y < box.bottom; ++y) {
        const Choice& c = choice(region, x, y);
        Choice& next = choice(region, x + 1, y);
        next.from_left = message(belief(c) - c.from_right, next.before.second_takes, next.before);
      }
    for (int x = box.right; --x > box.left;)
      for (int y = box.top; y < box.bottom; ++y) {
        const Choice& c = choice(region, x, y);
        choice(region, x - 1, y).from_right =
            message(belief(c) - c.from_left, c.before.first_takes, c.before);
      }
  }

  // The cost of an edge less that of keeping both planes.
  static int change(const Edge& edge, bool first_takes, bool second_takes) {
    const int now = first_takes ? (second_takes ? 0 : edge.first_takes)
                                : (second_takes ? edge.second_takes : edge.both_keep);
    return now - edge.both_keep;
  }

  void move(const Region& region) const {
    const Box& box = region.box;
    prepare_move(region);
    for (int i = 0; i < move_iterations; ++i) send_messages(region);
    for_each(region, [&](int x, int y) { choice(region, x, y).takes = belief(choice(region, x, y)) < 0; });
    int energy = 0;
    for_each(region, [&](int x, int y) {
      const Choice& c = choice(region, x, y);
      if (c.takes) energy += c.unary;
      if (x > box.left) energy += change(c.before, choice(region, x - 1, y).takes, c.takes);
      if (y > box.top) energy += change(c.above, choice(region, x, y - 1).takes, c.takes);
    });
    if (energy >= 0) return;
    for_each(region, [&](int x, int y) {
      const Choice& c = choice(region, x, y);
      if (c.takes) planes_.set(x, y, offered_at(region, x, y), c.data);
    });
  }

  StereoPair pair_;
  View<std::uint16_t> samples_[2][4], shifted_;
  Choice* choices_ = nullptr;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const PlanesParameters& parameters, const Device& device,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, device, format);
}

}  // namespace parallax::planes
