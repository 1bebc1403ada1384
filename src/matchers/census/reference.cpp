// SPDX-License-Identifier: Apache-2.0
// The specification of census matching, written directly from census.h: every window is summed separately. It
// is slow on purpose.

#include <bitset>

#include "core/gray.h"
#include "matchers/census/census.h"
#include "matchers/lowest_cost_reference.h"

namespace parallax::census {
namespace {

// A power of two of bits, so that rows of them are aligned.
using Signature = std::bitset<128>;
static_assert(8 * max_signature_bytes <= 128);

// Data of one level of one image.
struct ReferencePlanes {
  View<std::uint16_t> gray;
  View<std::uint8_t> mask;  // not 0 = valid
  View<Signature> signatures;
  View<std::int32_t> disparity;
};

template <class T>
T repeated(const View<T>& plane, int x, int y) {
  return plane.at(std::clamp(x, 0, plane.size.width - 1), std::clamp(y, 0, plane.size.height - 1));
}

class Reference final : public host::LowestCostReference<int, CensusParameters>, public CensusPlan {
 public:
  // `full`: the level of the image.
  Reference(const CensusParameters& parameters, const Level& full, const ImageFormat& format)
      : LowestCostReference(parameters, format.size, {full.lowest, full.highest()}),
        CensusPlan(parameters, format.size),
        depth_(format.depth) {
    plan_memory(parameters.row_tolerance > 0);
  }

  CostCurve cost_curve(int x, int y) const override {
    const Interval searched = interval(0, left_side, x, y);
    CostCurve curve;
    for (int d = disparities_.lowest; d <= disparities_.highest; ++d) {
      curve.data_costs.push_back(lowest_cost(x, y, d));
      curve.totals.push_back(searched.contains(d) ? curve.data_costs.back() : decision::no_value);
    }
    return curve;
  }

  Stage stage(int level, int side) const override {
    const Size size = level_of(level).size;
    Stage stage = empty_stage(level, side);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        stage.gray.at(x, y) = gray(level, side).at(x, y);
        for (std::size_t bit = 0; bit < neighbourhood_.neighbours.size(); ++bit)
          stage.signature[bit / 8].at(x, y) |=
              static_cast<std::uint8_t>(signatures(level, side).at(x, y)[bit] << bit % 8);
        if (estimates(level, side)) stage.disparity.at(x, y) = disparity(level, side).at(x, y);
      }
    return stage;
  }

 private:
  using LowestCostReference::parameters_;

  void reserve(Arena& arena) override {
    for (const int side : {left_side, right_side}) {
      planes_[side].clear();
      clear_levels(side);
      for (const Level& level : levels_) {
        planes_[side].push_back(
            {arena.reserve_plane<std::uint16_t>(level.size), arena.reserve_plane<std::uint8_t>(level.size),
             arena.reserve_plane<Signature>(level.size), arena.reserve_plane<std::int32_t>(level.size)});
        reserve_level(side, level.size, level.rows, arena);
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
        if (searches(side)) search_level(level, side);
    decide_left(map);
    if (checks_left_right_) decide_right();
    clock.finish("search");
  }

  const ReferencePlanes& planes(int level, int side) const { return planes_[side][to_size(level)]; }
  const View<std::uint16_t>& gray(int level, int side) const { return planes(level, side).gray; }
  const View<std::uint8_t>& mask(int level, int side) const { return planes(level, side).mask; }
  const View<Signature>& signatures(int level, int side) const { return planes(level, side).signatures; }
  const View<std::int32_t>& disparity(int level, int side) const { return planes(level, side).disparity; }

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
    const Size size = level_of(level).size;
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
    for (int y = 0; y < image.size.height; ++y) {
      stop_if_cancelled();
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
  }

  int gray_of_8_bits(int level, int side, int x, int y) const {
    return repeated(gray(level, side), x, y) >> (depth_ == BitDepth::bits8 ? 0 : 8);
  }

  // Each image repeats its own border.
  int pixel_cost(int level, int left_x, int left_y, Offset label) const {
    const int right_x = left_x - label.x, right_y = left_y + label.y;
    const Signature differing = repeated(signatures(level, left_side), left_x, left_y) ^
                                repeated(signatures(level, right_side), right_x, right_y);
    const int hamming = static_cast<int>(differing.count());
    if (parameters_.cost == CensusCost::hamming) return hamming;
    const int difference = std::abs(gray_of_8_bits(level, left_side, left_x, left_y) -
                                    gray_of_8_bits(level, right_side, right_x, right_y));
    return hamming + std::min(difference, parameters_.ad_truncation);
  }

  int cost(int level, int left_x, int left_y, Offset label) const override {
    const int radius = this->radius();
    int sum = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) sum += pixel_cost(level, left_x + i, left_y + j, label);
    return sum;
  }

  bool candidate(int level, int x, int y, Offset label) const override {
    return valid(level, left_side, x, y) && valid(level, right_side, x - label.x, y + label.y);
  }
  bool masked(int x, int y) const override { return mask(0, left_side).at(x, y) == 0; }

  bool valid(int level, int side, int x, int y) const {
    const Size size = level_of(level).size;
    return x >= 0 && x < size.width && y >= 0 && y < size.height && mask(level, side).at(x, y) != 0;
  }

  Interval interval(int level, int side, int x, int y) const override {
    const Level& own = level_of(level);
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

  void search_level(int level, int side) const {
    search(level, side);
    const Size size = level_of(level).size;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const std::optional<Offset> best = winner(level, side, x, y);
        disparity(level, side).at(x, y) = best ? best->x : no_disparity;
      }
  }

  bool goes_first(int level, int side, int x, int y, int v) const override {
    return level + 1 == level_count() ||
           near_above(v, votes(level + 1, side).preferred(x / 2 / square, y / 2 / square)[0]);
  }

  BitDepth depth_;
  std::vector<ReferencePlanes> planes_[2];
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const CensusParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, plan_levels(parameters, format.size).front(), format);
}

}  // namespace parallax::census
