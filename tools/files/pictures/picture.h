// SPDX-License-Identifier: Apache-2.0
// A decoded picture, and the conventions that all readers share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parallax/error.h"
#include "parallax/image.h"
#include "parallax/tiles.h"

namespace parallax::tool {

using Bytes = std::span<const std::byte>;

inline bool begins_with(Bytes bytes, std::string_view start) {
  return std::ranges::equal(bytes.first(std::min(bytes.size(), start.size())),
                            std::as_bytes(std::span(start)));
}

// 8 or 16 bits, gray or R, G, B. Copies share their pixels.
class Picture {
 public:
  Picture() = default;
  // The pixels are uninitialised.
  // \throws std::bad_alloc
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
  // All channels of 8 bits, side by side.
  View<std::uint8_t> samples() {
    return {reinterpret_cast<std::uint8_t*>(row(0)),
            {channels() * size().width, size().height},
            view_.stride_bytes};
  }

  Picture part(const Rectangle& region) const;

 private:
  std::shared_ptr<std::byte[]> pixels_;
  ImageView view_;
};

// How stored pixels are rotated or mirrored, as in EXIF: 1 to 8; 1, or any other number, is not at all.
Picture upright(const Picture& stored, int orientation);

// What stands before EXIF data in a JPEG, and in some WebP files.
inline constexpr std::string_view exif_prefix("Exif\0\0", 6);
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
