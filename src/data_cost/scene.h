// SPDX-License-Identifier: Apache-2.0
// A pair with its data costs, without a plan: for the public functions that return costs and energies.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/arena.h"
#include "core/integers.h"
#include "data_cost/data_cost.h"

namespace parallax::data_cost {

// \throws Error (argument) for parameters that are not valid
template <class Parameters>
const Parameters& validated(const Parameters& parameters) {
  parameters.validate();
  return parameters;
}

// \throws Error (argument) for labels with several row offsets, which a map of disparities does not contain
void check_without_rows(const CostModel& model);

class Scene {
 public:
  // \throws Error (argument) for a pair that no plan could take
  Scene(const CostModel& model, const StereoPair& pair);

  // All data costs, in units.
  std::vector<float> volume() const;

  // The data costs of the labels of `disparity`, plus discontinuity(edge, label, label2) for neighbours, where
  // edge is the edge_index() of their difference in gray. Pixels without a disparity are left out.
  // \throws Error (argument) for a disparity that is no label
  template <class Discontinuity>
  double energy(View<const float> disparity, const Discontinuity& discontinuity) const {
    check_disparity(disparity);
    const View<const std::uint16_t> gray = costs_.gray();
    double sum = 0;
    const auto edge = [&](int x, int y, int x2, int y2) {
      const int first = label(disparity.at(x, y)), second = label(disparity.at(x2, y2));
      const int index = edge_index(std::abs(gray.at(x, y) - gray.at(x2, y2)));
      return first == none || second == none ? 0.0f : discontinuity(to_size(index), first, second);
    };
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) {
        const int here = label(disparity.at(x, y));
        if (here != none) sum += costs_.at(x, y, here);
        if (x + 1 < size_.width) sum += edge(x, y, x + 1, y);
        if (y + 1 < size_.height) sum += edge(x, y, x, y + 1);
      }
    }
    return sum;
  }

 private:
  static constexpr int none = -1;

  void check_disparity(View<const float> disparity) const;
  int label(float disparity) const;

  CostModel model_;
  Size size_;
  Arena arena_;
  DataCosts costs_;
};

}  // namespace parallax::data_cost
