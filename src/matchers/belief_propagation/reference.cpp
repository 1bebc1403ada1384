// SPDX-License-Identifier: Apache-2.0
// The specification of belief propagation, written directly from belief_propagation.h: one pixel and one
// label at a time, all values in floats. In integer arithmetic they hold integers, exactly.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/cpp20.h"
#include "data_cost/reference_grid.h"
#include "matchers/belief_propagation/belief_propagation.h"
#include "matchers/belief_propagation/candidates.h"
#include "matchers/belief_propagation/row_prior.h"
#include "matchers/belief_reference.h"

namespace parallax::belief_propagation {
namespace {

using data_cost::all_directions, data_cost::Direction, data_cost::step_x, data_cost::step_y,
    data_cost::Volume;
using enum data_cost::Direction;
using host::for_each_pixel, decision::Beliefs, decision::no_value;

// Rounds to the nearest number of a shorter format, ties to even.
float nearest_bfloat16(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  return bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u);
}

float nearest_half(float value) {
  constexpr float min_normal = 6.103515625e-05f;
  // Halves below the least normal one are spaced like floats from ½ to 1.
  if (std::abs(value) < min_normal) return std::copysign(std::abs(value) + 0.5f - 0.5f, value);
  const auto bits = bit_cast<std::uint32_t>(value);
  return bit_cast<float>((bits + 0x0FFF + (bits >> 13 & 1)) & ~0x1FFFu);
}

float stored(float value, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::float16) return nearest_half(value);
  if (arithmetic == Arithmetic::bfloat16) return nearest_bfloat16(value);
  return value;
}

struct ReferenceLevel : data_cost::GridLevel {
  int disparities = 0;               // labels of a row offset
  Candidates* candidates = nullptr;  // by tile; null where all labels are considered

  Candidates& candidates_of_tile(int tile_x, int tile_y) const {
    return candidates[tile_y * tile_count(size).width + tile_x];
  }
  bool considers(int x, int y, int label) const {
    return candidates == nullptr ||
           (considers_row(x, y, label) &&
            candidates_of_tile(x / tile_side, y / tile_side).disparities.contains(label % disparities));
  }
  // Whether any label of the same row offset is considered.
  bool considers_row(int x, int y, int label) const {
    return candidates == nullptr ||
           candidates_of_tile(x / tile_side, y / tile_side).row_offsets.contains(label / disparities);
  }
};

class Reference final : public host::BeliefReference<Model> {
 public:
  Reference(const BeliefPropagationParameters& parameters, Size size)
      : BeliefReference(make_model(parameters), size), prior_(model_, size_) {
    for (const Size size : level_sizes(size_, parameters.levels))
      levels_.push_back({{size}, parameters.disparities});
    judge_afterwards(parameters.min_confidence);
    plan_memory(parameters.row_tolerance > 0);
  }

 private:
  void reserve(Arena& arena) override {
    costs_.reserve(arena);
    const auto volume = [&](Size size) -> Volume {
      return {arena.reserve<float>(size.pixels() * to_size(model_.labels)), size.width, model_.labels};
    };
    for (ReferenceLevel& level : levels_) {
      level.data = volume(level.size);
      for (Volume& to : level.to) to = volume(level.size);
      level.gray = arena.reserve_plane<std::uint16_t>(level.size);
      if (model_.has_candidates(to_size(&level - levels_.data()), levels_.size()))
        level.candidates = arena.reserve<Candidates>(tile_count(level.size).pixels());
    }
    message_ = arena.reserve<float>(to_size(model_.labels));
    prior_.reserve(arena);
  }

  float stored(float value) const { return belief_propagation::stored(value, model_.parameters.arithmetic); }

  void propagate(const StereoPair& pair, bool mirrored) override {
    costs_.prepare(pair, mirrored);
    make_finest_level();
    for (std::size_t i = 1; i < levels_.size(); ++i) make_level(levels_[i - 1], levels_[i]);
    if (prior_.exists()) add_row_prior();
    for (std::size_t i = levels_.size(); i-- > 0;) {
      if (levels_[i].candidates != nullptr) find_candidates(levels_[i], levels_[i + 1]);
      start_messages(levels_[i], i + 1 < levels_.size() ? &levels_[i + 1] : nullptr);
      for (int iteration = 0; iteration < model_.iterations(i, mirrored); ++iteration)
        update_colour(levels_[i], (iteration + 1) % 2);
    }
  }

