// SPDX-License-Identifier: Apache-2.0
// The specification of census matching, written directly from census.h: every window is summed separately. It
// is slow on purpose.

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <optional>

#include "core/gray.h"
#include "decision/confidence.h"
#include "decision/sub_pixel.h"
#include "matchers/census/census.h"
#include "matchers/host_plan.h"
#include "refine/refine.h"
#include "rows/row_votes.h"

namespace parallax::census {
namespace {

using refine::code;
using refine::no_value;
using Signature = std::bitset<8 * max_signature_bytes>;

struct Label {
  int disparity, row_offset;
};

// The candidate of the lowest cost of a pixel in one row.
struct Winner {
  int disparity;  // no_disparity = there is none
  int cost;
};

// Data of one level of one image.
struct ReferencePlanes {
  View<std::uint16_t> gray;
  View<std::uint8_t> mask;  // not 0 = valid
  View<Signature> signatures;
  View<std::int32_t> disparity;
  std::vector<View<Winner>> cheapest;  // by row offset
  rows::RowVotes votes;
};

// Disparities from `lowest` to `highest`; empty if highest < lowest.
struct Interval {
  int lowest, highest;
};

template <class T>
T repeated(const View<T>& plane, int x, int y) {
  return plane.at(std::clamp(x, 0, plane.size.width - 1), std::clamp(y, 0, plane.size.height - 1));
}

class Reference final : public host::Plan, public CensusPlan {
 public:
  Reference(const CensusParameters& parameters, const ImageFormat& format)
      : host::Plan(parameters.refine, format.size),
        parameters_(parameters),
        levels_(plan_levels(parameters, format.size)),
        depth_(format.depth),
        neighbourhood_(neighbourhood(parameters.transform)) {
    plan_memory(parameters.row_tolerance > 0);
  }

  const std::vector<Level>& levels() const override { return levels_; }

  CostCurve cost_curve(int x, int y) const override {
    const Level& full = levels_.front();
    const Interval searched = interval(0, left_side, x, y);
    CostCurve curve;
    for (int d = full.lowest; d <= full.highest(); ++d) {
      float own = no_value;
      for (int v = -full.rows; v <= full.rows; ++v)
        if (candidate(0, x, y, {d, v})) own = std::min(own, static_cast<float>(cost(0, x, y, {d, v})));
      curve.data_costs.push_back(own);
      curve.totals.push_back(searched.lowest <= d && d <= searched.highest ? own : no_value);
    }
    return curve;
  }

  Stage stage(int level, int side) const override {
    const Size size = levels_[index(level)].size;
    const bool estimates = level > 0 && searches(side);
    Stage stage{Plane<std::uint16_t>(size), {}, Plane<std::int32_t>(estimates ? size : Size{})};
    for (int byte = 0; byte < neighbourhood_.bytes(); ++byte) stage.signature.emplace_back(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        stage.gray.at(x, y) = gray(level, side).at(x, y);
        for (std::size_t bit = 0; bit < neighbourhood_.neighbours.size(); ++bit)
          stage.signature[bit / 8].at(x, y) |=
              static_cast<std::uint8_t>(signatures(level, side).at(x, y)[bit] << bit % 8);
        if (estimates) stage.disparity.at(x, y) = disparity(level, side).at(x, y);
      }
    return stage;
  }

