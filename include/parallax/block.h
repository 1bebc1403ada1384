// SPDX-License-Identifier: Apache-2.0
/// \file
/// Block matching: for each pixel of the left image, the disparity whose window in the right image differs
/// least.
#pragma once

#include <string_view>
#include <vector>

#include "parallax/image.h"
#include "parallax/refine.h"

#pragma GCC visibility push(default)
namespace parallax {

enum class BlockCost {
  sad,   ///< sum of absolute differences
  ssd,   ///< sum of squared differences
  zncc,  ///< zero-mean normalised cross-correlation: blind to gain and offset between the cameras
};

enum class Prefilter {
  none,
  /// Horizontal Sobel derivative, clipped to ±prefilter_cap: removes slow brightness differences between the
  /// cameras.
  x_sobel,
};

/// Parameters of block matching. Every combination of allowed values works on every device that takes the
/// matcher. docs/block.md has the equations; src/matchers/block/reference.cpp is the specification.
///
/// Presets of the method "block":
/// - `default`: the best mean error on the Middlebury pairs of docs/block.md;
/// - `sad-full-row`: 5×5 SAD over every column of the row, nothing else: the study of Yu Hailin,
///   "GPU-accelerated depth recovery". docs/block.md compares its times with ours.
struct BlockParameters {
  int min_disparity = 0;  ///< lowest disparity searched, in pixels, any sign; −1,000,000…1,000,000
  int disparities = 64;   ///< number of whole disparities searched, from min_disparity up; 1…1,000,000
  /// Search every column of the right row instead; min_disparity and disparities then do not apply.
  bool full_row = false;
  int window = 9;  ///< side of the square window, in pixels: odd, 1…31
  BlockCost cost = BlockCost::sad;
  Prefilter prefilter = Prefilter::x_sobel;
  int prefilter_cap =
      31;  ///< bound of the Sobel response, in gray levels; 1…127 for 8-bit, …32767 for 16-bit images
  /// A pixel becomes `ambiguous` when a disparity more than 1 away from the best costs at most this many per
  /// cent more. 0 = accept all; 0…100.
  int uniqueness = 0;
  /// A pixel becomes `textureless` when the absolute Sobel responses (clipped at prefilter_cap) in its left
  /// window sum to less than this. 0 = accept all; 0 or more.
  int texture_threshold = 0;
  SubPixel sub_pixel = SubPixel::parabola;
  RefineParameters refine;

  /// \throws Error (argument) naming the field, its value and the allowed range.
  void validate() const;
};

}  // namespace parallax
#pragma GCC visibility pop
