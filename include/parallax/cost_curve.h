// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a method weighs at one pixel, to see why it has its disparity.
#pragma once

#include <vector>

#include "parallax/image.h"
#include "parallax/parameters.h"

#pragma GCC visibility push(default)
namespace parallax {

/// The costs of all labels at a pixel, in the units of the method. +infinity: the method does not consider
/// the label there. Where rows are searched, too, labels are disparities, each at the row offset of its
/// lowest total.
struct CostCurve {
  int min_disparity = 0;          ///< disparity of the first label, in pixels
  std::vector<float> data_costs;  ///< for each label, how badly it fits: the cost of its window
  /// For each label, what the method minimises: beliefs of belief propagation, sums over paths of semi-global
  /// matching, and the data costs of the labels that census matching's coarser levels left. Empty for block
  /// matching, which minimises its data costs.
  std::vector<float> totals;

  /// What the method minimises.
  const std::vector<float>& decisive() const { return totals.empty() ? data_costs : totals; }
  bool operator==(const CostCurve&) const = default;  ///< compares every member
};

/// Computes the costs at column x and row y of the left image, before any step after the match. The method's
/// reference matches the surroundings of the pixel. Data costs are exact. Totals, which depend on all of the
/// image, are those of the surroundings and 48 pixels more on every side: nearly the same. With row_prior,
/// the surface of row offsets is that of the surroundings, too; data costs of semi-global matching contain
/// what it adds.
/// \throws Error (argument) as margins() does, for a pixel outside the image, and for a pair that a Matcher
/// refuses.
CostCurve cost_curve(const MatcherParameters& parameters, const StereoPair& pair, int x, int y);

}  // namespace parallax
#pragma GCC visibility pop
