// SPDX-License-Identifier: Apache-2.0
/// \file
/// Semi-global matching: smoothness along straight paths through each pixel, from several directions.
///
/// The algorithm is Hirschmüller 2008, "Stereo processing by semiglobal matching and mutual information";
/// with Aggregation::mgm it is Facciolo, de Franchis & Meinhardt 2015, "MGM: a significantly more global
/// matching for stereovision". docs/reference/semi_global.md has the equations;
/// src/matchers/semi_global/reference.cpp is the specification.
#pragma once

#include <optional>
#include <vector>

#include "parallax/data_cost.h"
#include "parallax/image.h"
#include "parallax/refine.h"
#include "parallax/rows.h"

#pragma GCC visibility push(default)
namespace parallax {

/// What a path brings to a pixel.
enum class Aggregation {
  sgm,  ///< the costs of the pixel before it on the path
  mgm,  ///< the mean of those and the costs of the pixel beside the path, at a right angle
};

/// Where the right map of the left-right check comes from. Ties go to the lowest label.
enum class RightMap {
  sums,  ///< a right pixel takes the label with the lowest of the sums that left pixels have for it
  /// A right pixel takes the label of the left pixel with the lowest sum, of those whose label leads to it,
  /// as in StereoSGBM.
  winners,
  match,  ///< the right image is matched, too, which takes twice the time
};

/// Parameters of semi-global matching.
///
/// Costs are in integer units, to which data costs are rounded; energy() is in the same units. Gray levels
/// are those of 8-bit images; 256 values of a 16-bit image are one gray level.
///
/// Presets of the method "sgm":
/// - `default`: 4 paths, the fewest errors on the scenes of docs/measurements/scenes.md;
/// - `mgm`: 8 paths with Aggregation::mgm, a lower P1, and the right image matched, too;
/// - `opencv-sgbm`, `opencv-sgbm-hh`: what OpenCV 4.6 makes of the default arguments of StereoSGBM::create(),
///   with 5 and with 8 paths;
/// - `libsgm`: the settings of libSGM's README.
struct SemiGlobalParameters {
  int min_disparity = 0;  ///< disparity of the first label, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of labels, one per pixel of disparity; 2…1024
  /// Number of paths through each pixel: 8; 5, those of OpenCV's StereoSGBM, which come from the left, the
  /// right, and the row above; or 4, from the left, the right, above and below.
  int paths = 4;
  Aggregation aggregation = Aggregation::sgm;  ///< mgm needs 4 or 8 paths

  /// Any data cost except mean_absolute_difference. The costs of a `volume` are rounded, and clamped to what
  /// fits.
  DataCost cost = DataCost::census;
  float data_weight = 1;  ///< cost of one gray level (or bit) of difference, in units; above 0, to 1000
  /// Larger differences count as this, in gray levels or bits; 0 = no limit; 0…256.
  float data_truncation = 24;
  /// Gray levels by which neighbours must be darker than the centre to count, in a third of a census, or
  /// brighter, in another third: noise in blank regions then changes few bits. 0 = all count as soon as they
  /// are darker (Zabih & Woodfill 1994); 0…64. Other costs ignore it.
  int census_tolerance = 0;
  /// Cost of a label whose right pixel is outside the image or masked, in units; 0…8191. Without a value, a
  /// pixel with any such label has no data costs at all.
  std::optional<int> outside_cost = 20;
  /// Side of the square window over which data costs are added up, in pixels; border pixels are repeated
  /// outside the image; odd, 1…15.
  int window = 1;
  float smoothing = 0;  ///< σ of the Gaussian that first smooths both images, in pixels; 0 = none; 0…30

  /// P1: cost of a change by one label from one pixel of a path to the next, in units; 1…8191.
  int small_jump = 28;
  /// P2: cost of any larger change, in units; above P1, to 8191. The number of paths times the sum of P2 and
  /// the highest data cost is at most 65534.
  int large_jump = 160;
  /// Where neighbours differ by ΔI gray levels, P2 is multiplied by edge_floor + (1 − edge_floor)·exp(−|ΔI| /
  /// edge_contrast), and rounded, but not below P1 + 1. 0 = the same P2 everywhere; 0…256.
  float edge_contrast = 10;
  float edge_floor = 0.05f;  ///< share of P2 that remains at any edge; 0…1

  /// Whether the rows of the right image are moved first. See BeliefPropagationParameters::rows. Not with
  /// DataCost::volume.
  ComparedRows rows = ComparedRows::given;
  /// N: matches are also searched in the N rows above and below, for pairs whose rows do not line up; 0…16. A
  /// label is then a disparity and a row offset (DisparityMap::row_offset). Only on reference and cpu, and
  /// not with ComparedRows::automatic, refit or DataCost::volume.
  int row_tolerance = 0;
  /// P3: cost of any change of the row offset from one pixel of a path to the next, in units, whatever the
  /// edges; 1…8191. Where rows are searched, the higher of P2 and P3 counts in what must fit 16 bits.
  int row_jump = 120;
  /// Strength of a smooth surface of row offsets that is fitted to the whole pair: a row offset k rows away
  /// from it costs row_prior·2·(k − ½) units more, where k is above ½. 1 = the measured best of every method
  /// that searches rows, 2 = twice that, 0 = no surface; 0…1000. Applies with row_tolerance;
  /// 4·row_tolerance·row_prior adds to the highest data cost in what must fit 16 bits.
  float row_prior = 1;

  SubPixel sub_pixel = SubPixel::v_shape;  ///< how sums are interpolated between labels
  /// A pixel becomes `ambiguous` when a label more than one away from the best has a sum that, times 1 −
  /// uniqueness / 100, is less than the lowest, as in StereoSGBM; in percent, 0…100; 0 = accept all.
  int uniqueness = 0;
  /// A pixel becomes `ambiguous` when its confidence is below this, after the left-right check; 0 = accept
  /// all; 0…1. See DisparityMap::confidence.
  float min_confidence = 0;
  RightMap right_map = RightMap::sums;                                            ///< of the left-right check
  RefineParameters refine = {.left_right_tolerance = 0.75f, .speckle_size = 30};  ///< steps after the match

  /// \throws Error (argument) naming the field, its value and the allowed range, also when sums do not fit 16
  /// bits.
  void validate() const;
};

/// Computes the data costs of `pair`, in integer units: label k of pixel (x, y) is element
/// (y·width + x)·disparities + k. Passed as StereoPair::costs, with DataCost::volume and otherwise the same
/// parameters, they give the same labels.
/// \throws Error (argument) as a Matcher does.
std::vector<float> semi_global_costs(const SemiGlobalParameters& parameters, const StereoPair& pair);

}  // namespace parallax
#pragma GCC visibility pop
