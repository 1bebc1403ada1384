// SPDX-License-Identifier: Apache-2.0
// Works row by row: computes all costs of a row, then decides.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/gray.h"
#include "decision/confidence.h"
#include "devices/cpu/tuning.h"
#include "matchers/host_plan.h"
#include "toy/toy.h"

namespace parallax::toy {
namespace {

constexpr int no_candidate = -1;

class Cpu final : public host::Plan {
 public:
  Cpu(const ToyParameters& parameters, int threads, const ImageFormat& format,
      const detail::Configuration& configuration)
      : host::Plan(parameters.refine, format.size, 0,
                   cpu::match_workers(threads, format.size, configuration)),
        p_(parameters),
        rows_(static_cast<std::size_t>(workers_.slots())) {
    check_reachable(p_.min_disparity, p_.disparities, size_.width);
    plan_memory();
  }

  detail::Footprint footprint() const { return cpu::footprint(size_.height, workers_, row_bytes()); }

 private:
  // The memory of one thread.
  struct Row {
    std::uint16_t *left, *right;
    int* costs;  // one label after the other
  };

  std::size_t width() const { return static_cast<std::size_t>(size_.width); }
  std::size_t row_bytes() const { return width() * static_cast<std::size_t>(p_.disparities) * sizeof(int); }

  void reserve(Arena& arena) override {
    for (Row& row : rows_) {
      row.left = arena.reserve<std::uint16_t>(width());
      row.right = arena.reserve<std::uint16_t>(width());
      row.costs = arena.reserve<int>(row_bytes() / sizeof(int));
    }
  }

  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) override {
    for_row_ranges(workers_, size_.height, [&](int first, int last, int slot) {
      for (int y = first; y < last; ++y) match_row(pair, y, rows_[static_cast<std::size_t>(slot)], map);
    });
    clock.finish("match");
  }

  int* costs_of(const Row& row, int label) const {
    return row.costs + static_cast<std::size_t>(label) * width();
  }

  void match_row(const StereoPair& pair, int y, const Row& row, const DisparityMap& map) {
    gray_row(pair.left, y, row.left);
    gray_row(pair.right, y, row.right);
    const std::uint8_t* left_mask = pair.left_mask.empty() ? nullptr : pair.left_mask.row(y);
    const std::uint8_t* right_mask = pair.right_mask.empty() ? nullptr : pair.right_mask.row(y);
    for (int label = 0; label < p_.disparities; ++label) {
      int* costs = costs_of(row, label);
      const int d = p_.min_disparity + label;
      std::fill_n(costs, width(), no_candidate);
      for (int x = std::max(0, d); x < std::min(size_.width, size_.width + d); ++x)
        if ((left_mask == nullptr || left_mask[x] != 0) && (right_mask == nullptr || right_mask[x - d] != 0))
          costs[x] = std::min(std::abs(row.left[x] - row.right[x - d]), p_.truncation);
    }
    for (int x = 0; x < size_.width; ++x) decide(row, x, y, left_mask != nullptr && left_mask[x] == 0, map);
    for (int x = 0; checks_left_right_ && x < size_.width; ++x)
      right_disparity_.at(x, y) = disparity_of(winner(row, x, 1));
  }

  // The label of the lowest cost, where label d is looked up at pixel (x + step·d, y).
  int winner(const Row& row, int x, int step) const {
    int best = no_candidate, least = 0;
    for (int label = 0; label < p_.disparities; ++label) {
      const int at = x + step * (p_.min_disparity + label);
      if (at < 0 || at >= size_.width) continue;
      const int cost = costs_of(row, label)[at];
      if (cost == no_candidate || (best != no_candidate && cost >= least)) continue;
      best = label;
      least = cost;
    }
    return best;
  }
  float disparity_of(int label) const {
    return label == no_candidate ? decision::no_value : static_cast<float>(p_.min_disparity + label);
  }

  void decide(const Row& row, int x, int y, bool masked, const DisparityMap& map) const {
    const int best = winner(row, x, 0);
    map.disparity.at(x, y) = disparity_of(best);
    map.status.at(x, y) = decision::code(masked                 ? Status::input_masked
                                         : best == no_candidate ? Status::out_of_range
                                                                : Status::matched);
    if (map.confidence.empty()) return;
    std::optional<int> rival;
    for (int label = 0; label < p_.disparities; ++label)
      if (const int cost = costs_of(row, label)[x]; std::abs(label - best) > 1 && cost != no_candidate)
        rival = std::min(rival.value_or(cost), cost);
    map.confidence.at(x, y) = best == no_candidate ? 0 : decision::confidence(costs_of(row, best)[x], rival);
  }

  ToyParameters p_;
  std::vector<Row> rows_;  // [slot]
};

}  // namespace

std::unique_ptr<detail::Plan> make_cpu(const ToyParameters& parameters, const Device& device,
                                       const ImageFormat& format,
                                       const detail::Configuration& configuration) {
  return std::make_unique<Cpu>(parameters, device.threads, format, configuration);
}

detail::TuningSpace cpu_tuning_space(const ToyParameters& parameters, const Device& device,
                                     const ImageFormat& format) {
  detail::TuningSpace space;
  space.variant = "toy";
  space.tunables = {cpu::ranges_per_thread()};
  space.footprint = [=](const detail::Configuration& configuration) {
    return Cpu(parameters, device.threads, format, configuration).footprint();
  };
  return space;
}

}  // namespace parallax::toy
