// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which rows of a pair show the same points.
#pragma once

#pragma GCC visibility push(default)
namespace parallax {

/// Which row of the right image is compared with a row of the left one.
enum class ComparedRows {
  given,  ///< the same row: the pair is rectified
  /// The row that shows the same points. Corners of both images tell by how many rows the right image is
  /// lower, a fraction that varies smoothly over the image; if it is not negligible, the rows of the right
  /// image are moved by as much before the match. A pair that is aligned, or that has too few corners to
  /// tell, is matched as it is. docs/explanation/rows.md describes the method.
  automatic,
  /// As `automatic`, but a Matcher looks at corners only until a pair has enough of them; later pairs have
  /// their rows moved by as much, until Matcher::forget_rows(). For cameras that do not move against each
  /// other. A MatcherPool, which matches pairs in any order, refuses it.
  once,
};

}  // namespace parallax
#pragma GCC visibility pop