 private:
  void reserve(Arena& arena) override {
    for (auto& planes : planes_) {
      planes.clear();
      for (const Level& level : levels_) {
        planes.push_back({arena.reserve_plane<std::uint16_t>(level.size),
                          arena.reserve_plane<std::uint8_t>(level.size),
                          arena.reserve_plane<Signature>(level.size),
                          arena.reserve_plane<std::int32_t>(level.size),
                          {},
                          rows::RowVotes(level.size, level.rows, parameters_.row_prior)});
        for (int v = -level.rows; v <= level.rows; ++v)
          planes.back().cheapest.push_back(arena.reserve_plane<Winner>(level.size));
        planes.back().votes.reserve(arena);
      }
    }
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    take(pair.left, pair.left_mask, left_side);
    take(pair.right, pair.right_mask, right_side);
    for (const int side : {left_side, right_side})
      for (int level = 1; level < level_count(); ++level) halve(level, side);
    clock.finish("pyramid");
    for (const int side : {left_side, right_side})
      for (int level = 0; level < level_count(); ++level) describe(level, side);
    clock.finish("transform");
    for (int level = level_count() - 1; level >= 0; --level)
      for (const int side : {left_side, right_side})
        if (searches(side)) search(level, side);
    decide_left(map);
    if (checks_left_right_) decide_right();
    clock.finish("search");
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int level_count() const { return static_cast<int>(levels_.size()); }
  const ReferencePlanes& planes(int level, int side) const { return planes_[side][index(level)]; }
  const View<std::uint16_t>& gray(int level, int side) const { return planes(level, side).gray; }
  const View<std::uint8_t>& mask(int level, int side) const { return planes(level, side).mask; }
  const View<Signature>& signatures(int level, int side) const { return planes(level, side).signatures; }
  const View<std::int32_t>& disparity(int level, int side) const { return planes(level, side).disparity; }
  bool searches(int side) const { return side == left_side || checks_left_right_; }

  void take(const ImageView& image, const View<const std::uint8_t>& valid, int side) {
    for (int y = 0; y < image.format.size.height; ++y) {
      gray_row(image, y, gray(0, side).row(y));
      for (int x = 0; x < image.format.size.width; ++x)
        mask(0, side).at(x, y) = valid.empty() || valid.at(x, y) != 0;
    }
  }

  void halve(int level, int side) {
    const View<std::uint16_t> fine = gray(level - 1, side);
    const View<std::uint8_t> fine_mask = mask(level - 1, side);
    const Size size = levels_[index(level)].size;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const auto quarter = [&](auto plane, int i) { return repeated(plane, 2 * x + i % 2, 2 * y + i / 2); };
        const int sum = quarter(fine, 0) + quarter(fine, 1) + quarter(fine, 2) + quarter(fine, 3);
        gray(level, side).at(x, y) = static_cast<std::uint16_t>((sum + 2) / 4);
        mask(level, side).at(x, y) =
            quarter(fine_mask, 0) | quarter(fine_mask, 1) | quarter(fine_mask, 2) | quarter(fine_mask, 3);
      }
  }

  // The value with which the neighbours of (x, y) are compared.
  int reference_value(const View<std::uint16_t>& image, int x, int y) const {
    if (!neighbourhood_.modified) return image.at(x, y);
    int sum = 0;
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) sum += repeated(image, x + i, y + j);
    return sum / 9;
  }

  void describe(int level, int side) {
    const View<std::uint16_t> image = gray(level, side);
    for (int y = 0; y < image.size.height; ++y)
      for (int x = 0; x < image.size.width; ++x) {
        const int value = reference_value(image, x, y);
        Signature signature;
        for (std::size_t bit = 0; bit < neighbourhood_.neighbours.size(); ++bit) {
          const Offset offset = neighbourhood_.neighbours[bit];
          signature[bit] = repeated(image, x + offset.x, y + offset.y) > value;
        }
        signatures(level, side).at(x, y) = signature;
      }
  }

  int gray_of_8_bits(int level, int side, int x, int y) const {
    return repeated(gray(level, side), x, y) >> (depth_ == BitDepth::bits8 ? 0 : 8);
  }

  // Each image repeats its own border.
  int pixel_cost(int level, int left_x, int left_y, Label label) const {
    const int right_x = left_x - label.disparity, right_y = left_y + label.row_offset;
    const Signature differing = repeated(signatures(level, left_side), left_x, left_y) ^
                                repeated(signatures(level, right_side), right_x, right_y);
    const int hamming = static_cast<int>(differing.count());
    if (parameters_.cost == CensusCost::hamming) return hamming;
    const int difference = std::abs(gray_of_8_bits(level, left_side, left_x, left_y) -
                                    gray_of_8_bits(level, right_side, right_x, right_y));
    return hamming + std::min(difference, parameters_.ad_truncation);
  }

