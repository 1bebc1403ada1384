// SPDX-License-Identifier: Apache-2.0
// A decoded picture, and the conventions that all readers share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parallax/error.h"
#include "parallax/image.h"
#include "parallax/tiles.h"
#include "parallax/values.h"

namespace parallax::tool {

using Bytes = std::span<const std::byte>;

inline bool begins_with(Bytes bytes, std::string_view start) {
  return bytes.size() >= start.size() && std::memcmp(bytes.data(), start.data(), start.size()) == 0;
}

// What a file says about its pixels.
struct PictureNotes {
  // The values of black and of white, where the file states them and they are not 0 and those of its depth.
  std::optional<ValueRange> range;
  int offset = 0;       // what was added to the values of the file, which may be negative
  int orientation = 1;  // of EXIF, by which the picture was turned upright
};

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
  // The pixels, to write to.
  ImageOutput output() { return {row(0), view_.format, view_.channels, view_.stride_bytes}; }
  // All channels of 8 bits, side by side.
  View<std::uint8_t> samples() {
    return {reinterpret_cast<std::uint8_t*>(row(0)),
            {channels() * size().width, size().height},
            view_.stride_bytes};
  }

  Picture part(const Rectangle& region) const;

  // Where the picture is valid: 0 = not; empty = everywhere.
  const View<const std::uint8_t>& mask() const { return mask_; }
  // A new mask, valid everywhere.
  View<std::uint8_t> add_mask();
  // A copy of the mask, or a new one.
  View<std::uint8_t> changed_mask();
  // Masks what another mask of this size does.
  void add_to_mask(const View<const std::uint8_t>& other);
  // Takes the mask and the notes of a picture of the same size.
  void describe_as(const Picture& other);

  PictureNotes notes;

 private:
  std::shared_ptr<std::byte[]> pixels_;
  ImageView view_;
  std::shared_ptr<const Plane<std::uint8_t>> mask_plane_;
  View<const std::uint8_t> mask_;
};

// What a command says about the pictures that it reads.
struct PictureOptions {
  struct Values {
    double low, high;
  };
  enum class Bayer { none, rggb, grbg, gbrg, bggr };

  std::optional<Values> range;      // of black and of white, in the values of the file
  std::string range_text;           // the option that gave the range: "--bits 12"
  std::optional<double> no_data;    // pixels of this value are masked
  bool ignore_orientation = false;  // pictures stay as they are stored
  Bayer bayer = Bayer::none;        // the colours of the first two pixels of the first two rows
};

// How stored pixels are rotated or mirrored, as in EXIF: 1 to 8; 1, or any other number, is not at all.
Picture upright(const Picture& stored, int orientation);

// Splits pixels whose last channel is alpha, rows without gaps, into the picture and, unless all are opaque, its
// mask: where alpha is 0, a pixel is not valid.
void take_alpha(Bytes pixels, Picture& picture);

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
