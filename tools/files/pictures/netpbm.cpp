// SPDX-License-Identifier: Apache-2.0
// PBM, PGM and PPM: a header of a few numbers as text, then pixels as text or bytes.
#include <algorithm>
#include <cstdint>

#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

class NetpbmReader {
 public:
  NetpbmReader(Bytes bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  ImageFormat read_format() {
    const int kind = byte(1) - '0';
    position_ = 2;
    const unsigned width = number(), height = number();
    greatest_ = kind == 1 || kind == 4 ? 1 : number();
    if (greatest_ < 1 || greatest_ > 65535)
      fail_picture(name_,
                   "has a maximum value of " + std::to_string(greatest_) + ": it must be from 1 to 65535");
    check_picture_size(width, height, name_);
    return {{static_cast<int>(width), static_cast<int>(height)},
            greatest_ > 255 ? BitDepth::bits16 : BitDepth::bits8};
  }

  Picture read() {
    const int kind = byte(1) - '0';
    const bool is_bitmap = kind == 1 || kind == 4, is_text = kind <= 3;
    const ImageFormat format = read_format();
    // A pixel takes a bit at least.
    if (format.size.pixels() / 8 > bytes_.size()) fail_damaged(name_, "it is cut short");
    Picture picture(format, kind == 3 || kind == 6 ? 3 : 1);
    const int white = format.depth == BitDepth::bits8 ? 255 : 65535;
    if (!is_bitmap && static_cast<int>(greatest_) != white)
      picture.notes.range = {0, static_cast<int>(greatest_)};
    if (!is_space(byte(position_++))) fail_damaged(name_, "its header does not end in white space");
    const int values = picture.size().width * picture.channels();
    for (int y = 0; y < picture.size().height; ++y) {
      if (!is_text) read_row(picture, y, is_bitmap);
      for (int i = 0; is_text && i < values; ++i)
        set(picture, picture.row(y), i, is_bitmap ? bit() : std::min(number(), greatest_));
    }
    return picture;
  }

 private:
  int byte(std::size_t at) const { return at < bytes_.size() ? std::to_integer<int>(bytes_[at]) : -1; }
  static bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool is_digit(int c) { return c >= '0' && c <= '9'; }

  void skip_spaces() {
    for (;;) {
      if (byte(position_) == '#')
        while (byte(position_) >= 0 && byte(position_) != '\n') ++position_;
      if (!is_space(byte(position_))) return;
      ++position_;
    }
  }

  unsigned number() {
    constexpr std::uint64_t most = 1u << 30;
    skip_spaces();
    if (!is_digit(byte(position_))) fail_damaged(name_, "a number is missing");
    std::uint64_t value = 0;
    for (; is_digit(byte(position_)); ++position_)
      value = std::min(most, value * 10 + static_cast<unsigned>(byte(position_) - '0'));
    return static_cast<unsigned>(value);
  }

  static void set(Picture& picture, std::byte* row, int i, unsigned value) {
    if (picture.view().format.depth == BitDepth::bits8)
      row[i] = static_cast<std::byte>(value);
    else
      reinterpret_cast<std::uint16_t*>(row)[i] = static_cast<std::uint16_t>(value);
  }

  // 1 is black.
  unsigned bit() {
    skip_spaces();
    const int digit = byte(position_++);
    if (digit != '0' && digit != '1') fail_damaged(name_, "a pixel is neither 0 nor 1");
    return digit == '1' ? 0 : 255;
  }

  Bytes take(std::size_t count) {
    if (position_ > bytes_.size() || bytes_.size() - position_ < count)
      fail_damaged(name_, "it is cut short");
    const Bytes taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  // 16 bits come with the upper byte first.
  void read_row(Picture& picture, int y, bool is_bitmap) {
    const auto values = static_cast<std::size_t>(picture.size().width * picture.channels());
    const bool is_deep = picture.view().format.depth == BitDepth::bits16;
    const Bytes bytes = take(is_bitmap ? (values + 7) / 8 : values * (is_deep ? 2 : 1));
    const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
    if (!is_bitmap && !is_deep) std::copy(bytes.begin(), bytes.end(), picture.row(y));
    for (std::size_t i = 0; i < values && (is_bitmap || is_deep); ++i)
      set(picture, picture.row(y), static_cast<int>(i),
          is_bitmap ? ((at(i / 8) >> (7 - i % 8) & 1) != 0 ? 0 : 255) : at(2 * i) << 8 | at(2 * i + 1));
  }

  Bytes bytes_;
  const std::string& name_;
  std::size_t position_ = 0;
  unsigned greatest_ = 1;
};

}  // namespace

bool is_netpbm(Bytes bytes) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned char>(bytes[i]); };
  return bytes.size() >= 3 && at(0) == 'P' && at(1) >= '1' && at(1) <= '6' &&
         (at(2) == ' ' || at(2) == '#' || (at(2) >= '\t' && at(2) <= '\r'));
}

Picture decode_netpbm(Bytes bytes, const std::string& name) {
  return NetpbmReader(bytes, name).read();
}

ImageFormat netpbm_format(Bytes head, const std::string& name) {
  return NetpbmReader(head, name).read_format();
}

}  // namespace parallax::tool
