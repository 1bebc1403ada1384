// SPDX-License-Identifier: Apache-2.0
/// \file
/// How much surrounding image a tile needs.
#pragma once

#pragma GCC visibility push(default)
namespace parallax {

/// The surroundings with which a tile must be matched, in pixels of both images.
struct Margins {
  int left = 0;    ///< columns to the left of the tile
  int right = 0;   ///< columns to its right
  int top = 0;     ///< rows above it
  int bottom = 0;  ///< rows below it
  /// Tile::around begins at multiples of this many columns and rows, so that the pyramid of a tile is a part
  /// of the pyramid of the image.
  int alignment = 1;
  /// Whether a tile with these margins equals its part of the untiled map, byte for byte. Belief propagation
  /// and semi-global matching are never exact: distant pixels have an influence, which decreases with the
  /// padding. Nor are block and census matching with row_tolerance and row_prior: a tile has surfaces of row
  /// offsets of its own.
  bool exact = true;
};

}  // namespace parallax
#pragma GCC visibility pop