  void make_finest_level() {
    ReferenceLevel& finest = levels_.front();
    for_each_pixel(size_, [&](int x, int y) {
      for (int label = 0; label < model_.labels; ++label)
        finest.data.at(x, y)[label] = costs_.at(x, y, label);
      settle(finest.data.at(x, y));
      finest.gray.at(x, y) = costs_.gray().at(x, y);
    });
  }

  float within_range(float data) const {
    return model_.parameters.arithmetic == Arithmetic::float16 ? std::clamp(data, -highest_half, highest_half)
                                                               : data;
  }

  // In integer arithmetic, subtracts a pixel's least data cost and cuts at the bound; in floats, rounds as
  // stored.
  void settle(float* data) const {
    const float least = *std::min_element(data, data + model_.labels);
    for (int label = 0; label < model_.labels; ++label)
      data[label] = model_.integer ? std::min(data[label] - least, static_cast<float>(model_.data_bound()))
                                   : stored(within_range(data[label]));
  }

  void make_level(const ReferenceLevel& fine, const ReferenceLevel& coarse) const {
    for_each_pixel(coarse.size, [&](int x, int y) {
      float* data = coarse.data.at(x, y);
      std::fill_n(data, model_.labels, 0.0f);
      int gray = 0, children = 0;
      for_each_pixel({2, 2}, [&](int column, int row) {
        const int i = 2 * x + column, j = 2 * y + row;
        if (!fine.contains(i, j)) return;
        for (int label = 0; label < model_.labels; ++label) data[label] += fine.data.at(i, j)[label];
        gray += fine.gray.at(i, j);
        ++children;
      });
      settle(data);
      coarse.gray.at(x, y) = static_cast<std::uint16_t>((gray + children / 2) / children);
    });
  }

  void add_row_prior() {
    const ReferenceLevel& first = levels_[prior_.first_level()];
    const int disparities = model_.disparities();
    prior_.clear();
    for_each_pixel(first.size, [&](int x, int y) {
      for (int row = 0; row < model_.row_offsets; ++row) {
        const float* of_row = first.data.at(x, y) + row * disparities;
        prior_.add(x, y, row, *std::min_element(of_row, of_row + disparities));
      }
    });
    prior_.fit();
    for (std::size_t i = prior_.first_level(); i < levels_.size(); ++i)
      for_each_pixel(levels_[i].size, [&](int x, int y) {
        float* data = levels_[i].data.at(x, y);
        for (int label = 0; label < model_.labels; ++label)
          data[label] += prior_.cost(i, x, y, label / disparities);
        settle(data);
      });
  }

  void find_candidates(const ReferenceLevel& level, const ReferenceLevel& coarser) const {
    const BeliefPropagationParameters& p = model_.parameters;
    for_each_pixel(tile_count(level.size), [&](int tile_x, int tile_y) {
      const LabelRange columns = parents_of_tile(tile_x, coarser.size.width),
                       rows = parents_of_tile(tile_y, coarser.size.height);
      LabelSet best(p.disparities);
      LabelRange row_offsets = no_labels;
      for (int y = rows.first; y < rows.last; ++y) {
        for (int x = columns.first; x < columns.last; ++x) {
          const int label = beliefs(coarser, x, y).label;
          best.add(label % p.disparities);
          row_offsets.include(label / p.disparities);
        }
      }
      level.candidates_of_tile(tile_x, tile_y) = {
          candidate_ranges(best, p.candidate_slack, p.disparities, p.candidate_ranges), row_offsets};
    });
  }

  void start_messages(const ReferenceLevel& level, const ReferenceLevel* coarser) const {
    for_each_pixel(level.size, [&](int x, int y) {
      for (const Direction to : all_directions)
        for (int label = 0; label < model_.labels; ++label)
          level.to[to].at(x, y)[label] = !level.considers_row(x, y, label) ? model_.row_bound
                                         : !level.considers(x, y, label)   ? bound(level, x, y, to)
                                         : coarser ? coarser->to[to].at(x / 2, y / 2)[label]
                                                   : 0.0f;
    });
  }

  bool outermost(const ReferenceLevel& level, int x, int y) const {
    return x == 0 || y == 0 || x == level.size.width - 1 || y == level.size.height - 1;
  }

