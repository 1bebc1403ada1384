// SPDX-License-Identifier: Apache-2.0
// Base of the references of block and census matching: a pixel takes the label of the lowest cost in the row
// offset that its neighbourhood prefers (rows/row_votes.h). A method without a pyramid has level 0 only.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "core/label_space.h"
#include "decision/confidence.h"
#include "decision/sub_pixel.h"
#include "matchers/host_plan.h"
#include "refine/refine.h"
#include "rows/row_votes.h"

namespace parallax::host {

template <class Cost, class Parameters>
class LowestCostReference : public Plan {
 protected:
  static constexpr int left_side = 0, right_side = 1;

  // Disparities from `lowest` to `highest`; empty if highest < lowest.
  struct Interval {
    int lowest, highest;
    bool contains(int disparity) const { return disparity >= lowest && disparity <= highest; }
  };

  // `disparities`: the disparities of the image that any pixel searches.
  LowestCostReference(const Parameters& parameters, Size size, Interval disparities)
      : Plan(parameters.refine, size), parameters_(parameters), disparities_(disparities) {}

  // The disparities that a pixel of that side searches.
  virtual Interval interval(int level, int side, int x, int y) const = 0;
  // Whether left (x, y) may match right (x − d, y + v), and what that costs.
  virtual bool candidate(int level, int x, int y, Offset label) const = 0;
  virtual Cost cost(int level, int x, int y, Offset label) const = 0;
  virtual bool masked(int x, int y) const = 0;
  virtual bool textureless(int, int) const { return false; }
  // Whether a row offset of a pixel goes before those for which this is false, whatever the votes.
  virtual bool goes_first(int, int, int, int, int) const { return true; }

  static constexpr int square = rows::RowVotes::side;
  const rows::RowVotes& votes(int level, int side) const { return searched(level, side).votes; }

  // Forgets the levels of a side.
  void clear_levels(int side) { searched_[side].clear(); }
  // Adds the next level of a side. `rows`: searched up and down.
  void reserve_level(int side, Size size, int rows, Arena& arena) {
    Searched level{size, rows, {}, rows::RowVotes(size, rows, parameters_.row_prior)};
    for (int v = -rows; v <= rows; ++v) level.cheapest.push_back(arena.reserve_plane<Cheapest>(size));
    level.votes.reserve(arena);
    searched_[side].push_back(level);
  }

  void search(int level, int side) const {
    const Searched& own = searched(level, side);
    for (int row = 0; row < own.votes.squares().height; ++row)
      for (int column = 0; column < own.votes.squares().width; ++column)
        std::fill_n(own.votes.own(column, row), own.votes.offsets(), 0);
    for (int y = 0; y < own.size.height; ++y) {
      stop_if_cancelled();
      for (int x = 0; x < own.size.width; ++x) {
        bool in_all_rows = true;
        for (int v = -own.rows; v <= own.rows; ++v) {
          own.at(x, y, v) = cheapest_of(level, side, x, y, v);
          in_all_rows = in_all_rows && own.at(x, y, v).cost != no_cost;
        }
        for (int v = -own.rows; in_all_rows && v <= own.rows; ++v)
          own.votes.own(x / square, y / square)[v + own.rows] += own.at(x, y, v).cost;
      }
    }
    own.votes.settle();
  }

  // The label of a pixel of that side; empty where it has no candidate.
  std::optional<Offset> winner(int level, int side, int x, int y) const {
    const Searched& all = searched(level, side);
    const std::int8_t* preferred = all.votes.preferred(x / square, y / square);
    for (const bool first : {true, false})
      for (int i = 0; i < all.votes.offsets(); ++i)
        if (const int v = preferred[i]; goes_first(level, side, x, y, v) == first)
          if (const Cheapest& own = all.at(x, y, v); own.cost != no_cost) return Offset{own.disparity, v};
    return std::nullopt;
  }

  void decide_left(const DisparityMap& map) const {
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) decide(x, y, map);
  }

