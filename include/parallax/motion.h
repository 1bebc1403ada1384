// SPDX-License-Identifier: Apache-2.0
/// \file
/// Motion: where each pixel of one frame is in another one, by belief propagation over labels of two
/// dimensions.
///
/// A label is an offset of columns and rows. The algorithm is that of the method "bp" (Felzenszwalb &
/// Huttenlocher 2006) with messages that are separable in both axes; large ranges are searched coarse to
/// fine. docs/reference/motion.md has the equations; src/matchers/motion/reference.cpp is the specification.
#pragma once

#include <cstdint>

#include "parallax/arithmetic.h"
#include "parallax/data_cost.h"
#include "parallax/device.h"
#include "parallax/flow.h"
#include "parallax/image.h"
#include "parallax/refine.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Parameters of motion.
///
/// The frames take the places of the left and the right image of a pair: left (x, y) shows the same point as
/// right (x − disparity, y + row_offset). So the motion from the first frame to the second one is
/// (−disparity, row_offset). DisparityMap::row_offset receives the second component. match_motion() turns the
/// sign; ranges keep that of disparities.
///
/// Gray levels are those of 8-bit images; 256 values of a 16-bit image are one gray level.
///
/// Presets of the method "motion":
/// - `default`: coarse to fine, for motions of up to 64 pixels along each axis;
/// - `all-labels`: every pixel considers all labels, of motions of up to 15 columns and 7 rows, with half the
///   iterations.
struct MotionParameters {
  int min_disparity = -64;   ///< disparity of the first label, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 129;     ///< number of labels along a row, one per pixel; 1…4096
  int min_row_offset = -64;  ///< row offset of the first label, in pixels, any sign; −1,000,000…1,000,000
  int row_offsets = 129;     ///< number of labels along a column, one per pixel; 1…4096
  /// Side of the square of labels that a pixel considers, around the motion that the next coarser scale
  /// found; 0 = all labels, and no scales; or odd, 3…7.
  int active_window = 7;
  /// Cost of each pixel by which a motion differs from the one that the next coarser scale found; 0…1000.
  float prediction_weight = 0.02f;
  /// Levels of the pyramid of messages, including the image itself, where all labels are considered; 1…30.
  int levels = 5;
  /// Half-sweeps on each level and scale; each updates one of the two colours of the checkerboard; 1…1000.
  int iterations = 14;
  /// The same on the image itself, where fewer suffice; 0 = `iterations`; 0…1000.
  int finest_iterations = 8;
  Arithmetic arithmetic = Arithmetic::fixed8;  ///< fixed8, fixed16 or float32

  DataCost cost = DataCost::census;  ///< census or absolute_difference
  float data_weight = 0.04f;         ///< λ: cost of one gray level (or bit) of difference; above 0, to 1000
  /// τ: larger differences count as this, in gray levels or bits; 0 = no limit; 0…256.
  float data_truncation = 0;
  float outside_cost = 1.6f;  ///< cost of a label whose right pixel is outside the image or masked; 0…1000
  float smoothing = 0;  ///< σ of the Gaussian that first smooths both images, in pixels; 0 = none; 0…30

  /// T: neighbours whose motions differ by k columns and l rows cost min(k + l, T); above 0, to 1024.
  float discontinuity_truncation = 5;
  /// Where neighbours differ by ΔI gray levels, smoothness is multiplied by
  /// edge_floor + (1 − edge_floor)·exp(−|ΔI| / edge_contrast). 0 = the same smoothness everywhere; 0…256.
  float edge_contrast = 14;
  float edge_floor = 0.05f;  ///< share of the smoothness that remains at any edge; 0…1

  SubPixel sub_pixel = SubPixel::v_shape;  ///< how beliefs are interpolated between labels, on each axis
  /// A pixel becomes `ambiguous` when its confidence is below this; 0 = accept all; 0…1. The confidence is
  /// g / (g + T), where g is the gap between the lowest belief and the lowest one of a label more than one
  /// away on an axis, of those that the pixel considers. Without a second one the confidence is 1.
  float min_confidence = 0;
  /// Steps after the match. The check also matches from the second frame to the first; both components must
  /// agree. `refit` fits fractions to gray levels by a step of Lucas & Kanade 1981, in place of census costs.
  /// Fill::directions takes the vector median of the nearest motions in eight directions. Medians are those
  /// of each component. Other fills, the speckle filter and the bilateral filter are not available.
  RefineParameters refine = {.left_right_tolerance = 0.75f,
                             .speckle_size = 0,
                             .refit = 15,
                             .fill = Fill::directions,
                             .weighted_median = 11,
                             .weighted_median_range = 20};

  /// \throws Error (argument) naming the field, its value and the allowed range, also when the arithmetic
  /// cannot represent the parameters.
  void validate() const;
};

/// The motion of each pixel of a frame.
struct MotionResult {
  Flow motion;  ///< columns to the right and rows downwards, as in a .flo file; +infinity = none
  Plane<std::uint8_t> status;  ///< values of Status
};

/// Finds the motion from the first frame to the second one: match(), with vectors in place of disparities,
/// whose sign is the other one, and row offsets.
/// \throws Error as match() does.
MotionResult match_motion(const ImageView& first, const ImageView& second,
                          const MotionParameters& parameters = {},
                          const Device& device = Device::parse("auto"));

}  // namespace parallax
#pragma GCC visibility pop
