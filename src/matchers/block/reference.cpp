// SPDX-License-Identifier: Apache-2.0
// The specification of block matching, written directly from block.h: every window is summed separately. Slow
// on purpose.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "core/gray.h"
#include "core/label_space.h"
#include "decision/confidence.h"
#include "decision/sub_pixel.h"
#include "matchers/block/block.h"
#include "matchers/host_plan.h"
#include "refine/refine.h"
#include "rows/row_votes.h"

namespace parallax::block {
namespace {

using refine::code;
using refine::no_value;

// A gray image extended without limit by repeating its border pixels.
struct Extended {
  View<const std::uint16_t> image;
  int at(int x, int y) const {
    return image.at(std::clamp(x, 0, image.size.width - 1), std::clamp(y, 0, image.size.height - 1));
  }
};

// Horizontal Sobel response, clipped to ±cap.
int clipped_sobel(const Extended& p, int x, int y, int cap) {
  const auto slope = [&](int row) { return p.at(x + 1, row) - p.at(x - 1, row); };
  return std::clamp(slope(y - 1) + 2 * slope(y) + slope(y + 1), -cap, cap);
}

class Reference final : public host::Plan {
 public:
  Reference(const BlockParameters& parameters, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size),
        parameters_(parameters),
        search_(plan_search(parameters, format)),
        votes_{{format.size, search_.rows, parameters.row_prior},
               {format.size, search_.rows, parameters.row_prior}} {
    plan_memory(parameters.row_tolerance > 0);
  }

  CostCurve cost_curve(int x, int y) const override {
    CostCurve curve;
    for (int d = search_.lowest; d < label_end(); ++d) {
      float lowest = no_value;
      for (int v = -search_.rows; v <= search_.rows; ++v)
        if (candidate(x, y, {d, v})) lowest = std::min(lowest, static_cast<float>(cost(x, y, {d, v})));
      curve.data_costs.push_back(lowest);
    }
    return curve;
  }

 private:
  void reserve(Arena& arena) override {
    for (auto* plane : {&gray_[0], &gray_[1], &filtered_[0], &filtered_[1]})
      *plane = arena.reserve_plane<std::uint16_t>(size_);
    for (int side = 0; side < 2; ++side) {
      cheapest_[side].resize(static_cast<std::size_t>(2 * search_.rows + 1));
      for (auto& plane : cheapest_[side]) plane = arena.reserve_plane<Winner>(size_);
      votes_[side].reserve(arena);
    }
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    prepare(pair.left, 0);
    prepare(pair.right, 1);
    clock.finish("prepare");
    left_mask_ = pair.left_mask;
    right_mask_ = pair.right_mask;
    search(0);
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) match_left(x, y, map);
    clock.finish("search");
    if (!checks_left_right_) return;
    search(1);
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) right_disparity_.at(x, y) = match_right(x, y);
    clock.finish("right_search");
  }

  Extended gray(int side) const { return {gray_[side]}; }
  Extended filtered(int side) const {
    return {(parameters_.prefilter == Prefilter::none ? gray_ : filtered_)[side]};
  }

