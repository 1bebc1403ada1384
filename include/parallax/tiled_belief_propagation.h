// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiled belief propagation: messages sweep over one small tile of the image after the other, and only those
/// that cross from a tile to the next are kept.
///
/// BP-M sweeps: Tappen & Freeman 2003. Tiles: Liang, Cheng, Lai, Chen & Chen 2011, "Hardware-efficient belief
/// propagation". On a GPU, as the MEMOCODE 2013 design contest was won with it: Eslami, Kasampalis &
/// Kotsifakou 2013, Kotsifakou 2019. docs/tiled_belief_propagation.md has the equations;
/// src/matchers/tiled_belief_propagation/reference.cpp is the specification.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parallax/data_cost.h"
#include "parallax/image.h"
#include "parallax/refine.h"

#pragma GCC visibility push(default)
namespace parallax {

/// The order of the four sweeps of an iteration. As messages up and down never meet, both give the same
/// result; published programs differ.
enum class SweepOrder { right_left_down_up, right_left_up_down };

/// Bits that a message's values are kept in. Never changes a result.
enum class MessageWidth {
  automatic,  ///< 8 where λ·K is at most 255, else 16
  bits8,
  bits16,
};

/// Parameters of tiled belief propagation.
///
/// The cost of a labelling, and its energy(), is an integer number of units: data costs are rounded to them.
///
/// Presets of the method "tiled-bp":
/// - `default`: the best mean error on the Middlebury pairs of docs/tiled_belief_propagation.md that small
///   tiles and few iterations reach;
/// - `memocode-2013`: the design contest's model, and the winner's tiles of 13, one outer and one inner
///   iteration;
/// - `memocode-2013-tuned`: the same on smoothed images, which halves the mismatches on the contest's pair.
/// The contest's give integer labels, without sub-pixel interpolation or refinement.
struct TiledBeliefPropagationParameters {
  int min_disparity = 0;  ///< disparity of the first label, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of labels, one a pixel of disparity; 2…1024
  /// Side of a tile, in pixels; 0 = the whole image is one tile, which keeps the messages inside it from one
  /// visit to the next; 0…4096.
  int tile = 32;
  /// Outer iterations, each a visit of all tiles in raster order and one in reverse; 1…1000.
  int outer = 1;
  /// Inner iterations of a visit, each four sweeps over the tile; 1…1000. The whole image as one tile gets
  /// 2·outer·inner of them in all.
  int inner = 2;
  SweepOrder sweep_order = SweepOrder::right_left_down_up;
  int discontinuity_cost = 8;  ///< λ: two neighbours cost this for each label between them, in units; 1…8191
  /// K: up to this many labels; 1…1024. λ·K is at most 8191.
  int discontinuity_truncation = 5;
  MessageWidth message_width = MessageWidth::automatic;

  DataCost cost = DataCost::census;
  float data_weight = 0.8f;  ///< units of one gray level (or bit) of difference; above 0, to 1000
  /// Differences count up to this, in gray levels or bits; 0 = all of them; 0…256.
  float data_truncation = 0;
  /// Units of a label whose right pixel is outside the image or masked; 0…8191. Without a value, a pixel with
  /// any such label has no data costs at all.
  std::optional<int> outside_cost = 33;
  float smoothing = 0;  ///< σ of a Gaussian over both images before, in pixels; 0 = none; 0…30
  int frame = 0;  ///< pixels nearer to the border of the image than this have no data costs; 0…1,000,000

  SubPixel sub_pixel = SubPixel::parabola;  ///< of the beliefs
  /// A pixel becomes `ambiguous` when its confidence is below this; 0 = accept all; 0…1. With g the gap
  /// between the lowest belief and the lowest more than one label away from it, the confidence is g / (g +
  /// λ·K).
  float min_confidence = 0;
  RefineParameters refine = {.speckle_size = 0};

  /// A visit ends after an inner iteration that changed no message: those to come would not, either. Never
  /// changes a result. The cuda device makes all iterations.
  bool early_out = true;

  /// \throws Error (argument) naming the field, its value and the allowed range, also where the message width
  /// cannot hold λ·K.
  void validate() const;
};

/// The data costs of `pair`, in whole units: label k of pixel (x, y) is element (y·width + x)·disparities +
/// k. Given back as StereoPair::costs, with DataCost::volume and otherwise the same parameters, they lead to
/// the same labels. \throws Error (argument) as a Matcher does
std::vector<float> tiled_belief_propagation_costs(const TiledBeliefPropagationParameters& parameters,
                                                  const StereoPair& pair);

}  // namespace parallax
#pragma GCC visibility pop
