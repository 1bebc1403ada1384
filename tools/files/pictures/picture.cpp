// SPDX-License-Identifier: Apache-2.0
#include "tools/files/pictures/picture.h"

#include <cstring>

#include "tools/command/command.h"

namespace parallax::tool {

Picture::Picture(const ImageFormat& format, int channels) : view_(nullptr, format, channels, 0) {
  const std::size_t row = static_cast<std::size_t>(format.size.width) * pixel_bytes();
  pixels_.reset(new std::byte[row * static_cast<std::size_t>(format.size.height)]);
  view_.data = pixels_.get();
  view_.stride_bytes = static_cast<std::ptrdiff_t>(row);
}

Picture Picture::part(const Rectangle& region) const {
  Picture part = *this;
  part.view_.data = row(region.y) + static_cast<std::size_t>(region.x) * pixel_bytes();
  part.view_.format.size = region.size;
  return part;
}

Picture upright(const Picture& stored, int orientation) {
  if (orientation < 2 || orientation > 8) return stored;
  const Size size = stored.size();
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture result({turned ? Size{size.height, size.width} : size, stored.view().format.depth},
                 stored.channels());
  const auto bytes = static_cast<std::ptrdiff_t>(stored.pixel_bytes());
  const std::ptrdiff_t column = from_right ? -bytes : bytes;
  const std::ptrdiff_t row = from_bottom ? -stored.view().stride_bytes : stored.view().stride_bytes;
  const std::byte* corner =
      stored.row(from_bottom ? size.height - 1 : 0) + (from_right ? (size.width - 1) * bytes : 0);
  for (int y = 0; y < result.size().height; ++y) {
    const std::byte* from = corner + y * (turned ? column : row);
    std::byte* to = result.row(y);
    for (int x = 0; x < result.size().width; ++x, from += turned ? row : column, to += bytes)
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  return result;
}

namespace {

// Reads numbers of a TIFF in memory; 0 beyond its end.
class TiffNumbers {
 public:
  explicit TiffNumbers(Bytes bytes) : bytes_(bytes), is_big_endian_(byte(0) == 'M') {}

  unsigned byte(std::size_t at) const {
    return at < bytes_.size() ? std::to_integer<unsigned>(bytes_[at]) : 0;
  }
  unsigned bits16(std::size_t at) const {
    return is_big_endian_ ? byte(at) << 8 | byte(at + 1) : byte(at + 1) << 8 | byte(at);
  }
  unsigned bits32(std::size_t at) const {
    return is_big_endian_ ? bits16(at) << 16 | bits16(at + 2) : bits16(at + 2) << 16 | bits16(at);
  }

 private:
  Bytes bytes_;
  bool is_big_endian_;
};

}  // namespace

int exif_orientation(Bytes exif) {
  constexpr unsigned orientation_tag = 0x0112, magic = 42;
  constexpr std::size_t entry_bytes = 12;
  const TiffNumbers numbers(exif);
  if (numbers.bits16(2) != magic) return 1;
  const std::size_t directory = numbers.bits32(4);
  const unsigned entries = numbers.bits16(directory);
  for (unsigned i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * entry_bytes;
    if (entry >= exif.size()) break;
    if (numbers.bits16(entry) == orientation_tag) return static_cast<int>(numbers.bits16(entry + 8));
  }
  return 1;
}

void check_picture_size(long long width, long long height, const std::string& name,
                        const std::string& remedy) {
  constexpr long long longest = 1 << 20, most = 1 << 30;
  if (width < 1 || height < 1) fail_picture(name, "has no pixels: give a picture");
  if (width > longest || height > longest || width * height > most)
    fail_picture(name, "is " + std::to_string(width) + "×" + std::to_string(height) +
                           " pixels, which is more than 2^30 of them, or 2^20 in a row or column: " + remedy);
}

}  // namespace parallax::tool