  void decide_right() const {
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) {
        const std::optional<Offset> best = winner(0, right_side, x, y);
        right_disparity_.at(x, y) = best ? static_cast<float>(best->x) : decision::no_value;
      }
  }

  // The lowest cost of a disparity in any row.
  float lowest_cost(int x, int y, int disparity) const {
    const int rows = searched(0, left_side).rows;
    float lowest = decision::no_value;
    for (int v = -rows; v <= rows; ++v)
      if (candidate(0, x, y, {disparity, v}))
        lowest = std::min(lowest, static_cast<float>(cost(0, x, y, {disparity, v})));
    return lowest;
  }

  const Parameters parameters_;
  const Interval disparities_;

 private:
  static constexpr Cost no_cost = std::numeric_limits<Cost>::max();

  // The cheapest candidate of a pixel in one row.
  struct Cheapest {
    int disparity;
    Cost cost;  // no_cost = there is none
  };
  // The results of a search of one side at one level.
  struct Searched {
    Size size;
    int rows;
    std::vector<View<Cheapest>> cheapest;  // by row offset
    rows::RowVotes votes;
    Cheapest& at(int x, int y, int v) const { return cheapest[to_size(v + rows)].at(x, y); }
  };

  const Searched& searched(int level, int side) const { return searched_[side][to_size(level)]; }

  // Ties go to the lowest disparity.
  Cheapest cheapest_of(int level, int side, int x, int y, int v) const {
    const Interval own = interval(level, side, x, y);
    Cheapest best{0, no_cost};
    for (int d = own.lowest; d <= own.highest; ++d) {
      const int left_x = side == left_side ? x : x + d, left_y = side == left_side ? y : y - v;
      if (!candidate(level, left_x, left_y, {d, v})) continue;
      const Cost c = cost(level, left_x, left_y, {d, v});
      if (c < best.cost) best = {d, c};
    }
    return best;
  }

  // The lowest cost of a candidate in the same row, more than one away.
  std::optional<Cost> rival(int x, int y, Offset best) const {
    const Interval own = interval(0, left_side, x, y);
    std::optional<Cost> lowest;
    for (int d = own.lowest; d <= own.highest; ++d) {
      if (std::abs(d - best.x) <= 1 || !candidate(0, x, y, {d, best.y})) continue;
      const Cost c = cost(0, x, y, {d, best.y});
      lowest = std::min(lowest.value_or(c), c);
    }
    return lowest;
  }

  bool ambiguous(int x, int y, Offset best) const {
    if (parameters_.uniqueness == 0) return false;
    const std::optional<Cost> other = rival(x, y, best);
    return other && *other <= decision::ambiguity_bound(cost(0, x, y, best), parameters_.uniqueness);
  }

  // The costs next to the best are used whether they were searched or not. If one of them is lower, the
  // minimum lies at the border of the searched interval, and is not refined.
  float refined(int x, int y, Offset label) const {
    const auto [d, v] = label;
    const auto integer = static_cast<float>(d);
    if (parameters_.sub_pixel == SubPixel::none || d == disparities_.lowest || d == disparities_.highest ||
        !candidate(0, x, y, {d - 1, v}) || !candidate(0, x, y, {d + 1, v}))
      return integer;
    const Cost before = cost(0, x, y, {d - 1, v}), best = cost(0, x, y, label),
               after = cost(0, x, y, {d + 1, v});
    if (before < best || after < best || (before == best && after == best)) return integer;
    return integer + decision::sub_pixel_offset(parameters_.sub_pixel, before, best, after).value();
  }

  float row_offset(int x, int y, int v) const {
    return static_cast<float>(v) +
           votes(0, left_side).fraction(x / square, y / square, v, parameters_.sub_pixel);
  }

  void decide(int x, int y, const DisparityMap& map) const {
    const std::optional<Offset> best = winner(0, left_side, x, y);
    Status status = Status::matched;
    if (masked(x, y))
      status = Status::input_masked;
    else if (!best)
      status = Status::out_of_range;
    else if (textureless(x, y))
      status = Status::textureless;
    else if (ambiguous(x, y, *best))
      status = Status::ambiguous;
    const bool matched = status == Status::matched;
    map.status.at(x, y) = decision::code(status);
    map.disparity.at(x, y) = matched ? refined(x, y, *best) : decision::no_value;
    if (!map.row_offset.empty())
      map.row_offset.at(x, y) = matched ? row_offset(x, y, best->y) : decision::no_value;
    if (!map.confidence.empty())
      map.confidence.at(x, y) = best ? decision::confidence(cost(0, x, y, *best), rival(x, y, *best)) : 0;
  }

  std::vector<Searched> searched_[2];  // [side][level]
};

}  // namespace parallax::host
