// SPDX-License-Identifier: Apache-2.0
// Pictures and videos that hold both views.
#pragma once

#include <optional>
#include <string>

#include "tools/files/pictures.h"

namespace parallax::tool {

// Where the views are in a picture; the first name is that of the left half, or of the upper one.
enum class Layout { side_by_side, right_left, top_bottom, bottom_top };

// "side-by-side", as options name it.
const char* name(Layout layout);

// The views, which share the pixels of the picture.
// \throws Error (file) for an odd width or height
PicturePair split(const Picture& both, Layout layout, const std::string& path);

// What a picture says about its views: both pictures of an MPO, or where they are in a JPS.
struct StatedViews {
  std::optional<PicturePair> pair;
  std::optional<Layout> layout;

  bool empty() const { return !pair && !layout; }
};
StatedViews stated_views(const std::string& path, const PictureOptions& options);

// Both views of one picture, where `layout` says, or else the picture itself.
// \throws Error (file) where neither does
PicturePair read_both(const std::string& path, std::optional<Layout> layout, const PictureOptions& options);

}  // namespace parallax::tool
