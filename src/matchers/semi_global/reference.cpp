// SPDX-License-Identifier: Apache-2.0
// The specification of semi-global matching, straight from semi_global.h: one path, pixel, label at a time.

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "data_cost/data_cost.h"
#include "matchers/belief_reference.h"
#include "matchers/semi_global/row_prior.h"
#include "matchers/semi_global/semi_global.h"

namespace parallax::semi_global {
namespace {

using host::for_each_pixel, decision::Beliefs;

// A number for each pixel and label.
struct Volume {
  int* values = nullptr;
  Size size;
  int labels = 0;

  bool contains(int x, int y) const { return x >= 0 && y >= 0 && x < size.width && y < size.height; }
  int* at(int x, int y) const {
    return values + (to_size(y) * to_size(size.width) + to_size(x)) * to_size(labels);
  }
};

class Reference final : public host::BeliefReference<Model> {
 public:
  Reference(const SemiGlobalParameters& parameters, Size size)
      : BeliefReference(make_model(parameters), size), parameters_(parameters), prior_(model_, size_) {
    judge_afterwards(parameters.min_confidence);
    plan_memory(parameters.row_tolerance > 0);
  }

 private:
  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    prior_.reserve(arena);
    for (Volume* volume : {&windows_, &path_, &sums_})
      *volume = {arena.reserve<int>(size_.pixels() * to_size(model_.labels)), size_, model_.labels};
    labels_ = arena.reserve_plane<std::uint16_t>(size_);
  }

  // The sums over all paths, for the pair or the mirrored one.
  void propagate(const StereoPair& pair, bool mirrored) override {
    costs_.prepare(pair, mirrored);
    find_costs();
    std::fill_n(sums_.values, size_.pixels() * to_size(model_.labels), 0);
    for (const Step step : steps_of(parameters_.paths)) {
      find_path_costs(step);
      for (std::size_t i = 0; i < size_.pixels() * to_size(model_.labels); ++i)
        sums_.values[i] += path_.values[i];
    }
  }

  // C: the data costs, summed over windows, and the costs of row offsets. The volume of sums is still unused,
  // so it holds the costs of single pixels.
  void find_costs() {
    for_each_pixel(size_, [&](int x, int y) {
      for (int label = 0; label < model_.labels; ++label)
        sums_.at(x, y)[label] = std::max(0, static_cast<int>(costs_.at(x, y, label)));
    });
    sum_windows();
    if (prior_.exists()) add_row_prior();
  }

  void sum_windows() const {
    const int reach = parameters_.window / 2;
    for_each_pixel(size_, [&](int x, int y) {
      std::fill_n(windows_.at(x, y), model_.labels, 0);
      for (int j = -reach; j <= reach; ++j) {
        for (int i = -reach; i <= reach; ++i) {
          const int* costs =
              sums_.at(std::clamp(x + i, 0, size_.width - 1), std::clamp(y + j, 0, size_.height - 1));
          for (int label = 0; label < model_.labels; ++label) windows_.at(x, y)[label] += costs[label];
        }
      }
    });
  }

  void add_row_prior() {
    const int disparities = model_.disparities();
    prior_.clear();
    for (int square = 0; square < prior_.squares().height; ++square) {
      prior_.for_rows(square, [&](int y) {
        for (int x = 0; x + RowPrior::group <= size_.width; x += RowPrior::group)
          for (int row = 0; row < model_.row_offsets; ++row) prior_.add(x, y, row, min_of_group(x, y, row));
      });
    }
    prior_.fit();
    for_each_pixel(size_, [&](int x, int y) {
      for (int label = 0; label < model_.labels; ++label)
        windows_.at(x, y)[label] += prior_.cost(prior_.expected(x, y), label / disparities);
    });
  }

  int min_of_group(int x, int y, int row) const {
    int min = std::numeric_limits<int>::max();
    for (int d = 0; d < model_.disparities(); ++d) {
      int sum = 0;
      for (int i = 0; i < RowPrior::group; ++i) sum += sums_.at(x + i, y)[row * model_.disparities() + d];
      min = std::min(min, sum);
    }
    return min;
  }

  bool uses_pixels_beside() const { return parameters_.aggregation == Aggregation::mgm; }

