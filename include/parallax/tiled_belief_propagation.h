// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiled belief propagation: messages sweep over one small tile of the image after another, and only messages
/// that cross from one tile to the next are kept.
///
/// The BP-M sweeps are those of Tappen & Freeman 2003; the tiles are those of Liang, Cheng, Lai, Chen & Chen
/// 2011, "Hardware-efficient belief propagation". The GPU version follows the winners of the MEMOCODE 2013
/// design contest: Eslami, Kasampalis & Kotsifakou 2013, Kotsifakou 2019.
/// docs/reference/tiled_belief_propagation.md has the equations; reference.cpp is the specification.
#pragma once

#include <optional>
#include <vector>

#include "parallax/data_cost.h"
#include "parallax/image.h"
#include "parallax/refine.h"
#include "parallax/rows.h"

#pragma GCC visibility push(default)
namespace parallax {

/// The order of the four sweeps of an iteration. Both orders give the same result, because upward and
/// downward messages do not depend on each other; published programs differ.
enum class SweepOrder { right_left_down_up, right_left_up_down };

/// Number of bits in which the values of a message are stored. Never changes a result.
enum class MessageWidth {
  automatic,  ///< 8 where λ·K is at most 255, else 16
  bits8,
  bits16,
};

/// Parameters of tiled belief propagation.
///
/// Costs are in integer units, to which data costs are rounded; energy() is in the same units.
///
/// Presets of the method "tiled-bp":
/// - `default`: the best mean error on the Middlebury pairs of docs/measurements/errors.md that small
///   tiles and few iterations reach;
/// - `memocode-2013`: the model of the design contest with the winners' tiles of 13 pixels, one outer and one
///   inner iteration;
/// - `memocode-2013-tuned`: the same model on smoothed images with tiles of 32 pixels, which halves the
///   mismatches on the contest's pair.
/// The contest presets give integer labels, without sub-pixel interpolation or refinement.
struct TiledBeliefPropagationParameters {
  int min_disparity = 0;  ///< disparity of the first label, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of labels, one per pixel of disparity; 2…1024
  /// Side of a tile, in pixels, 0…4096; 0 = the whole image is one tile, which keeps the messages inside it
  /// from one visit to the next.
  int tile = 32;
  /// Outer iterations; each visits all tiles in raster order and then in reverse; 1…1000.
  int outer = 1;
  /// Inner iterations of a visit; each makes four sweeps over the tile; 1…1000. An image that is one tile
  /// gets 2·outer·inner of them in total.
  int inner = 2;
  SweepOrder sweep_order = SweepOrder::right_left_down_up;  ///< never changes a result
  /// λ: neighbours that differ by k labels cost λ·min(k, K), in units; 1…8191.
  int discontinuity_cost = 8;
  /// K: the number of labels beyond which a larger difference costs no more; 1…1024. λ·K is at most 8191.
  int discontinuity_truncation = 5;
  MessageWidth message_width = MessageWidth::automatic;  ///< never changes a result

  DataCost cost = DataCost::census;  ///< any data cost
  float data_weight = 0.8f;  ///< cost of one gray level (or bit) of difference, in units; above 0, to 1000
  /// Larger differences count as this, in gray levels or bits; 0 = no limit; 0…256.
  float data_truncation = 0;
  /// Gray levels by which neighbours must be darker than the centre to count, in a third of a census, or
  /// brighter, in another third: noise in blank regions then changes few bits. 0 = all count as soon as they
  /// are darker (Zabih & Woodfill 1994); 0…64. Other costs ignore it.
  int census_tolerance = 0;
  /// Cost of a label whose right pixel is outside the image or masked, in units; 0…8191. Without a value, a
  /// pixel with any such label has no data costs at all.
  std::optional<int> outside_cost = 33;
  float smoothing = 0;  ///< σ of the Gaussian that first smooths both images, in pixels; 0 = none; 0…30
  int frame = 0;  ///< pixels nearer to the border of the image than this have no data costs; 0…1,000,000

  /// Whether the rows of the right image are moved first. See BeliefPropagationParameters::rows. Not with
  /// DataCost::volume.
  ComparedRows rows = ComparedRows::given;
  SubPixel sub_pixel = SubPixel::parabola;  ///< how beliefs are interpolated between labels
  /// A pixel becomes `ambiguous` when its confidence is below this, after the left-right check; 0 = accept
  /// all; 0…1. See DisparityMap::confidence.
  float min_confidence = 0;
  RefineParameters refine = {.left_right_tolerance = 0.75f, .speckle_size = 0};  ///< steps after the match

  /// Ends a visit after an inner iteration that changed no message, because later ones would not change any
  /// either. Never changes a result. The cuda device ignores it and makes all iterations.
  bool early_out = true;

  /// \throws Error (argument) naming the field, its value and the allowed range, also when the message width
  /// cannot hold λ·K.
  void validate() const;
};

/// Computes the data costs of `pair`, in integer units: label k of pixel (x, y) is element
/// (y·width + x)·disparities + k. Passed as StereoPair::costs, with DataCost::volume and otherwise the same
/// parameters, they give the same labels.
/// \throws Error (argument) as a Matcher does.
std::vector<float> tiled_belief_propagation_costs(const TiledBeliefPropagationParameters& parameters,
                                                  const StereoPair& pair);

}  // namespace parallax
#pragma GCC visibility pop
