// SPDX-License-Identifier: Apache-2.0
// Base of the references whose labels have the lowest belief, or sum of costs: the decision of each pixel,
// and the right map from a second match, of the mirrored pair.
#pragma once

#include "data_cost/data_cost.h"
#include "data_cost/reference_grid.h"
#include "decision/decision.h"
#include "matchers/host_plan.h"

namespace parallax::host {

using data_cost::for_each_pixel;

template <class Model>
class BeliefReference : public Plan {
 public:
  CostCurve cost_curve(int x, int y) const final {
    CostCurve curve;
    for (int label = 0; label < model_.labels; ++label) {
      curve.data_costs.push_back(data_cost(x, y, label));
      curve.totals.push_back(belief(x, y, label));
    }
    return curve;
  }

 protected:
  BeliefReference(const Model& model, Size size)
      : Plan(model.parameters.refine, size, data_cost::volume_labels(model.cost, model.labels)),
        model_(model),
        costs_(model, size) {
    data_cost::check_reachable(model, size);
  }

  // Computes the beliefs of the pair, or of the mirrored one.
  virtual void propagate(const StereoPair& pair, bool mirrored) = 0;
  virtual float data_cost(int x, int y, int label) const = 0;
  virtual float belief(int x, int y, int label) const = 0;
  virtual decision::Beliefs beliefs(int x, int y) const = 0;
  virtual bool ambiguous(const decision::Beliefs&) const { return false; }
  virtual bool undecided(int x, int y) const { return costs_.masked(x, y) || !costs_.reachable(x, y); }
  // Whether the right map is a match of its own; otherwise find_right() takes it from the left beliefs.
  virtual bool matches_right() const { return true; }
  virtual void find_right(const StereoPair&) {}

  const Model model_;
  data_cost::DataCosts costs_;

 private:
  void match(const StereoPair& pair, const DisparityMap& map, detail::StageClock& clock) final {
    propagate(pair, false);
    for_each_pixel(size_, [&](int x, int y) { decide(x, y, map); });
    if (checks_left_right_ && !matches_right()) find_right(pair);
    clock.finish("match");
    if (!checks_left_right_ || !matches_right()) return;
    propagate(pair, true);
    const decision::DecisionRule rule = model_.decision();
    for_each_pixel(size_, [&](int x, int y) {
      right_disparity_.at(size_.width - 1 - x, y) =
          undecided(x, y) ? decision::no_value : rule.integer_disparity(beliefs(x, y).label);
    });
    clock.finish("right_match");
  }

  void decide(int x, int y, const DisparityMap& map) const {
    if (undecided(x, y))
      return decision::write_none(costs_.masked(x, y) ? Status::input_masked : Status::out_of_range, x, y,
                                  map);
    const decision::Beliefs found = beliefs(x, y);
    decision::write_decision(found, model_.decision(), x, y, map);
    if (ambiguous(found)) decision::reject(Status::ambiguous, x, y, map);
  }
};

}  // namespace parallax::host