  // The path costs L_r of all pixels, each after the pixels on which it depends.
  void find_path_costs(Step step) const {
    const Step beside = uses_pixels_beside() ? step.turned() : step;
    const Step way{step.x + beside.x, step.y + beside.y};
    const auto in_order = [](int i, int count, int way) { return way < 0 ? count - 1 - i : i; };
    const auto visit = [&](int i, int j) {
      if (i == 0 || j == 0) stop_if_cancelled();
      find_path_costs(step, in_order(i, size_.width, way.x), in_order(j, size_.height, way.y));
    };
    if (way.y != 0) {
      for (int j = 0; j < size_.height; ++j)
        for (int i = 0; i < size_.width; ++i) visit(i, j);
    } else {
      for (int i = 0; i < size_.width; ++i)
        for (int j = 0; j < size_.height; ++j) visit(i, j);
    }
  }

  void find_path_costs(Step step, int x, int y) const {
    const Before before = pixel_before(step, x, y);
    const Before beside = uses_pixels_beside() ? pixel_before(step.turned(), x, y) : Before{};
    for (int label = 0; label < model_.labels; ++label) {
      int cost = transition(before, label);
      if (uses_pixels_beside()) cost = (cost + transition(beside, label) + 1) / 2;
      path_.at(x, y)[label] = windows_.at(x, y)[label] + cost;
    }
  }

  // A pixel that a path comes from.
  struct Before {
    const int* path;  // its path costs; null beyond the border
    int min;          // the lowest of them
    int large_jump;   // P2, from there
  };

  Before pixel_before(Step step, int x, int y) const {
    const int before_x = x - step.x, before_y = y - step.y;
    if (!path_.contains(before_x, before_y)) return {};
    const int* path = path_.at(before_x, before_y);
    return {path, *std::min_element(path, path + model_.labels), large_jump(x, y, before_x, before_y)};
  }

  // T_r(p − r, label): the cost of the label along the path, above the minimum of the pixel before.
  int transition(const Before& before, int label) const {
    if (before.path == nullptr) return 0;
    const int disparities = model_.disparities(), d = label % disparities;
    const int* row = before.path + (label - d);  // the labels of the same row offset
    int lowest = std::min(row[d], *std::min_element(row, row + disparities) + before.large_jump);
    if (d > 0) lowest = std::min(lowest, row[d - 1] + parameters_.small_jump);
    if (d + 1 < disparities) lowest = std::min(lowest, row[d + 1] + parameters_.small_jump);
    if (model_.row_offsets > 1) lowest = std::min(lowest, before.min + parameters_.row_jump);
    return lowest - before.min;
  }

  int large_jump(int x, int y, int before_x, int before_y) const {
    const View<const std::uint16_t> gray = costs_.gray();
    const int edge = data_cost::edge_index(std::abs(gray.at(x, y) - gray.at(before_x, before_y)));
    return model_.large_jumps[to_size(edge)];
  }

  float data_cost(int x, int y, int label) const override {
    return static_cast<float>(windows_.at(x, y)[label]);
  }
  float belief(int x, int y, int label) const override { return static_cast<float>(sums_.at(x, y)[label]); }
  Beliefs beliefs(int x, int y) const override {
    return decision::find_beliefs(
        model_.labels, [&](int label) { return belief(x, y, label); }, model_.row_offsets);
  }
  bool ambiguous(const Beliefs& sums) const override { return is_ambiguous(sums, parameters_.uniqueness); }
  bool matches_right() const override { return parameters_.right_map == RightMap::match; }

  // A right pixel takes the label with the lowest sum of those that left pixels have for it, or of those that
  // left pixels have taken; ties go to the lowest.
  void find_right(const StereoPair& pair) override {
    const bool only_winners = parameters_.right_map == RightMap::winners;
    if (only_winners)
      for_each_pixel(
          size_, [&](int x, int y) { labels_.at(x, y) = static_cast<std::uint16_t>(beliefs(x, y).label); });
    for_each_pixel(size_, [&](int right_x, int y) {
      int best = -1, lowest = 0;
      for (int label = 0; label < model_.labels; ++label) {
        const Offset offset = model_.space().offset(label);
        const int x = right_x + offset.x, left_y = y - offset.y;
        if (!sums_.contains(x, left_y) || undecided(x, left_y)) continue;
        if (only_winners && labels_.at(x, left_y) != label) continue;
        const int sum = sums_.at(x, left_y)[label];
        if (best >= 0 && sum >= lowest) continue;
        best = label;
        lowest = sum;
      }
      const bool is_masked = !pair.right_mask.empty() && pair.right_mask.at(right_x, y) == 0;
      right_disparity_.at(right_x, y) =
          best < 0 || is_masked ? decision::no_value : model_.decision().integer_disparity(best);
    });
  }

  SemiGlobalParameters parameters_;
  RowPrior prior_;
  Volume windows_, path_, sums_;
  View<std::uint16_t> labels_;  // labels of the left pixels
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const SemiGlobalParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format.size);
}

}  // namespace parallax::semi_global
