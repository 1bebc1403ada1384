// SPDX-License-Identifier: Apache-2.0
// Pictures and maps turned by quarter turns clockwise, for cameras that are not side by side.
#pragma once

#include <array>
#include <memory>

#include "parallax/image.h"

#include "tools/files/pictures/picture.h"

namespace parallax::tool {

inline Size turned(Size size, int quarter_turns) {
  return quarter_turns % 2 == 0 ? size : Size{size.height, size.width};
}

// The position in a plane of this size of the value that is at (x, y) once the plane is turned.
inline std::array<int, 2> before_turn(int x, int y, Size size, int quarter_turns) {
  switch (quarter_turns % 4) {
    case 1:
      return {y, size.height - 1 - x};
    case 2:
      return {size.width - 1 - x, size.height - 1 - y};
    case 3:
      return {size.width - 1 - y, x};
    default:
      return {x, y};
  }
}

template <class T>
Plane<T> turned(const Plane<T>& plane, int quarter_turns) {
  Plane<T> result(turned(plane.size(), quarter_turns));
  for (int y = 0; y < result.height(); ++y)
    for (int x = 0; x < result.width(); ++x) {
      const auto [column, row] = before_turn(x, y, plane.size(), quarter_turns);
      result.at(x, y) = plane.at(column, row);
    }
  return result;
}

inline Picture turned(const Picture& picture, int quarter_turns) {
  constexpr int orientations[] = {1, 6, 3, 8};  // of EXIF
  Picture result = upright(picture, orientations[quarter_turns % 4]);
  result.notes = picture.notes;
  return result;
}

inline Result turned(const Result& map, int quarter_turns) {
  Result result;
  result.disparity = turned(map.disparity, quarter_turns);
  result.status = turned(map.status, quarter_turns);
  result.confidence = turned(map.confidence, quarter_turns);
  result.row_offset = turned(map.row_offset, quarter_turns);
  if (map.right) result.right = std::make_unique<Result>(turned(*map.right, quarter_turns));
  return result;
}

}  // namespace parallax::tool
