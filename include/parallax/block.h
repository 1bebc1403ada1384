// SPDX-License-Identifier: Apache-2.0
/// \file
/// Block matching: finds, for each pixel of the left image, the disparity at which the window in the right
/// image is most similar.
#pragma once

#include "parallax/image.h"
#include "parallax/refine.h"
#include "parallax/rows.h"

#pragma GCC visibility push(default)
namespace parallax {

/// How two windows are compared.
enum class BlockCost {
  sad,   ///< sum of absolute differences
  ssd,   ///< sum of squared differences
  zncc,  ///< zero-mean normalised cross-correlation: invariant to gain and offset between the cameras
};

/// Filter applied to both images first.
enum class Prefilter {
  none,
  /// Horizontal Sobel derivative, clipped to ±prefilter_cap. It removes brightness differences between the
  /// cameras that vary slowly over the image.
  x_sobel,
};

/// Parameters of block matching. Every combination of allowed values works on every device that runs the
/// matcher. docs/reference/block.md has the equations; src/matchers/block/reference.cpp is the specification.
///
/// Presets of the method "block":
/// - `default`: the best mean error on the Middlebury pairs of docs/measurements/errors.md;
/// - `sad-full-row`: only 5×5 SAD over every column of the row, as in the study of Yu Hailin,
///   "GPU-accelerated depth recovery". docs/measurements/papers.md compares its times with ours.
struct BlockParameters {
  int min_disparity = 0;  ///< lowest disparity searched, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of integer disparities searched, from min_disparity up; 1…1,000,000
  /// Searches every column of the right row instead; min_disparity and disparities are then ignored.
  bool full_row = false;
  int window = 9;                            ///< side of the square window, in pixels: odd, 1…31
  BlockCost cost = BlockCost::sad;           ///< how windows are compared
  Prefilter prefilter = Prefilter::x_sobel;  ///< applied to both images first
  /// Limit of the Sobel response, in 8-bit gray levels (256ths of the values of 16-bit images); 1…127.
  int prefilter_cap = 31;
  /// A pixel becomes `ambiguous` when a disparity more than 1 away from the best costs at most this many per
  /// cent more; 0 = accept all; 0…100.
  int uniqueness = 0;
  /// A pixel becomes `textureless` when the absolute Sobel responses (clipped at prefilter_cap) in its left
  /// window sum to less than this, in 8-bit gray levels; 0 = accept all; 0 or more.
  int texture_threshold = 0;
  /// Whether the rows of the right image are moved first. See BeliefPropagationParameters::rows.
  ComparedRows rows = ComparedRows::given;
  /// N: matches are also searched in the N rows above and below, for pairs whose rows do not line up; 0…16. A
  /// label is then a disparity and a row offset (DisparityMap::row_offset). Each pixel takes the row offset
  /// that its neighbourhood prefers, or the whole pair (row_prior), and in that row the cheapest disparity.
  /// Only on reference and cpu, and not with ComparedRows::automatic or refit.
  int row_tolerance = 0;
  /// Strength of a smooth surface of row offsets that is fitted to the whole pair: a row offset k rows away
  /// from it costs row_prior·k/10 of the mean cost of a pixel more. 1 = the measured best of every method
  /// that searches rows, 2 = twice that, 0 = no surface: only then do tiles equal the untiled map; 0…1000.
  /// Applies with row_tolerance.
  float row_prior = 1;
  SubPixel sub_pixel = SubPixel::parabola;  ///< how costs are interpolated between integer disparities
  RefineParameters refine;                  ///< steps after the match

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

}  // namespace parallax
#pragma GCC visibility pop