  int cost(int level, int left_x, int left_y, Label label) const {
    const int radius = parameters_.window / 2;
    int sum = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) sum += pixel_cost(level, left_x + i, left_y + j, label);
    return sum;
  }

  // Whether left (x, y) may match right (x − d, y + v).
  bool candidate(int level, int x, int y, Label label) const {
    return valid(level, left_side, x, y) &&
           valid(level, right_side, x - label.disparity, y + label.row_offset);
  }

  bool valid(int level, int side, int x, int y) const {
    const Size size = levels_[index(level)].size;
    return x >= 0 && x < size.width && y >= 0 && y < size.height && mask(level, side).at(x, y) != 0;
  }

  // The disparities searched for a pixel.
  Interval interval(int level, int side, int x, int y) const {
    const Level& own = levels_[index(level)];
    if (level + 1 == level_count()) return {own.lowest, own.highest()};
    const View<std::int32_t> above = disparity(level + 1, side);
    std::optional<Interval> estimates;
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) {
        const int estimate = repeated(above, x / 2 + i, y / 2 + j);
        if (estimate == no_disparity) continue;
        if (!estimates) estimates = Interval{estimate, estimate};
        estimates = Interval{std::min(estimates->lowest, estimate), std::max(estimates->highest, estimate)};
      }
    if (!estimates) return {own.lowest, own.lowest - 1};
    return {std::max(2 * estimates->lowest - parameters_.search_radius, own.lowest),
            std::min(2 * estimates->highest + parameters_.search_radius, own.highest())};
  }

  Winner& cheapest(int level, int side, int x, int y, int v) const {
    return planes(level, side).cheapest[index(v + levels_[index(level)].rows)].at(x, y);
  }

  // The candidate of the lowest cost of a pixel of that side in one row, ties to the lowest.
  Winner cheapest_of(int level, int side, int x, int y, int v) const {
    const Interval searched = interval(level, side, x, y);
    Winner best{no_disparity, 0};
    for (int d = searched.lowest; d <= searched.highest; ++d) {
      const int left_x = side == left_side ? x : x + d, left_y = side == left_side ? y : y - v;
      if (!candidate(level, left_x, left_y, {d, v})) continue;
      const int c = cost(level, left_x, left_y, {d, v});
      if (best.disparity == no_disparity || c < best.cost) best = {d, c};
    }
    return best;
  }

  bool has_votes(int level, int side, int x, int y) const {
    const int rows = levels_[index(level)].rows;
    for (int v = -rows; v <= rows; ++v)
      if (cheapest(level, side, x, y, v).disparity == no_disparity) return false;
    return true;
  }

  void search(int level, int side) {
    const Size size = levels_[index(level)].size;
    const int rows = levels_[index(level)].rows;
    const rows::RowVotes& votes = planes(level, side).votes;
    for (int row = 0; row < votes.squares().height; ++row)
      for (int column = 0; column < votes.squares().width; ++column)
        std::fill_n(votes.own(column, row), votes.offsets(), 0);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        for (int v = -rows; v <= rows; ++v)
          cheapest(level, side, x, y, v) = cheapest_of(level, side, x, y, v);
        if (!has_votes(level, side, x, y)) continue;
        for (int v = -rows; v <= rows; ++v)
          votes.own(x / votes.side, y / votes.side)[v + rows] += cheapest(level, side, x, y, v).cost;
      }
    votes.settle();
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        disparity(level, side).at(x, y) = winner(level, side, x, y).disparity;
  }

  // The row offsets of the square around a pixel, the preferred one first.
  std::vector<int> preferred(int level, int side, int x, int y) const {
    const rows::RowVotes& votes = planes(level, side).votes;
    const std::int8_t* first = votes.preferred(x / votes.side, y / votes.side);
    std::vector<int> order(first, first + votes.offsets());
    if (level + 1 == level_count()) return order;
    const int above = planes(level + 1, side).votes.preferred(x / 2 / votes.side, y / 2 / votes.side)[0];
    std::stable_partition(order.begin(), order.end(), [&](int v) { return near_above(v, above); });
    return order;
  }

  // The pixel's label; its disparity is no_disparity if there is none.
  Label winner(int level, int side, int x, int y) const {
    for (const int v : preferred(level, side, x, y))
      if (const int d = cheapest(level, side, x, y, v).disparity; d != no_disparity) return {d, v};
    return {no_disparity, 0};
  }

  // The lowest cost among disparities searched in the same row, more than one away from the best.
  std::optional<int> rival(int x, int y, Label best) const {
    const Interval searched = interval(0, left_side, x, y);
    std::optional<int> lowest;
    for (int d = searched.lowest; d <= searched.highest; ++d) {
      const Label label{d, best.row_offset};
      if (std::abs(d - best.disparity) <= 1 || !candidate(0, x, y, label)) continue;
      const int c = cost(0, x, y, label);
      lowest = std::min(lowest.value_or(c), c);
    }
    return lowest;
  }

  bool ambiguous(int x, int y, Label best) const {
    if (parameters_.uniqueness == 0) return false;
    const std::optional<int> other = rival(x, y, best);
    return other && *other <= refine::ambiguity_bound(cost(0, x, y, best), parameters_.uniqueness);
  }

  // The costs next to the best are used whether they were searched or not. If one of them is lower, the
  // minimum lies at the border of the searched interval, and is not refined.
  float refined(int x, int y, Label label) const {
    const Level& full = levels_.front();
    const auto [d, v] = label;
    const auto integer = static_cast<float>(d);
    if (parameters_.sub_pixel == SubPixel::none || d == full.lowest || d == full.highest() ||
        !candidate(0, x, y, {d - 1, v}) || !candidate(0, x, y, {d + 1, v}))
      return integer;
    const int before = cost(0, x, y, {d - 1, v}), best = cost(0, x, y, label),
              after = cost(0, x, y, {d + 1, v});
    if (before < best || after < best || (before == best && after == best)) return integer;
    return integer + refine::sub_pixel_offset(parameters_.sub_pixel, before, best, after).value();
  }

  float row_offset(int x, int y, int v) const {
    const rows::RowVotes& votes = planes(0, left_side).votes;
    return static_cast<float>(v) + votes.fraction(x / votes.side, y / votes.side, v, parameters_.sub_pixel);
  }

  float confidence(int x, int y, Label best) const {
    return refine::confidence(cost(0, x, y, best), rival(x, y, best));
  }

  void decide_left(const DisparityMap& map) const {
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) decide(x, y, map);
  }

  void decide_right() const {
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) {
        const int best = disparity(0, right_side).at(x, y);
        right_disparity_.at(x, y) = best == no_disparity ? no_value : static_cast<float>(best);
      }
  }

  void decide(int x, int y, const DisparityMap& map) const {
    const Label best = winner(0, left_side, x, y);
    const bool found = best.disparity != no_disparity;
    Status status = Status::matched;
    if (mask(0, left_side).at(x, y) == 0)
      status = Status::input_masked;
    else if (!found)
      status = Status::out_of_range;
    else if (ambiguous(x, y, best))
      status = Status::ambiguous;
    const bool matched = status == Status::matched;
    map.status.at(x, y) = code(status);
    map.disparity.at(x, y) = matched ? refined(x, y, best) : no_value;
    if (!map.row_offset.empty())
      map.row_offset.at(x, y) = matched ? row_offset(x, y, best.row_offset) : no_value;
    if (!map.confidence.empty()) map.confidence.at(x, y) = found ? confidence(x, y, best) : 0.0f;
  }

  CensusParameters parameters_;
  std::vector<Level> levels_;
  BitDepth depth_;
  Neighbourhood neighbourhood_;
  std::vector<ReferencePlanes> planes_[2];
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const CensusParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format);
}

}  // namespace parallax::census
