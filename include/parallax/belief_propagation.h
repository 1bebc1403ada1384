// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hierarchical belief propagation: the labelling of the whole image that costs least, data and smoothness
/// together.
///
/// Felzenszwalb & Huttenlocher 2006, "Efficient belief propagation for early vision"; on GPUs and vector CPUs
/// Grauer-Gray & Cavazos 2010 and Grauer-Gray 2019. docs/belief_propagation.md has the equations;
/// src/matchers/belief_propagation/reference.cpp is the specification.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parallax/data_cost.h"
#include "parallax/image.h"
#include "parallax/refine.h"

#pragma GCC visibility push(default)
namespace parallax {

/// What messages and costs are kept and computed in.
enum class Arithmetic {
  /// Unsigned bytes: whole numbers, messages of at most 31 units. The same labels on every device.
  fixed8,
  /// The same in 16 bits, messages of at most 4095 units, for what 31 steps cannot tell apart.
  fixed16,
  /// The published algorithm: messages less their mean; the outermost pixels take part as they come from the
  /// coarser level, and get no disparity.
  float32,
  float16,   ///< float32 with messages and costs kept in IEEE half precision
  bfloat16,  ///< float32 with messages and costs kept in bfloat16
};

/// Parameters of hierarchical belief propagation.
///
/// Gray levels are those of 8-bit images; of a 16-bit image, 256 values are one gray level.
///
/// Presets of the method "bp":
/// - `default`: the best mean error on the Middlebury pairs of docs/belief_propagation.md;
/// - `grauer-gray-2010`: Grauer-Gray & Cavazos 2010: 15 labels for tsukuba, 10 iterations, σ 1;
/// - `grauer-gray-2019`: Grauer-Gray 2019: 7 iterations, no smoothing.
/// The published ones give integer labels, without sub-pixel interpolation or refinement.
///
/// energy() is in units of one label of discontinuity.
struct BeliefPropagationParameters {
  int min_disparity = 0;  ///< disparity of the first label, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of labels, one a pixel of disparity; 2…1024
  /// Levels of the pyramid, the image itself included; 1…30. No more are made than it takes to come down to
  /// one pixel.
  int levels = 5;
  /// Half-sweeps on each level: each updates one of the two colours of the checkerboard; 1…1000.
  int iterations = 7;
  Arithmetic arithmetic = Arithmetic::fixed8;

  /// All but mean_absolute_difference. In float16, costs of a `volume`, and their sums over the children of a
  /// coarse pixel, count as ±65504 where they are beyond: with costs above 65504 / 4^(levels − 1), coarse
  /// levels tell less, and bfloat16 or float32 are better.
  DataCost cost = DataCost::census;
  float data_weight = 0.04f;  ///< λ: cost of one gray level (or bit) of difference; above 0, to 1000
  /// τ: differences count up to this, in gray levels or bits; 0 = all of them; 0…256.
  float data_truncation = 0;
  /// Cost of a label whose right pixel is outside the image or masked; 0…1000. Without a value, as published:
  /// a pixel with any such label has no data cost at all.
  std::optional<float> outside_cost = 1.6f;
  float smoothing = 0;  ///< σ of a Gaussian over both images before, in pixels; 0 = none; 0…30

  /// T: two neighbours cost one for each label between them, up to this many; 0 = disparities / 7.5; 0…1024.
  float discontinuity_truncation = 5;
  /// Where neighbours differ by ΔI gray levels, smoothness is multiplied by
  /// edge_floor + (1 − edge_floor)·exp(−|ΔI| / edge_contrast). edge_contrast 0 = everywhere alike; 0…256.
  float edge_contrast = 10;
  float edge_floor = 0.05f;  ///< 0…1

  SubPixel sub_pixel = SubPixel::parabola;  ///< of the beliefs
  /// A pixel becomes `ambiguous` when its confidence is below this; 0 = accept all; 0…1. With g the gap
  /// between the lowest belief and the lowest more than one label away from it, the confidence is g / (g +
  /// T).
  float min_confidence = 0;
  RefineParameters refine = {.speckle_size = 0};

  /// \throws Error (argument) naming the field, its value and the allowed range, also where the arithmetic
  /// cannot hold the parameters.
  void validate() const;
};

/// The data costs of `pair`, before the pyramid, as `parameters.arithmetic` rounds them: label k of pixel
/// (x, y) is element (y·width + x)·disparities + k. Given back as StereoPair::costs, with DataCost::volume
/// and otherwise the same parameters, they lead to the same labels. \throws Error (argument) as a Matcher
/// does
std::vector<float> belief_propagation_costs(const BeliefPropagationParameters& parameters,
                                            const StereoPair& pair);

}  // namespace parallax
#pragma GCC visibility pop
