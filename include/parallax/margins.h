// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a part of a pair has to be matched with, so that it is a part of the whole map.
#pragma once

#pragma GCC visibility push(default)
namespace parallax {

/// How far around itself, in pixels of both images, a tile has to be matched.
struct Margins {
  int left = 0, right = 0, top = 0, bottom = 0;
  /// Tile::around begins at multiples of this many columns and rows: there, pyramids of a part are parts of
  /// the pyramid.
  int alignment = 1;
  /// A tile with these margins is that part of the untiled map, byte for byte. Belief propagation is never
  /// exact: what is far away has an influence, which falls with the padding.
  bool exact = true;
};

}  // namespace parallax
#pragma GCC visibility pop
