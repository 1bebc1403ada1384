// SPDX-License-Identifier: Apache-2.0
/// \file
/// Error metrics of a disparity map against ground truth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/image.h"

#pragma GCC visibility push(default)
namespace parallax {

/// Metrics over the evaluated pixels: those whose truth is finite and whose mask, if there is one, is 255.
/// The error e is |disparity − truth|. A pixel is valid if its disparity is finite; "no value" means not
/// valid.
struct ErrorMetrics {
  std::size_t count = 0;  ///< evaluated pixels
  double bad05 = 0;       ///< share of evaluated pixels with e > 0.5 or no value, 0…1
  double bad1 = 0;        ///< the same for e > 1
  double bad2 = 0;        ///< the same for e > 2
  double bad3 = 0;        ///< the same for e > 3
  double bad4 = 0;        ///< the same for e > 4
  double bad5 = 0;        ///< the same for e > 5
  double average = 0;     ///< mean of e over valid pixels; like the next five, NaN when no pixel is valid
  double rms = 0;         ///< root mean square of e
  double a50 = 0;         ///< quantile q = 0.5 of e: element ⌊q·n⌋ of the n sorted errors
  double a90 = 0;         ///< the same for q = 0.9
  double a95 = 0;         ///< the same for q = 0.95
  double a99 = 0;         ///< the same for q = 0.99
  double d1 = 0;          ///< KITTI 2015 outliers: share with e > 3 and e > 5 % of the truth, or no value
  double coverage = 0;    ///< share of evaluated pixels that are valid
  /// Number of evaluated pixels whose rounded disparity differs from the rounded truth, or that have no
  /// value.
  std::size_t mismatches = 0;
};

/// Compares a disparity map with ground truth.
/// \param disparity estimate in pixels; not finite = no value
/// \param truth     ground truth in pixels; not finite = unknown
/// \param mask      255 = evaluate; an empty view = evaluate everywhere
/// \throws Error (argument) when sizes differ or there is no pixel to evaluate.
ErrorMetrics evaluate(View<const float> disparity, View<const float> truth,
                      View<const std::uint8_t> mask = {});

/// Brings the map of a smaller picture to the size of the full one, as the SDK of the Middlebury evaluation
/// (version 3) does before it compares: every pixel becomes factor × factor pixels of factor times its
/// disparity.
/// \throws Error (argument) for a factor below 1, or a size that becomes too large.
Plane<float> enlarge(View<const float> disparity, int factor);

/// Fills pixels that are not finite as KITTI's development kit does before it scores a map: a gap in a row
/// takes the lesser of the disparities at its two ends; a gap at the end of a row the only one; a row without
/// any disparity takes, column by column, those of the nearest row above the first or below the last one that
/// has some. Rows without any that lie between others stay without.
Plane<float> interpolate_background(View<const float> disparity);

}  // namespace parallax
#pragma GCC visibility pop
