// SPDX-License-Identifier: Apache-2.0
/// \file
/// Planes as labels: every pixel gets a disparity and two slopes, so that slanted and curved surfaces come out
/// smooth, to a fraction of a pixel.
///
/// The map of semi-global matching is improved by local expansion moves: planes are offered to cells of
/// pixels, and each pixel of a cell takes the new plane or keeps its own, such that an energy falls.
/// Labels and energy are those of Olsson, Ulén & Boykov 2013, "In defense of 3D-label stereo";
/// the moves follow Taniai, Matsushita, Sato & Naemura 2018, "Continuous 3D label stereo matching using local
/// expansion moves". docs/reference/planes.md has the equations; src/matchers/planes/reference.cpp is the
/// specification.
#pragma once

#include "parallax/image.h"
#include "parallax/refine.h"
#include "parallax/rows.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Parameters of planes as labels. The method needs semi-global matching ("sgm") in the library.
///
/// Gray levels are those of 8-bit images; 256 values of a 16-bit image are one gray level.
///
/// Presets of the method "planes":
/// - `default`: the fewest errors on scenes of all kinds.
struct PlanesParameters {
  int min_disparity = 0;  ///< lowest disparity, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< range of disparities, in pixels; 2…1024
  int rounds = 1;         ///< rounds of moves of each size; 1…100
  /// λ: cost of one bit of difference between the census signatures of two pixels, in pixels of jump; the
  /// other terms of the data cost grow with it; above 0, to 0.25.
  float data_weight = 0.04f;
  /// τ: a larger jump between the planes of neighbours costs as much as this, in pixels; above 0, to 2.
  float discontinuity_truncation = 2;
  /// Where neighbours differ by ΔI gray levels, smoothness is multiplied by
  /// edge_floor + (1 − edge_floor)·exp(−|ΔI| / edge_contrast). 0 = the same smoothness everywhere; 0…256.
  float edge_contrast = 10;
  float edge_floor = 0.05f;  ///< share of the smoothness that remains at any edge; 0…1
  /// Whether the rows of the right image are moved before the match. See BeliefPropagationParameters::rows.
  ComparedRows rows = ComparedRows::given;
  /// A pixel becomes `ambiguous` when its confidence is below this, after the left-right check; 0 = accept
  /// all; 0…1. See DisparityMap::confidence.
  float min_confidence = 0;
  RefineParameters refine = {.speckle_size = 0};  ///< steps after the match

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

}  // namespace parallax
#pragma GCC visibility pop
