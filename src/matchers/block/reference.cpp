// SPDX-License-Identifier: Apache-2.0
// The specification of block matching, written directly from block.h: every window is summed separately. Slow
// on purpose.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/gray.h"
#include "core/label_space.h"
#include "matchers/block/block.h"
#include "matchers/host_plan.h"
#include "refine/confidence.h"
#include "refine/refine.h"
#include "refine/sub_pixel.h"

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
        search_(plan_search(parameters, format)) {
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
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    prepare(pair.left, 0);
    prepare(pair.right, 1);
    clock.finish("prepare");
    left_mask_ = pair.left_mask;
    right_mask_ = pair.right_mask;
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) match_left(x, y, map);
    clock.finish("search");
    if (!checks_left_right_) return;
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

  struct Winner {
    Offset label;
    std::int64_t cost;
  };

  // The cheapest candidate of row offset v, ties to the lowest; with `from_right`, of the right pixel (x, y).
  std::optional<Winner> cheapest(int x, int y, int v, bool from_right) const {
    std::optional<Winner> best;
    for (int d = search_.lowest; d < label_end(); ++d) {
      const int left_x = from_right ? x + d : x, left_y = from_right ? y - v : y;
      if (!candidate(left_x, left_y, {d, v})) continue;
      const std::int64_t c = cost(left_x, left_y, {d, v});
      if (!best || c < best->cost) best = Winner{{d, v}, c};
    }
    return best;
  }

  std::optional<Winner> winner(int x, int y, bool from_right) const {
    std::optional<Winner> best;
    for (int v = -search_.rows; v <= search_.rows; ++v) {
      const std::optional<Winner> own = cheapest(x, y, v, from_right);
      if (own && (!best || own->cost < best->cost)) best = own;
    }
    return best;
  }

  float match_right(int x, int y) const {
    const std::optional<Winner> best = winner(x, y, true);
    return best ? static_cast<float>(best->label.x) : no_value;
  }

  bool textureless(int x, int y) const {
    // The response at a repeated border pixel is the response at the border.
    const auto response = [&](int i, int j) -> std::int64_t {
      const int u = std::clamp(x + i, 0, size_.width - 1), v = std::clamp(y + j, 0, size_.height - 1);
      return std::abs(clipped_sobel(gray(0), u, v, parameters_.prefilter_cap));
    };
    return parameters_.texture_threshold > 0 && window_sum(response) < parameters_.texture_threshold;
  }

  std::optional<std::int64_t> rival(int x, int y, Offset best) const {
    std::optional<std::int64_t> lowest;
    const auto offer = [&](std::int64_t c) { lowest = std::min(lowest.value_or(c), c); };
    for (int d = search_.lowest; d < label_end(); ++d)
      if (std::abs(d - best.x) > 1 && candidate(x, y, {d, best.y})) offer(cost(x, y, {d, best.y}));
    for (int v = -search_.rows; v <= search_.rows; ++v)
      if (const auto other = cheapest(x, y, v, false); std::abs(v - best.y) > 1 && other) offer(other->cost);
    return lowest;
  }

  bool ambiguous(int x, int y, const Winner& best) const {
    if (parameters_.uniqueness == 0) return false;
    const auto bound = static_cast<std::int64_t>(
        refine::ambiguity_bound(static_cast<std::uint64_t>(best.cost), parameters_.uniqueness));
    const std::optional<std::int64_t> other = rival(x, y, best.label);
    return other && *other <= bound;
  }

  float refined_disparity(int x, int y, const Winner& best) const {
    const auto [d, v] = best.label;
    const bool inside = d > search_.lowest && d + 1 < label_end() && candidate(x, y, {d - 1, v}) &&
                        candidate(x, y, {d + 1, v});
    if (!inside) return static_cast<float>(d);
    return refined(d, cost(x, y, {d - 1, v}), best.cost, cost(x, y, {d + 1, v}));
  }

  float refined_row_offset(int x, int y, const Winner& best) const {
    const int v = best.label.y;
    if (std::abs(v) == search_.rows) return static_cast<float>(v);
    const std::optional<Winner> before = cheapest(x, y, v - 1, false), after = cheapest(x, y, v + 1, false);
    if (!before || !after) return static_cast<float>(v);
    return refined(v, before->cost, best.cost, after->cost);
  }

  float refined(int value, std::int64_t before, std::int64_t best, std::int64_t after) const {
    if (parameters_.sub_pixel == SubPixel::none) return static_cast<float>(value);
    return static_cast<float>(value) +
           refine::sub_pixel_offset(parameters_.sub_pixel, before, best, after).value();
  }

  void match_left(int x, int y, const DisparityMap& map) const {
    const std::optional<Winner> best = winner(x, y, false);
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
    map.disparity.at(x, y) = matched ? refined_disparity(x, y, *best) : no_value;
    if (!map.row_offset.empty())
      map.row_offset.at(x, y) = matched ? refined_row_offset(x, y, *best) : no_value;
    if (!map.confidence.empty())
      map.confidence.at(x, y) = best ? refine::confidence(best->cost, rival(x, y, best->label)) : 0;
  }

  BlockParameters parameters_;
  Search search_;
  View<std::uint16_t> gray_[2], filtered_[2];
  View<const std::uint8_t> left_mask_, right_mask_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const BlockParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format);
}

}  // namespace parallax::block
