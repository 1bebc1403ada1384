// SPDX-License-Identifier: Apache-2.0
// Semi-global matching, Hirschmüller 2008: for each of several directions r, a pixel p has path costs
//
//   L_r(p, d) = C(p, d) + T_r(p − r, d)
//   T_r(q, d) = min( L_r(q, d), L_r(q, d ± 1) + P1, min_k L_r(q, k) + P2 ) − min_k L_r(q, k)
//
// where C is the sum of the data costs over a window, T is 0 beyond the border, and P2 depends on the
// difference in gray between p and q. The label of a pixel is that with the lowest sum
// S(p, d) = Σ_r L_r(p, d); ties go to the lowest label.
//
// MGM, Facciolo, de Franchis & Meinhardt 2015: T_r(p − r, d) is replaced by the mean, rounded up, of
// T_r(p − r, d) and T_r(p − r', d), where r' is r turned by a right angle, (dx, dy) → (−dy, dx). Beyond the
// border, a T is 0.
//
// With row_tolerance, a label is a disparity d and a row offset v, ordered by v, then d, and
//
//   T_r(q, d, v) = min( L_r(q, d, v), L_r(q, d ± 1, v) + P1, min_k L_r(q, k, v) + P2, min L_r(q) + P3 )
//                  − min L_r(q)
//
// where P3 does not depend on gray: row offsets do not follow image edges. C also grows with the distance of
// v from a surface of row offsets that fits the whole pair (row_prior.h).
//
// All numbers are integers. L lies in [0, C + P2], or P3 where that is higher, so it fits bytes where the
// highest C and that jump add up to at most 255, and 16 bits otherwise; S always fits 16 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "parallax/margins.h"
#include "parallax/semi_global.h"

#include "core/integers.h"
#include "core/plan.h"
#include "core/tuning.h"
#include "data_cost/data_cost.h"
#include "decision/decision.h"
#include "matchers/method.h"

namespace parallax::semi_global {

std::unique_ptr<detail::Method> method();

double energy(const SemiGlobalParameters& parameters, const StereoPair& pair, View<const float> disparity);

using On = detail::Backends<SemiGlobalParameters>;
On::Make make_reference, make_cpu, make_opencl;
On::MakeTuned make_cuda;
On::Space cuda_tuning_space;

// The highest sum; 65535 stands for none.
inline constexpr int highest_sum = 65534;
inline constexpr int highest_jump = 8191;

// The steps from a pixel to the next one of a path.
struct Step {
  int x, y;
  Step turned() const { return {-y, x}; }
};

// Of 4, 5 or 8 paths.
std::span<const Step> steps_of(int paths);

// Values derived from the parameters. Costs are in units.
struct Model : data_cost::CostModel {
  SemiGlobalParameters parameters;
  std::vector<int> large_jumps;  // P2, by edge_index() of the difference in gray

  // The highest cost of a pixel, and of a window.
  int highest_pixel_cost() const {
    return static_cast<int>(cost == DataCost::volume ? volume_limit : highest_data_cost());
  }
  // The cost of a row away from the surface, in units.
  float row_prior() const { return 2 * parameters.row_prior; }
  // What a row offset costs at most, because it is not the one that is expected (row_prior.h).
  int highest_row_cost() const {
    return static_cast<int>(std::ceil(row_prior() * static_cast<float>(row_offsets - 1)));
  }
  int highest_cost() const {
    return parameters.window * parameters.window * highest_pixel_cost() + highest_row_cost();
  }
  // The most that T can be.
  int highest_jump() const {
    return row_offsets == 1 ? parameters.large_jump : std::max(parameters.large_jump, parameters.row_jump);
  }
  bool fits_bytes() const { return highest_cost() + highest_jump() <= 255; }
  decision::DecisionRule decision() const {
    return {min_disparity, labels, parameters.sub_pixel, min_row_offset, row_offsets};
  }
};

// \throws Error (argument) where sums do not fit 16 bits
Model make_model(const SemiGlobalParameters& parameters);

// \throws Error (argument) as make_model() and data_cost::margins() do
Margins margins(const SemiGlobalParameters& parameters, const ImageFormat& format, int padding);

// How the labels of a pixel are distributed over the threads of a GPU that share it, its lanes.

struct Dealing {
  int lanes = 1, per_lane = 0;
  int labels() const { return lanes * per_lane; }
};

// Few labels per lane mean more threads, many mean that lanes exchange less. `wanted_per_lane`: 0 = default.
inline Dealing deal(int labels, int wanted_per_lane = 0) {
  constexpr int max_lanes = 32;
  const int wanted = wanted_per_lane > 0 ? wanted_per_lane : labels <= 32 ? 8 : 16;
  Dealing dealing;
  while (dealing.lanes < max_lanes && dealing.lanes * wanted < labels) dealing.lanes *= 2;
  dealing.per_lane = round_up(divide_round_up(labels, dealing.lanes), 4);
  return dealing;
}

// Whether the lowest sum of another label, more than one away, is too near to the lowest of all.
inline bool is_ambiguous(const decision::Beliefs& sums, int uniqueness) {
  return sums.rival < decision::no_value &&
         sums.rival * static_cast<float>(100 - uniqueness) < sums.best * 100.0f;
}

}  // namespace parallax::semi_global
