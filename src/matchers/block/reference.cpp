// SPDX-License-Identifier: Apache-2.0
// The specification of block matching, written directly from block.h: every window is summed separately. Slow
// on purpose.

#include <cmath>

#include "core/gray.h"
#include "matchers/block/block.h"
#include "matchers/lowest_cost_reference.h"

namespace parallax::block {
namespace {

// A gray image extended without limit by repeating its border pixels.
struct Extended {
  View<const std::uint16_t> image;
  int at(int x, int y) const {
    return image.at(std::clamp(x, 0, image.size.width - 1), std::clamp(y, 0, image.size.height - 1));
  }
};

// Horizontal Sobel response in 8-bit gray levels, clipped to ±cap. That of 16-bit images is rounded to nearest,
// halves up.
int clipped_sobel(const Extended& p, BitDepth depth, int x, int y, int cap) {
  const auto slope = [&](int row) { return p.at(x + 1, row) - p.at(x - 1, row); };
  const int response = slope(y - 1) + 2 * slope(y) + slope(y + 1);
  return std::clamp(depth == BitDepth::bits8 ? response : (response + 128) >> 8, -cap, cap);
}

class Reference final : public host::LowestCostReference<std::int64_t, BlockParameters> {
 public:
  Reference(const BlockParameters& parameters, const Search& search, const ImageFormat& format)
      : LowestCostReference(parameters, format.size, {search.lowest, search.lowest + search.labels - 1}),
        depth_(format.depth),
        rows_(search.rows) {
    plan_memory(parameters.row_tolerance > 0);
  }

  CostCurve cost_curve(int x, int y) const override {
    CostCurve curve;
    for (int d = disparities_.lowest; d <= disparities_.highest; ++d)
      curve.data_costs.push_back(lowest_cost(x, y, d));
    return curve;
  }

 private:
  void reserve(Arena& arena) override {
    for (int side : {left_side, right_side}) {
      gray_[side] = arena.reserve_plane<std::uint16_t>(size_);
      filtered_[side] = arena.reserve_plane<std::uint16_t>(size_);
      clear_levels(side);
      reserve_level(side, size_, rows_, arena);
    }
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    prepare(pair.left, left_side);
    prepare(pair.right, right_side);
    clock.finish("prepare");
    left_mask_ = pair.left_mask;
    right_mask_ = pair.right_mask;
    search(0, left_side);
    decide_left(map);
    clock.finish("search");
    if (!checks_left_right_) return;
    search(0, right_side);
    decide_right();
    clock.finish("right_search");
  }

  Extended gray(int side) const { return {gray_[side]}; }
  Extended filtered(int side) const {
    return {(parameters_.prefilter == Prefilter::none ? gray_ : filtered_)[side]};
  }

  void prepare(const ImageView& image, int side) {
    for (int y = 0; y < size_.height; ++y) gray_row(image, y, gray_[side].row(y));
    const int cap = parameters_.prefilter_cap;
    stop_if_cancelled();
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x)
        filtered_[side].at(x, y) =
            static_cast<std::uint16_t>(clipped_sobel(gray(side), depth_, x, y, cap) + cap);
  }

  template <class Term>
  std::int64_t window_sum(const Term& term) const {
    const int radius = parameters_.window / 2;
    std::int64_t sum = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) sum += term(i, j);
    return sum;
  }

  std::int64_t cost(int, int x, int y, Offset label) const override {
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

  Interval interval(int, int, int, int) const override { return disparities_; }

  bool contains(int x, int y) const { return x >= 0 && x < size_.width && y >= 0 && y < size_.height; }
  bool candidate(int, int x, int y, Offset label) const override {
    const int right_x = x - label.x, right_y = y + label.y;
    return contains(x, y) && contains(right_x, right_y) && !masked(x, y) &&
           (right_mask_.empty() || right_mask_.at(right_x, right_y) != 0);
  }
  bool masked(int x, int y) const override { return !left_mask_.empty() && left_mask_.at(x, y) == 0; }

  bool textureless(int x, int y) const override {
    // The response at a repeated border pixel is the response at the border.
    const auto response = [&](int i, int j) -> std::int64_t {
      const int u = std::clamp(x + i, 0, size_.width - 1), v = std::clamp(y + j, 0, size_.height - 1);
      return std::abs(clipped_sobel(gray(0), depth_, u, v, parameters_.prefilter_cap));
    };
    return parameters_.texture_threshold > 0 && window_sum(response) < parameters_.texture_threshold;
  }

  BitDepth depth_;
  int rows_;  // searched up and down
  View<std::uint16_t> gray_[2], filtered_[2];
  View<const std::uint8_t> left_mask_, right_mask_;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const BlockParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, plan_search(parameters, format), format);
}

}  // namespace parallax::block
