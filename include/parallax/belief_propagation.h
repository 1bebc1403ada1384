// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hierarchical belief propagation: approximates the labelling of the image with the lowest total of data and
/// smoothness costs.
///
/// The algorithm is Felzenszwalb & Huttenlocher 2006, "Efficient belief propagation for early vision"; on
/// GPUs and vector CPUs, it follows Grauer-Gray & Cavazos 2010 and Grauer-Gray 2019.
/// docs/reference/belief_propagation.md has the equations; src/matchers/belief_propagation/reference.cpp
/// is the specification.
#pragma once

#include <optional>
#include <vector>

#include "parallax/arithmetic.h"
#include "parallax/data_cost.h"
#include "parallax/image.h"
#include "parallax/refine.h"
#include "parallax/rows.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Parameters of hierarchical belief propagation.
///
/// Gray levels are those of 8-bit images; 256 values of a 16-bit image are one gray level.
///
/// Presets of the method "bp":
/// - `default`: the fewest errors on scenes of all kinds, of those in docs/measurements/scenes.md;
/// - `accurate`: the same with ComparedRows::automatic and a weighted median of 7: slightly fewer errors;
///   not in tiles;
/// - `video`: without a match of the right image, in half the time; with a TemporalFilter, maps of a
///   video are then at least as good as those of `default` without one;
/// - `grauer-gray-2010`: Grauer-Gray & Cavazos 2010: 15 labels for tsukuba, 10 iterations, σ 1;
/// - `grauer-gray-2019`: Grauer-Gray 2019: 7 iterations, no smoothing.
/// The published presets give integer labels, without sub-pixel interpolation or refinement.
///
/// The unit of energy() is the cost of a discontinuity of one label.
struct BeliefPropagationParameters {
  int min_disparity = 0;  ///< disparity of the first label, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of labels, one per pixel of disparity; 2…1024
  /// Levels of the pyramid, including the image itself; 1…30. The pyramid ends at a level of one pixel.
  int levels = 5;
  /// Half-sweeps on each level; each updates one of the two colours of the checkerboard; 1…1000.
  int iterations = 7;
  /// The same on the finest level, the image itself, where fewer suffice; 0 = `iterations`; 0…1000.
  int finest_iterations = 3;
  /// The same in the right match of the left-right check; 0 = as in the left match; 0…1000.
  int right_finest_iterations = 2;
  /// The number of finest levels on which a tile of 8×8 pixels considers only candidate labels: those that
  /// the pixels of the next coarser level, under the tile or next to it, believe most, and labels near them;
  /// 0…2, 0 = all levels consider all labels. Candidates need fixed8, DataCost::census, and data costs of at
  /// most T; otherwise all labels are considered.
  int candidate_levels = 2;
  int candidate_slack = 1;  ///< labels on either side of a believed one that are candidates, too; 0…1024
  int candidate_ranges = 4;  ///< ranges of candidates of a tile, at most; the nearest of more are joined; 1…4
  Arithmetic arithmetic = Arithmetic::fixed8;  ///< format of messages and costs

  /// Any data cost except mean_absolute_difference. In float16, the costs of a `volume`, and their sums over
  /// the children of a coarse pixel, are clamped to ±65504. With costs above 65504 / 4^(levels − 1), coarse
  /// levels lose information, and bfloat16 or float32 is better.
  DataCost cost = DataCost::census;
  float data_weight = 0.04f;  ///< λ: cost of one gray level (or bit) of difference; above 0, to 1000
  /// τ: larger differences count as this, in gray levels or bits; 0 = no limit; 0…256.
  float data_truncation = 20;
  /// Gray levels by which neighbours must be darker than the centre to count, in a third of a census, or
  /// brighter, in another third: noise in blank regions then changes few bits. 0 = all count as soon as they
  /// are darker (Zabih & Woodfill 1994); 0…64. Other costs ignore it.
  int census_tolerance = 1;
  /// Cost of a label whose right pixel is outside the image or masked; 0…1000. Without a value, a pixel with
  /// any such label has no data cost at all, as in the published algorithm.
  std::optional<float> outside_cost = 1.6f;
  float smoothing = 0;  ///< σ of the Gaussian that first smooths both images, in pixels; 0 = none; 0…30

  /// Whether the rows of the right image are moved before the match, for pairs that are not perfectly
  /// rectified. They are moved in the memory of the host, so run() works on every device, and enqueue() is
  /// refused; finding the corners takes some memory for a moment. Not in tiles, and not with
  /// DataCost::volume.
  ComparedRows rows = ComparedRows::given;

  /// N: matches are also searched in the N rows above and below, for pairs whose rows do not line up; 0…16. A
  /// label is then a disparity and a row offset (DisparityMap::row_offset). Only on reference and cpu, and
  /// not with ComparedRows::automatic, refit or DataCost::volume.
  int row_tolerance = 0;
  /// Neighbours whose row offsets differ by k cost row_weight·k more, and T at most in all, whatever the
  /// edges; 0…1024.
  float row_weight = 4;
  /// Strength of a smooth surface of row offsets that is fitted to the whole pair: a row offset k rows away
  /// from it costs row_prior·k/10 labels (as T) more, for each pixel of the image. 1 = the measured best of
  /// every method that searches rows, 2 = twice that, 0 = no surface; 0…1000. Applies with row_tolerance, on
  /// every level that considers all labels, except the finest.
  float row_prior = 1;

  /// T: neighbours that differ by k labels cost min(k, T); 0 = disparities / 7.5; 0…1024.
  float discontinuity_truncation = 6;
  /// Where neighbours differ by ΔI gray levels, smoothness is multiplied by
  /// edge_floor + (1 − edge_floor)·exp(−|ΔI| / edge_contrast). 0 = the same smoothness everywhere; 0…256.
  float edge_contrast = 12;
  float edge_floor = 0.05f;  ///< share of the smoothness that remains at any edge; 0…1

  SubPixel sub_pixel = SubPixel::v_shape;  ///< how beliefs are interpolated between labels
  /// A pixel becomes `ambiguous` when its confidence is below this, after the left-right check; 0 = accept
  /// all; 0…1. See DisparityMap::confidence.
  float min_confidence = 0;
  RefineParameters refine = {.left_right_tolerance = 0.75f, .speckle_size = 0};  ///< steps after the match

  /// \throws Error (argument) naming the field, its value and the allowed range, also when the arithmetic
  /// cannot represent the parameters.
  void validate() const;
};

/// Computes the data costs of `pair` at full resolution, rounded as `parameters.arithmetic` rounds them:
/// label k of pixel (x, y) is element (y·width + x)·disparities + k. Passed as StereoPair::costs, with
/// DataCost::volume and otherwise the same parameters, they give the same labels if all levels consider all
/// labels (`candidate_levels` 0).
/// \throws Error (argument) as a Matcher does.
std::vector<float> belief_propagation_costs(const BeliefPropagationParameters& parameters,
                                            const StereoPair& pair);

}  // namespace parallax
#pragma GCC visibility pop
