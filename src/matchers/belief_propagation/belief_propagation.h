// SPDX-License-Identifier: Apache-2.0
// Hierarchical min-sum belief propagation on the 4-connected grid: Felzenszwalb & Huttenlocher 2006,
// "Efficient belief propagation for early vision". A labelling d of the left image costs
//
//   E(d) = Σ_x D(x, d(x)) + Σ_{x~y} w(x, y)·min(|d(x) − d(y)|, T)
//
// and pixels send each other messages that lower it:
//
//   h(d)     = D(x, d) + Σ messages to x, except the one from y
//   m_x→y(d) = min( min_d' h(d') + w·|d − d'|, min_d' h(d') + w·T ) − a constant
//
// by a forward and a backward pass over the labels. On each level of a pyramid, half-sweeps (`iterations`; on
// the finest level, `finest_iterations`) update the messages of one colour of the checkerboard: first of the
// pixels with x + y odd, then of the others, and so on, each from the newest messages. The coarsest level
// starts with messages 0, every other with those of the pixel (x/2, y/2) one level up. The data cost of a
// coarse pixel is the sum over its up to four children. In the end a pixel takes the label with the lowest
// belief, D plus the four messages to it; ties go to the lowest label.
//
// fixed8 and fixed16 (integers): costs are multiplied by `scale`, so that T becomes `bound` units (31 or
// 4095), and rounded. The constant is the least h, so a message lies in [0, bound]. On every level, a pixel's
// least data cost is subtracted from all of them, and they are cut at 4·bound + 1: against three messages of
// at most `bound` and a step of `bound`, a label that far above the least can neither win nor change a
// message. So a belief is at most 8·bound + 1 = 249 (32761), and unsigned bytes (16 bits) hold everything.
//
// With row_tolerance N, a label is a disparity d and a row offset v from −N to N: left (x, y) shows the same
// point as right (x − d, y + v). Labels are ordered by v, then d. Neighbours that differ cost
//
//   min( w(x, y)·min(|d − d'|, T) + row_weight·|v − v'|, T )
//
// where row offsets do not depend on the edges in the picture, because they do not follow them. So a message
// is a forward and a backward pass over the disparities of each row offset, the minimum with the least h of
// that row offset + w·T, a forward and a backward pass over the row offsets of each disparity, and the
// minimum with min h + T. On coarse levels, row offsets also cost the more, the further they are from those
// of a surface that fits the whole pair (row_prior.h).
//
// On the finest levels, pixels may consider candidate labels only (candidates.h). Other labels are infinitely
// costly to them. The messages that they send have the bound of their edge at those labels: at row offsets
// that they consider, that of a disparity far from all others, which is w·T more than the least where there
// is one row offset; at other row offsets, T more than the least.
//
// float32, float16, bfloat16 (the published algorithm): the constant is the mean of the message; the
// outermost pixels of each level are not updated, and those of the image get no disparity. In float16, data
// costs are clamped to ±65504 on every level: sums of a volume's costs may exceed the range of a half.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "parallax/belief_propagation.h"
#include "parallax/margins.h"

#include "core/plan.h"
#include "core/tuning.h"
#include "data_cost/data_cost.h"
#include "decision/decision.h"
#include "matchers/method.h"

namespace parallax::belief_propagation {

std::unique_ptr<detail::Method> method();

double energy(const BeliefPropagationParameters& parameters, const StereoPair& pair,
              View<const float> disparity);

using On = detail::Backends<BeliefPropagationParameters>;
On::Make make_reference, make_opencl;
On::MakeTuned make_cpu, make_cuda;
On::Space cpu_tuning_space, cuda_tuning_space;

// The kernels' specialisation, as in tuning files: "fixed8, edges".
std::string variant(const BeliefPropagationParameters& parameters);

inline constexpr float highest_half = 65504;

inline bool is_integer(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fixed8 || arithmetic == Arithmetic::fixed16;
}

using data_cost::check_reachable, data_cost::DataCosts, data_cost::edge_index, data_cost::edge_table_size,
    data_cost::gray_channel, data_cost::highest_difference, data_cost::level_sizes, data_cost::per_level,
    data_cost::sample_row, data_cost::smooth_column, data_cost::smooth_row, data_cost::smoothing_weights;

// Values derived from the parameters. Costs are in units: integers in integer arithmetic, else floats whose
// unit is one label of discontinuity.
struct Model : data_cost::CostModel {
  BeliefPropagationParameters parameters;
  float truncation;  // T in labels
  int bound;         // highest message, in units; integer arithmetic only
  float scale;       // units in one label of discontinuity
  // Indexed by the rounded difference in gray levels across an edge, 0…256.
  std::vector<float> slopes, truncations;
  // Costs of a step of one row offset, and of any number of them; in units.
  float row_slope, row_bound;
  float row_prior;  // cost of a row offset one away from the expected one; in units, not rounded

  int data_bound() const { return 4 * bound + 1; }
  // Half-sweeps on a level, of the left match or of the mirrored pair's.
  int iterations(std::size_t level, bool mirrored) const {
    const BeliefPropagationParameters& p = parameters;
    if (level == 0 && mirrored && p.right_finest_iterations > 0) return p.right_finest_iterations;
    return level == 0 && p.finest_iterations > 0 ? p.finest_iterations : p.iterations;
  }
  // Whether only candidates are considered on a level, of `levels` in all. Data costs of the finest level and
  // of the next one then fit as they are, without subtracting a pixel's least first.
  bool has_candidates(std::size_t level, std::size_t levels) const {
    return parameters.arithmetic == Arithmetic::fixed8 && cost == DataCost::census &&
           highest_data_cost() <= static_cast<float>(bound) && level + 1 < levels &&
           level < to_size(parameters.candidate_levels);
  }
  std::size_t candidate_levels(std::size_t levels) const {
    std::size_t count = 0;
    while (has_candidates(count, levels)) ++count;
    return count;
  }
  decision::DecisionRule decision() const {
    return {min_disparity, labels, parameters.sub_pixel, min_row_offset, row_offsets};
  }
};

// \throws Error (argument) for parameters that the arithmetic cannot represent
Model make_model(const BeliefPropagationParameters& parameters);

// \throws Error (argument) as make_model() and data_cost::margins() do
Margins margins(const BeliefPropagationParameters& parameters, const ImageFormat& format, int padding);

}  // namespace parallax::belief_propagation
