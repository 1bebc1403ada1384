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
  if (!mask_.empty()) part.mask_ = {mask_.row(region.y) + region.x, region.size, mask_.stride_bytes};
  return part;
}

View<std::uint8_t> Picture::add_mask() {
  const auto plane = std::make_shared<Plane<std::uint8_t>>(size(), std::uint8_t{255});
  mask_plane_ = plane;
  mask_ = plane->view();
  return plane->view();
}

View<std::uint8_t> Picture::changed_mask() {
  const auto held = mask_plane_;
  const View<const std::uint8_t> before = mask_;
  const View<std::uint8_t> mask = add_mask();
  for (int y = 0; y < before.size.height; ++y) std::copy_n(before.row(y), before.size.width, mask.row(y));
  return mask;
}

void Picture::add_to_mask(const View<const std::uint8_t>& other) {
  const View<std::uint8_t> mask = changed_mask();
  for (int y = 0; y < mask.size.height; ++y)
    for (int x = 0; x < mask.size.width; ++x)
      if (other.at(x, y) == 0) mask.at(x, y) = 0;
}

void Picture::describe_as(const Picture& other) {
  notes = other.notes;
  mask_plane_ = other.mask_plane_;
  mask_ = other.mask_;
}

namespace {

// Copies pixels of `bytes` bytes to where this orientation shows them.
void turn(const std::byte* stored, Size size, std::ptrdiff_t stride, std::ptrdiff_t bytes, int orientation,
          std::byte* shown, std::ptrdiff_t shown_stride) {
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::ptrdiff_t column = from_right ? -bytes : bytes, row = from_bottom ? -stride : stride;
  const std::byte* corner =
      stored + (from_bottom ? (size.height - 1) * stride : 0) + (from_right ? (size.width - 1) * bytes : 0);
  const Size result = turned ? Size{size.height, size.width} : size;
  for (int y = 0; y < result.height; ++y) {
    const std::byte* from = corner + y * (turned ? column : row);
    std::byte* to = shown + y * shown_stride;
    for (int x = 0; x < result.width; ++x, from += turned ? row : column, to += bytes)
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

Picture upright(const Picture& stored, int orientation) {
  if (orientation < 2 || orientation > 8) return stored;
  const Size size = stored.size();
  Picture result({orientation >= 5 ? Size{size.height, size.width} : size, stored.view().format.depth},
                 stored.channels());
  turn(stored.row(0), size, stored.view().stride_bytes, static_cast<std::ptrdiff_t>(stored.pixel_bytes()),
       orientation, result.row(0), result.view().stride_bytes);
  if (!stored.mask().empty()) {
    const View<std::uint8_t> mask = result.add_mask();
    turn(reinterpret_cast<const std::byte*>(stored.mask().data), size, stored.mask().stride_bytes, 1,
         orientation, reinterpret_cast<std::byte*>(mask.data), mask.stride_bytes);
  }
  result.notes = stored.notes;
  result.notes.orientation = orientation;
  return result;
}

void take_alpha(Bytes pixels, Picture& picture) {
  const std::size_t kept = picture.pixel_bytes(), alpha = kept / static_cast<std::size_t>(picture.channels());
  const std::byte* from = pixels.data();
  View<std::uint8_t> mask;
  for (int y = 0; y < picture.size().height; ++y) {
    std::byte* to = picture.row(y);
    for (int x = 0; x < picture.size().width; ++x, from += kept + alpha, to += kept) {
      std::memcpy(to, from, kept);
      if (std::any_of(from + kept, from + kept + alpha, [](std::byte part) { return part != std::byte{0}; }))
        continue;
      if (mask.empty()) mask = picture.add_mask();
      mask.at(x, y) = 0;
    }
  }
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
