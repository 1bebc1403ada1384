// SPDX-License-Identifier: Apache-2.0
// Random pairs and parameters of belief propagation.
#pragma once

#include <string>

#include "conformance/belief_case.h"

namespace parallax::test {

class BeliefPropagationCase : public BeliefCase<BeliefPropagationParameters> {
 public:
  explicit BeliefPropagationCase(unsigned seed) : BeliefCase(seed, {180, 40}) {
    make([&] { choose_parameters(); });
    if (parameters_.cost != DataCost::volume) return;
    // Some reach and pass what the arithmetic holds: halves hold no more than 65504.
    make_volume({0.3f, 1.0f, 1.0f, 3.0f, 1000.0f, 1e30f}, 5);
  }

  std::string description() const {
    const BeliefPropagationParameters& p = parameters_;
    return BeliefCase::description(
        " levels " + number(p.levels) + " iterations " + number(p.iterations) + " arithmetic " +
        choice(p.arithmetic) + " discontinuity " + number(p.discontinuity_truncation) + " contrast " +
        number(p.edge_contrast) + " floor " + number(p.edge_floor) + " aligned " + number(aligned_));
  }

  // What a device may choose: here and there rows of messages begin anywhere.
  TunedValues configuration(DeviceKind device) const {
    const bool aligns = device == DeviceKind::cpu || (device == DeviceKind::cuda && has_floats());
    return aligns && !aligned_ ? TunedValues{{"aligned", "false"}} : TunedValues();
  }

 private:
  bool has_floats() const {
    const Arithmetic arithmetic = parameters_.arithmetic;
    return arithmetic != Arithmetic::fixed8 && arithmetic != Arithmetic::fixed16;
  }

  void choose_parameters() {
    BeliefPropagationParameters& p = parameters_;
    p.arithmetic = choose({Arithmetic::fixed8, Arithmetic::fixed8, Arithmetic::fixed16, Arithmetic::float32,
                           Arithmetic::float16, Arithmetic::bfloat16});
    p.cost = static_cast<DataCost>(any(0, 4));
    choose_range(40'000);
    p.levels = any(1, 8);
    p.iterations = any(0, 19) == 0 ? 40 : any(1, 9);
    p.data_weight = choose({0.002f, 0.01f, 0.04f, 0.1f, 0.37f, 3.0f, 1000.0f});
    p.data_truncation = choose({0.0f, 0.0f, 1.0f, 3.7f, 15.0f, 40.0f, 100.0f, 256.0f});
    p.outside_cost.reset();
    if (any(0, 2) != 0) p.outside_cost = choose({0.0f, 0.3f, 1.6f, 7.0f, 1000.0f});
    p.smoothing = choose({0.0f, 0.0f, 0.6f, 2.5f});
    p.discontinuity_truncation = choose({0.0f, 0.3f, 1.0f, 1.7f, 5.0f, 12.3f, 31.0f, 60.0f, 1000.0f});
    p.edge_contrast = choose({0.0f, 0.0f, 1.5f, 10.0f, 256.0f});
    p.edge_floor = choose({0.0f, 0.05f, 0.2f, 1.0f});
    choose_beliefs();
    aligned_ = any(0, 4) != 0;
    choose_refinement();
  }

  bool aligned_ = true;
};

}  // namespace parallax::test
