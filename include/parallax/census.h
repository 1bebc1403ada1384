// SPDX-License-Identifier: Apache-2.0
/// \file
/// Census matching, coarse to fine: compares pixels by which of their neighbours are brighter, which does not
/// change with the exposure.
#pragma once

#include "parallax/image.h"
#include "parallax/refine.h"
#include "parallax/rows.h"

#pragma GCC visibility push(default)
namespace parallax {

/// The signature of a pixel has a bit for each neighbour in a window, set when the neighbour is brighter than
/// a reference value. `census` compares with the pixel itself (Zabih & Woodfill 1994, "Non-parametric local
/// transforms for computing visual correspondence"), `modified` with the mean of the 3×3 pixels around it
/// (after Fröba & Ernst 2004, "Face detection with the modified census transform"), which has a third of the
/// noise.
enum class CensusTransform {
  census_5x5,    ///< 24 bits
  census_7x7,    ///< 48 bits
  census_9x7,    ///< 62 bits: 9 columns, 7 rows
  census_9x9,    ///< 80 bits
  modified_5x5,  ///< as above, compared with the mean
  modified_7x7,
  modified_9x7,
  modified_9x9,
  /// 16 bits: every second pixel of every second row of 7×7, at ±1 and ±3 (the sparse census of
  /// Humenberger, Zinner, Weber, Kubinger & Vincze 2010, "A fast stereo matching algorithm suitable for
  /// embedded real-time systems").
  sparse_modified_7x7,
};

/// How two pixels are compared.
enum class CensusCost {
  hamming,  ///< number of bits that differ
  /// hamming plus the absolute difference of the gray values, up to ad_truncation (after Mei et al. 2011,
  /// "On building an accurate stereo matching system on graphics hardware").
  ad_census,
};

/// Parameters of census matching. Every combination of allowed values works on every device that runs the
/// matcher. Equations: docs/reference/census.md; specification: src/matchers/census/reference.cpp.
///
/// Presets of the method "census":
/// - `mobile-gpu-2015`: Iodice 2015, "Real-time dense passive stereo vision": modified census 9×9, coarse to
///   fine, 60 disparities, left-right check, fill and median. The values that the talk does not give (the
///   window of the costs, levels, search radius) are chosen by measurement;
/// - `fast`, `balanced`, `accurate`: chosen on the Middlebury pairs of docs/measurements/errors.md;
/// - `default`: the same as `balanced`.
struct CensusParameters {
  int min_disparity = 0;  ///< lowest disparity searched, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of integer disparities searched, from min_disparity up; 1…1,000,000
  CensusTransform transform = CensusTransform::census_9x7;  ///< signature of a pixel
  CensusCost cost = CensusCost::hamming;                    ///< how pixels are compared
  /// For CensusCost::ad_census: larger differences count as this, in gray levels of 8 bits (16-bit values are
  /// divided by 256 first); 1…127.
  int ad_truncation = 20;
  int window = 9;  ///< side of the square window over which costs are summed, in pixels: odd, 1…15
  /// Levels of the pyramid, including the image itself; 1…30. The pyramid ends at a level of one pixel.
  /// 1 = every disparity is searched at full resolution.
  int pyramid_levels = 3;
  /// On each level below the coarsest, the search for a pixel goes from the lowest to the highest estimate
  /// around it on the level above, doubled, and this many disparities beyond both; 1…1000.
  int search_radius = 4;
  /// A pixel becomes `ambiguous` when a searched disparity more than 1 away from the best costs at most this
  /// many per cent more; 0 = accept all; 0…100.
  int uniqueness = 0;
  /// Whether the rows of the right image are moved first. See BeliefPropagationParameters::rows.
  ComparedRows rows = ComparedRows::given;
  /// N: matches are also searched in the N rows above and below, for pairs whose rows do not line up; 0…16. A
  /// label is then a disparity and a row offset (DisparityMap::row_offset). Only on reference and cpu, and
  /// not with ComparedRows::automatic or refit.
  int row_tolerance = 0;
  /// Strength of a smooth surface of row offsets that is fitted to the whole pair: a row offset k rows away
  /// from it costs row_prior·k/10 of the mean cost of a pixel more. 1 = the measured best of every method
  /// that searches rows, 2 = twice that, 0 = no surface: only then do tiles equal the untiled map; 0…1000.
  /// Applies with row_tolerance.
  float row_prior = 1;
  SubPixel sub_pixel = SubPixel::v_shape;  ///< how costs are interpolated between integer disparities
  RefineParameters refine;                 ///< steps after the match

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

}  // namespace parallax
#pragma GCC visibility pop
