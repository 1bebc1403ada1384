// SPDX-License-Identifier: Apache-2.0
// A decoded picture, and the conventions that all readers share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "parallax/error.h"
#include "parallax/image.h"
#include "parallax/tiles.h"

namespace parallax::tool {

using Bytes = std::span<const std::byte>;

// 8 or 16 bits, gray or R, G, B. Copies share their pixels.
class Picture {
 public:
  Picture() = default;
  // The pixels are uninitialised. \throws std::bad_alloc
  Picture(const ImageFormat& format, int channels);

  bool empty() const { return view_.data == nullptr; }
  const ImageView& view() const { return view_; }
  Size size() const { return view_.format.size; }
  int channels() const { return view_.channels; }
  std::size_t pixel_bytes() const {
    return static_cast<std::size_t>(view_.channels) * static_cast<std::size_t>(view_.format.depth) / 8;
  }
  const std::byte* row(int y) const { return static_cast<const std::byte*>(view_.row(y)); }
  std::byte* row(int y) { return const_cast<std::byte*>(std::as_const(*this).row(y)); }

  // Shares the pixels of this picture.
  Picture part(const Rectangle& region) const;

 private:
  std::shared_ptr<std::byte[]> pixels_;
  ImageView view_;
};

// Orientation in EXIF and TIFF: how the stored pixels are rotated or mirrored, 1 (not at all) to 8.
// Any other number counts as 1.
Picture upright(const Picture& stored, int orientation);

// The orientation in a block of EXIF data, which is a small TIFF; 1 where it holds none.
int exif_orientation(Bytes exif);

// \throws Error (file) for sizes too large for a picture that is decoded completely
void check_picture_size(long long width, long long height, const std::string& name,
                        const std::string& remedy = "give a TIFF");

[[noreturn]] inline void fail_picture(const std::string& name, const std::string& why) {
  throw Error(ErrorCategory::file, name + ": " + why);
}
[[noreturn]] inline void fail_damaged(const std::string& name, const std::string& detail) {
  fail_picture(name, "is damaged (" + detail + "): copy the picture again");
}

}  // namespace parallax::tool
