// SPDX-License-Identifier: Apache-2.0
// BMP of Windows and OS/2: 1, 2, 4 and 8 bits with a palette, plain or in run lengths; 16, 24 and 32 bits.
// https://learn.microsoft.com/windows/win32/gdi/bitmap-storage
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

enum Compression : std::uint32_t {
  plain = 0,
  run_lengths_8 = 1,
  run_lengths_4 = 2,
  bit_fields = 3,
  alpha_bit_fields = 6
};

// The bits of a pixel that hold a channel.
struct Field {
  std::uint32_t mask = 0;

  // The channel in 8 bits, rounded.
  std::uint8_t of(std::uint32_t pixel) const {
    if (mask == 0) return 0;
    const std::uint64_t value = (pixel & mask) >> std::countr_zero(mask);
    const std::uint64_t most = mask >> std::countr_zero(mask);
    return static_cast<std::uint8_t>((2 * 255 * value + most) / (2 * most));
  }
};

class BmpReader {
 public:
  BmpReader(Bytes bytes, const std::string& name) : bytes_(bytes), name_(name) { read_header(); }

  ImageFormat format() const { return {size_, BitDepth::bits8}; }

  Picture read() {
    if (bits_ <= 8) read_palette();
    const bool is_gray =
        bits_ <= 8 && std::all_of(palette_.begin(), palette_.end(), [](const Colour& colour) {
          return colour[0] == colour[1] && colour[1] == colour[2];
        });
    // Every row, or every 255 pixels of a run, takes a byte at least.
    if (size_.pixels() / 255 / 8 > bytes_.size()) fail_damaged(name_, "it is cut short");
    Picture picture(format(), is_gray ? 1 : 3);
    if (compression_ == run_lengths_8 || compression_ == run_lengths_4)
      read_runs(picture);
    else
      for (int row = 0; row < size_.height; ++row) read_row(row, picture);
    mask_transparent(picture);
    return picture;
  }

 private:
  using Colour = std::array<std::uint8_t, 3>;

  unsigned byte(std::size_t at) const {
    if (at >= bytes_.size()) fail_damaged(name_, "it is cut short");
    return std::to_integer<unsigned>(bytes_[at]);
  }
  unsigned bits16(std::size_t at) const { return byte(at + 1) << 8 | byte(at); }
  std::uint32_t bits32(std::size_t at) const { return bits16(at + 2) << 16 | bits16(at); }

  void read_header() {
    constexpr std::size_t file_header = 14, first_mask = 54, alpha_mask = 66;
    constexpr unsigned os2 = 12, windows = 40;
    pixels_ = bits32(10);
    header_ = bits32(file_header);
    if (header_ < windows && header_ != os2)
      fail_damaged(name_, "its header has " + std::to_string(header_) + " bytes");
    long long width = 0, height = 0;
    if (header_ == os2) {
      width = bits16(18);
      height = bits16(20);
      bits_ = static_cast<int>(bits16(24));
    } else {
      width = static_cast<std::int32_t>(bits32(18));
      height = static_cast<std::int32_t>(bits32(22));
      bits_ = static_cast<int>(bits16(28));
      compression_ = bits32(30);
      colours_ = bits32(46);
    }
    from_top_ = height < 0;
    if (from_top_) height = -height;
    check_picture_size(width, height, name_);
    size_ = {static_cast<int>(width), static_cast<int>(height)};
    const bool fits =
        (compression_ == plain && (bits_ == 1 || bits_ == 2 || bits_ == 4 || bits_ == 8 || bits_ == 16 ||
                                   bits_ == 24 || bits_ == 32)) ||
        (compression_ == run_lengths_8 && bits_ == 8 && !from_top_) ||
        (compression_ == run_lengths_4 && bits_ == 4 && !from_top_) ||
        ((compression_ == bit_fields || compression_ == alpha_bit_fields) && (bits_ == 16 || bits_ == 32));
    if (!fits)
      fail_picture(name_, "is a kind of BMP that is not read (" + std::to_string(bits_) +
                              " bits, compression " + std::to_string(compression_) + "): convert it to PNG");
    if (compression_ == plain)
      fields_ = bits_ == 16 ? std::array<Field, 4>{{{0x7C00}, {0x03E0}, {0x001F}, {0}}}
                            : std::array<Field, 4>{{{0xFF0000}, {0xFF00}, {0xFF}, {0}}};
    else if (bits_ >= 16)
      for (std::size_t i = 0; i < 3; ++i) fields_[i].mask = bits32(first_mask + 4 * i);
    if (bits_ >= 16 && compression_ != plain && (header_ > windows + 12 || compression_ == alpha_bit_fields))
      fields_[3].mask = bits32(alpha_mask);
  }