  void prepare(const ImageView& image, int side) {
    for (int y = 0; y < size_.height; ++y) gray_row(image, y, gray_[side].row(y));
    const int cap = parameters_.prefilter_cap;
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x)
        filtered_[side].at(x, y) = static_cast<std::uint16_t>(clipped_sobel(gray(side), x, y, cap) + cap);
  }

  template <class Term>
  std::int64_t window_sum(const Term& term) const {
    const int radius = parameters_.window / 2;
    std::int64_t sum = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) sum += term(i, j);
    return sum;
  }

  std::int64_t cost(int x, int y, Offset label) const {
    const Extended left = filtered(0), right = filtered(1);
    const auto l = [&](int i, int j) -> std::int64_t { return left.at(x + i, y + j); };
    const auto r = [&](int i, int j) -> std::int64_t { return right.at(x + i - label.x, y + j + label.y); };
    if (parameters_.cost == BlockCost::sad)
      return window_sum([&](int i, int j) { return std::abs(l(i, j) - r(i, j)); });
    if (parameters_.cost == BlockCost::ssd)
      return window_sum([&](int i, int j) { return (l(i, j) - r(i, j)) * (l(i, j) - r(i, j)); });
    const std::int64_t n = parameters_.window * parameters_.window;
    const std::int64_t sum_l = window_sum(l), sum_r = window_sum(r);
    const std::int64_t sum_ll = window_sum([&](int i, int j) { return l(i, j) * l(i, j); });
    const std::int64_t sum_rr = window_sum([&](int i, int j) { return r(i, j) * r(i, j); });
    const std::int64_t sum_lr = window_sum([&](int i, int j) { return l(i, j) * r(i, j); });
    const double correlation = static_cast<double>(n * sum_lr - sum_l * sum_r) *
                               inverse_root(n * sum_ll - sum_l * sum_l) *
                               inverse_root(n * sum_rr - sum_r * sum_r);
    return static_cast<std::int64_t>(
        std::floor((1.0 - std::clamp(correlation, -1.0, 1.0)) * zncc_unit + 0.5));
  }

  static double inverse_root(std::int64_t variance) {
    return variance > 0 ? 1.0 / std::sqrt(static_cast<double>(variance)) : 0.0;
  }

  bool contains(int x, int y) const { return x >= 0 && x < size_.width && y >= 0 && y < size_.height; }

  // Whether left (x, y) may match right (x − d, y + v).
  bool candidate(int x, int y, Offset label) const {
    const int right_x = x - label.x, right_y = y + label.y;
    if (!contains(x, y) || !contains(right_x, right_y)) return false;
    return (left_mask_.empty() || left_mask_.at(x, y) != 0) &&
           (right_mask_.empty() || right_mask_.at(right_x, right_y) != 0);
  }

  int label_end() const { return search_.lowest + search_.labels; }

  // The cheapest candidate of a pixel of that side in one row.
  struct Winner {
    int disparity;
    std::int64_t cost;  // no_cost = there is none
  };
  static constexpr std::int64_t no_cost = std::numeric_limits<std::int64_t>::max();

  // Ties go to the lowest.
  Winner cheapest_of(int side, int x, int y, int v) const {
    Winner best{0, no_cost};
    for (int d = search_.lowest; d < label_end(); ++d) {
      const int left_x = side == 0 ? x : x + d, left_y = side == 0 ? y : y - v;
      if (!candidate(left_x, left_y, {d, v})) continue;
      const std::int64_t c = cost(left_x, left_y, {d, v});
      if (c < best.cost) best = {d, c};
    }
    return best;
  }

  Winner& cheapest(int side, int x, int y, int v) const {
    return cheapest_[side][static_cast<std::size_t>(v + search_.rows)].at(x, y);
  }

  bool votes(int side, int x, int y) const {
    for (int v = -search_.rows; v <= search_.rows; ++v)
      if (cheapest(side, x, y, v).cost == no_cost) return false;
    return true;
  }

  void search(int side) {
    const rows::RowVotes& votes = votes_[side];
    for (int square_y = 0; square_y < votes.squares().height; ++square_y)
      for (int square_x = 0; square_x < votes.squares().width; ++square_x)
        std::fill_n(votes.own(square_x, square_y), votes.offsets(), 0);
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) {
        for (int v = -search_.rows; v <= search_.rows; ++v)
          cheapest(side, x, y, v) = cheapest_of(side, x, y, v);
        if (!this->votes(side, x, y)) continue;
        for (int v = -search_.rows; v <= search_.rows; ++v)
          votes.own(x / votes.side, y / votes.side)[v + search_.rows] += cheapest(side, x, y, v).cost;
      }
    votes.settle();
  }

  // The label of a pixel; empty where it has no candidate.
  std::optional<Offset> winner(int side, int x, int y) const {
    const std::int8_t* order = votes_[side].preferred(x / rows::RowVotes::side, y / rows::RowVotes::side);
    for (int i = 0; i < votes_[side].offsets(); ++i)
      if (const Winner& own = cheapest(side, x, y, order[i]); own.cost != no_cost)
        return Offset{own.disparity, order[i]};
    return std::nullopt;
  }

  float match_right(int x, int y) const {
    const std::optional<Offset> best = winner(1, x, y);
    return best ? static_cast<float>(best->x) : no_value;
  }

  bool textureless(int x, int y) const {
    // The response at a repeated border pixel is the response at the border.
    const auto response = [&](int i, int j) -> std::int64_t {
      const int u = std::clamp(x + i, 0, size_.width - 1), v = std::clamp(y + j, 0, size_.height - 1);
      return std::abs(clipped_sobel(gray(0), u, v, parameters_.prefilter_cap));
    };
    return parameters_.texture_threshold > 0 && window_sum(response) < parameters_.texture_threshold;
  }

  bool ambiguous(int x, int y, Offset best) const {
    if (parameters_.uniqueness == 0) return false;
    const auto bound = static_cast<std::int64_t>(
        refine::ambiguity_bound(static_cast<std::uint64_t>(cost(x, y, best)), parameters_.uniqueness));
    const std::optional<std::int64_t> other = rival(x, y, best);
    return other && *other <= bound;
  }

  // The lowest cost of a candidate in the same row, more than one away.
  std::optional<std::int64_t> rival(int x, int y, Offset best) const {
    std::optional<std::int64_t> lowest;
    for (int d = search_.lowest; d < label_end(); ++d)
      if (std::abs(d - best.x) > 1 && candidate(x, y, {d, best.y}))
        lowest = std::min(lowest.value_or(cost(x, y, {d, best.y})), cost(x, y, {d, best.y}));
    return lowest;
  }

  float confidence(int x, int y, Offset best) const {
    return refine::confidence(cost(x, y, best), rival(x, y, best));
  }

  float refined(int x, int y, Offset best) const {
    const auto [d, v] = best;
    const bool inside = d > search_.lowest && d + 1 < label_end() && candidate(x, y, {d - 1, v}) &&
                        candidate(x, y, {d + 1, v});
    if (parameters_.sub_pixel == SubPixel::none || !inside) return static_cast<float>(d);
    const refine::Fraction offset = refine::sub_pixel_offset(parameters_.sub_pixel, cost(x, y, {d - 1, v}),
                                                             cost(x, y, best), cost(x, y, {d + 1, v}));
    return static_cast<float>(d) + offset.value();
  }

  float row_offset(int x, int y, int v) const {
    constexpr int side = rows::RowVotes::side;
    return static_cast<float>(v) + votes_[0].fraction(x / side, y / side, v, parameters_.sub_pixel);
  }

  void match_left(int x, int y, const DisparityMap& map) const {
    const std::optional<Offset> best = winner(0, x, y);
    Status status = Status::matched;
    if (!left_mask_.empty() && left_mask_.at(x, y) == 0)
      status = Status::input_masked;
    else if (!best)
      status = Status::out_of_range;
    else if (textureless(x, y))
      status = Status::textureless;
    else if (ambiguous(x, y, *best))
      status = Status::ambiguous;
    const bool matched = status == Status::matched;
    map.status.at(x, y) = code(status);
    map.disparity.at(x, y) = matched ? refined(x, y, *best) : no_value;
    if (!map.row_offset.empty()) map.row_offset.at(x, y) = matched ? row_offset(x, y, best->y) : no_value;
    if (!map.confidence.empty()) map.confidence.at(x, y) = best ? confidence(x, y, *best) : 0;
  }

  BlockParameters parameters_;
  Search search_;
  rows::RowVotes votes_[2];                // [left, right]
  std::vector<View<Winner>> cheapest_[2];  // by row offset
  View<std::uint16_t> gray_[2], filtered_[2];
  View<const std::uint8_t> left_mask_, right_mask_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const BlockParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format);
}

}  // namespace parallax::block
