// SPDX-License-Identifier: Apache-2.0
// Labels of one or two dimensions: the offsets between pixels of the left and the right image.
#pragma once

#include "parallax/image.h"

namespace parallax {

// Left (x, y) shows the same point as right (x − x_offset, y + y_offset): a disparity, and by how many rows
// the point is lower in the right image.
struct Offset {
  int x = 0, y = 0;
  bool operator==(const Offset&) const = default;
};

// The labels of a rectangle of offsets, row by row. With one row of row offset 0, label k is the disparity
// first.x + k.
struct LabelSpace {
  Offset first;
  Size extent{0, 1};

  int count() const { return extent.width * extent.height; }
  bool is_flat() const { return first.y == 0 && extent.height == 1; }
  Offset last() const { return {first.x + extent.width - 1, first.y + extent.height - 1}; }
  Offset offset(int label) const { return {first.x + label % extent.width, first.y + label / extent.width}; }
  bool contains(Offset offset) const {
    return offset.x >= first.x && offset.y >= first.y && offset.x <= last().x && offset.y <= last().y;
  }
  // The labels of the right image's pixels when it takes the left one's place: right (x, y) shows the same
  // point as left (x − x_offset, y + y_offset).
  LabelSpace reversed() const { return {{-last().x, -last().y}, extent}; }
  bool operator==(const LabelSpace&) const = default;
};

}  // namespace parallax