  void read_palette() {
    constexpr std::size_t file_header = 14;
    const std::size_t entry = header_ == 12 ? 3 : 4, most = std::size_t{1} << bits_;
    std::size_t first = file_header + header_;
    if (header_ == 40 && compression_ == bit_fields) first += 12;
    const std::size_t count = colours_ == 0 ? most : std::min<std::size_t>(colours_, most);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = first + entry * i;
      if (at + 3 > pixels_) break;
      palette_.push_back({static_cast<std::uint8_t>(byte(at + 2)), static_cast<std::uint8_t>(byte(at + 1)),
                          static_cast<std::uint8_t>(byte(at))});
    }
    if (palette_.empty()) fail_damaged(name_, "it has no palette");
  }

  void set(Picture& picture, int x, int y, unsigned index) {
    if (index >= palette_.size()) fail_damaged(name_, "a pixel is beyond its palette");
    set(picture, x, y, palette_[index]);
  }
  static void set(Picture& picture, int x, int y, const Colour& colour) {
    std::byte* to = picture.row(y) + x * picture.channels();
    for (int i = 0; i < picture.channels(); ++i)
      to[i] = static_cast<std::byte>(colour[static_cast<std::size_t>(i)]);
  }

  // Row of the picture at which a row of the file is shown.
  int shown(int row) const { return from_top_ ? row : size_.height - 1 - row; }

  void read_row(int row, Picture& picture) {
    const std::size_t stride =
        (static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(bits_) + 31) / 32 * 4;
    const std::size_t first = pixels_ + static_cast<std::size_t>(row) * stride;
    const int y = shown(row);
    for (int x = 0; x < size_.width; ++x) {
      const auto column = static_cast<std::size_t>(x);
      if (bits_ <= 8) {
        const unsigned in_byte = static_cast<unsigned>(8 / bits_),
                       place = in_byte - 1 - static_cast<unsigned>(x) % in_byte;
        set(picture, x, y,
            byte(first + column / in_byte) >> (place * static_cast<unsigned>(bits_)) & ((1u << bits_) - 1));
        continue;
      }
      const std::size_t at = first + column * static_cast<std::size_t>(bits_) / 8;
      const std::uint32_t pixel = bits_ == 16   ? bits16(at)
                                  : bits_ == 32 ? bits32(at)
                                                : byte(at + 2) << 16 | bits16(at);
      set(picture, x, y, {fields_[0].of(pixel), fields_[1].of(pixel), fields_[2].of(pixel)});
      if (fields_[3].mask != 0 && (pixel & fields_[3].mask) == 0) transparent_.push_back({x, y});
    }
  }

  // Programs that know no alpha write 0 for every pixel.
  void mask_transparent(Picture& picture) const {
    if (transparent_.empty() || transparent_.size() == size_.pixels()) return;
    const View<std::uint8_t> mask = picture.add_mask();
    for (const auto& [x, y] : transparent_) mask.at(x, y) = 0;
  }

  // Pixels that the runs skip have the first colour.
  void read_runs(Picture& picture) {
    for (int y = 0; y < size_.height; ++y)
      for (int x = 0; x < size_.width; ++x) set(picture, x, y, 0);
    constexpr unsigned end_of_row = 0, end = 1, move = 2;
    std::size_t at = pixels_;
    int x = 0, row = 0;
    const auto put = [&](unsigned index) {
      if (x >= size_.width || row >= size_.height) fail_damaged(name_, "a run leaves the picture");
      set(picture, x++, shown(row), index);
    };
    const auto half = [&](unsigned both, unsigned i) { return i % 2 == 0 ? both >> 4 : both & 15; };
    while (row < size_.height && at + 1 < bytes_.size()) {
      const unsigned count = byte(at), value = byte(at + 1);
      at += 2;
      if (count > 0) {
        for (unsigned i = 0; i < count; ++i) put(bits_ == 8 ? value : half(value, i));
      } else if (value == end_of_row) {
        x = 0;
        ++row;
      } else if (value == end) {
        return;
      } else if (value == move) {
        x += static_cast<int>(byte(at));
        row += static_cast<int>(byte(at + 1));
        at += 2;
      } else {
        for (unsigned i = 0; i < value; ++i) put(bits_ == 8 ? byte(at + i) : half(byte(at + i / 2), i));
        const std::size_t length = bits_ == 8 ? value : (value + 1) / 2;
        at += length + length % 2;
      }
    }
    if (row < size_.height) fail_damaged(name_, "it is cut short");
  }

  Bytes bytes_;
  const std::string& name_;
  std::size_t pixels_ = 0, header_ = 0;
  Size size_;
  int bits_ = 0;
  std::uint32_t compression_ = plain, colours_ = 0;
  bool from_top_ = false;
  std::array<Field, 4> fields_{};  // R, G, B, alpha
  std::vector<Colour> palette_;
  std::vector<std::array<int, 2>> transparent_;
};

}  // namespace

bool is_bmp(Bytes bytes) {
  return begins_with(bytes, "BM") && bytes.size() >= 18;
}

Picture decode_bmp(Bytes bytes, const std::string& name) {
  return BmpReader(bytes, name).read();
}

ImageFormat bmp_format(Bytes head, const std::string& name) {
  return BmpReader(head, name).format();
}

}  // namespace parallax::tool