  void update_colour(const ReferenceLevel& level, int colour) {
    for_each_pixel(level.size, [&](int x, int y) {
      if ((x + y) % 2 == colour && (model_.integer || !outermost(level, x, y)))
        for (const Direction to : all_directions) send(level, x, y, to);
    });
  }

  // Weight of the edge, as an index into the model's tables. There are no image edges beyond the border.
  std::size_t edge(const ReferenceLevel& level, int x, int y, Direction to) const {
    const int i = x + step_x[to], j = y + step_y[to];
    if (!level.contains(i, j)) return 0;
    return to_size(edge_index(std::abs(level.gray.at(x, y) - level.gray.at(i, j))));
  }

  // The most that other disparities cost over an edge.
  float bound(const ReferenceLevel& level, int x, int y, Direction to) const {
    return model_.truncations[edge(level, x, y, to)];
  }

  void send(const ReferenceLevel& level, int x, int y, Direction to) {
    float* h = message_;
    for (int label = 0; label < model_.labels; ++label) {
      float sum = 0;
      for (const Direction from : all_directions)
        if (from != to) sum += level.incoming(x, y, from, label);
      h[label] = level.considers(x, y, label) ? sum + level.data.at(x, y)[label] : no_value;
    }
    const float slope = model_.slopes[edge(level, x, y, to)];
    const float least = *std::min_element(h, h + model_.labels);
    const int disparities = model_.disparities();
    for (int row = 0; row < model_.row_offsets; ++row) {
      float* of_row = h + row * disparities;
      const float highest = *std::min_element(of_row, of_row + disparities) + bound(level, x, y, to);
      for (int d = 1; d < disparities; ++d) of_row[d] = std::min(of_row[d], of_row[d - 1] + slope);
      for (int d = disparities - 2; d >= 0; --d) of_row[d] = std::min(of_row[d], of_row[d + 1] + slope);
      for (int d = 0; d < disparities; ++d)
        of_row[d] = level.considers(x, y, row * disparities + d) ? std::min(of_row[d], highest) : highest;
    }
    if (model_.row_offsets > 1) {
      for (int label = disparities; label < model_.labels; ++label)
        h[label] = std::min(h[label], h[label - disparities] + model_.row_slope);
      for (int label = model_.labels - disparities - 1; label >= 0; --label)
        h[label] = std::min(h[label], h[label + disparities] + model_.row_slope);
      for (int label = 0; label < model_.labels; ++label)
        h[label] = level.considers_row(x, y, label) ? std::min(h[label], least + model_.row_bound)
                                                    : least + model_.row_bound;
    }
    float constant = least;
    if (!model_.integer) {
      constant = 0;
      for (int label = 0; label < model_.labels; ++label) constant += h[label];
      constant /= static_cast<float>(model_.labels);
    }
    for (int label = 0; label < model_.labels; ++label)
      level.to[to].at(x, y)[label] = stored(h[label] - constant);
  }

  float belief(const ReferenceLevel& level, int x, int y, int label) const {
    if (!level.considers(x, y, label)) return no_value;
    float sum = 0;
    for (const Direction from : all_directions) sum += level.incoming(x, y, from, label);
    return sum + level.data.at(x, y)[label];
  }

  Beliefs beliefs(const ReferenceLevel& level, int x, int y) const {
    return decision::find_beliefs(
        model_.labels, [&](int label) { return belief(level, x, y, label); }, model_.row_offsets);
  }

  float data_cost(int x, int y, int label) const override { return levels_.front().data.at(x, y)[label]; }
  float belief(int x, int y, int label) const override { return belief(levels_.front(), x, y, label); }
  Beliefs beliefs(int x, int y) const override { return beliefs(levels_.front(), x, y); }
  bool undecided(int x, int y) const override {
    return BeliefReference::undecided(x, y) || (!model_.integer && outermost(levels_.front(), x, y));
  }

  RowPrior prior_;
  std::vector<ReferenceLevel> levels_;
  float* message_ = nullptr;
};

}  // namespace

std::unique_ptr<detail::Plan> make_reference(const BeliefPropagationParameters& parameters, const Device&,
                                             const ImageFormat& format) {
  return std::make_unique<Reference>(parameters, format.size);
}

}  // namespace parallax::belief_propagation
