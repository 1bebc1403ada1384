// SPDX-License-Identifier: Apache-2.0
// Random pairs and parameters of tiled belief propagation.
#pragma once

#include <string>

#include "conformance/belief_case.h"

namespace parallax::test {

class TiledBeliefPropagationCase : public BeliefCase<TiledBeliefPropagationParameters> {
 public:
  explicit TiledBeliefPropagationCase(unsigned seed) : BeliefCase(seed, {100, 70}) {
    make([&] { choose_parameters(); });
    if (parameters_.cost == DataCost::volume) make_volume({0.3f, 1.0f, 1.0f, 1000.0f, 1e30f}, 50);
  }

  std::string description() const {
    const TiledBeliefPropagationParameters& p = parameters_;
    return BeliefCase::description(" tile " + number(p.tile) + " outer " + number(p.outer) + " inner " +
                                   number(p.inner) + " order " + choice(p.sweep_order) + " frame " +
                                   number(p.frame) + " discontinuity " + number(p.discontinuity_cost) +
                                   " x " + number(p.discontinuity_truncation) + " message width " +
                                   choice(p.message_width) + " early out " + number(p.early_out));
  }

 private:
  void choose_parameters() {
    TiledBeliefPropagationParameters& p = parameters_;
    p.cost = static_cast<DataCost>(any(0, 5));
    choose_range(30'000);
    p.tile = any(0, 2) == 0 ? choose({0, 1, 2, 13, 16, 32, 64, 128, 300}) : any(1, 40);
    p.outer = any(1, 3);
    p.inner = any(0, 9) == 0 ? 25 : any(1, 4);
    p.sweep_order = choose({SweepOrder::right_left_down_up, SweepOrder::right_left_up_down});
    // Bytes hold everything up to 42, and messages up to 255.
    p.discontinuity_cost = choose({1, 1, 2, 3, 6, 7, 14, 16, 21, 42, 43, 85, 255, 256, 1000, 8191});
    p.discontinuity_truncation = choose({1, 1, 2, 2, 3, 5, 6, 7, 20, 42, 43, 255, 1024});
    p.message_width =
        choose({MessageWidth::automatic, MessageWidth::automatic, MessageWidth::bits8, MessageWidth::bits16});
    p.data_weight = choose({0.002f, 0.04f, 0.24f, 1.0f, 1.0f, 3.0f, 40.0f, 1000.0f});
    p.data_truncation = choose({0.0f, 0.0f, 1.0f, 3.7f, 15.0f, 40.0f, 100.0f, 256.0f});
    p.outside_cost.reset();
    if (any(0, 2) != 0) p.outside_cost = choose({0, 1, 10, 100, 255, 256, 8191});
    p.smoothing = choose({0.0f, 0.0f, 0.6f, 2.5f});
    p.frame = any(0, 3) == 0 ? any(0, 9) : 0;
    p.early_out = any(0, 1) == 0;
    choose_beliefs();
    choose_refinement();
  }
};

}  // namespace parallax::test
