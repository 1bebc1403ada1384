// SPDX-License-Identifier: Apache-2.0
// Makes and compares pictures, and writes them in every format that the tool reads.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "parallax/formats.h"

#include "tools/files/pictures.h"

namespace parallax::test {

using tool::Picture;

inline unsigned value_at(const Picture& picture, int x, int y, int channel = 0) {
  const std::byte* row = picture.row(y);
  const int i = x * picture.channels() + channel;
  if (picture.view().format.depth == BitDepth::bits8) return std::to_integer<unsigned>(row[i]);
  std::uint16_t value;
  std::memcpy(&value, row + 2 * i, 2);
  return value;
}

inline Picture make_picture(Size size, int channels, BitDepth depth,
                            const std::function<unsigned(int x, int y, int channel)>& value) {
  Picture picture({size, depth}, channels);
  for (int y = 0; y < size.height; ++y) {
    for (int i = 0; i < size.width * channels; ++i) {
      const auto deep = static_cast<std::uint16_t>(value(i / channels, y, i % channels));
      if (depth == BitDepth::bits16)
        std::memcpy(picture.row(y) + 2 * i, &deep, 2);
      else
        picture.row(y)[i] = static_cast<std::byte>(deep);
    }
  }
  return picture;
}

inline Picture filled(Size size, int channels, BitDepth depth, unsigned value) {
  return make_picture(size, channels, depth, [=](int, int, int) { return value; });
}

// Pseudo-random values, the same in every run.
inline Picture noise(Size size, int channels, BitDepth depth) {
  const unsigned most = depth == BitDepth::bits8 ? 255 : 65535;
  return make_picture(size, channels, depth, [=](int x, int y, int channel) {
    return (static_cast<unsigned>((y * size.width + x) * channels + channel + 1) * 2654435761u >> 8) & most;
  });
}

inline bool are_equal(const Picture& a, const Picture& b) {
  if (a.view().format != b.view().format || a.channels() != b.channels()) return false;
  const std::size_t bytes = static_cast<std::size_t>(a.size().width) * a.pixel_bytes();
  for (int y = 0; y < a.size().height; ++y)
    if (std::memcmp(a.row(y), b.row(y), bytes) != 0) return false;
  return true;
}

inline Picture green_of(const Picture& colour) {
  return make_picture(colour.size(), 1, colour.view().format.depth,
                      [&](int x, int y, int) { return value_at(colour, x, y, 1); });
}

// A 16-bit picture with every value multiplied by `factor`.
inline Picture deepened(const Picture& picture, unsigned factor) {
  return make_picture(picture.size(), picture.channels(), BitDepth::bits16,
                      [&](int x, int y, int channel) { return factor * value_at(picture, x, y, channel); });
}

inline Picture side_by_side(const Picture& left, const Picture& right) {
  const int width = left.size().width;
  return make_picture({2 * width, left.size().height}, left.channels(), left.view().format.depth,
                      [&](int x, int y, int channel) {
                        return x < width ? value_at(left, x, y, channel)
                                         : value_at(right, x - width, y, channel);
                      });
}

// Encodes PGM or PPM.
std::vector<std::byte> encode_netpbm(const Picture& picture);

struct JpegSettings {
  int orientation = 1;
  bool is_progressive = false;
};
std::vector<std::byte> encode_jpeg(const Picture& picture, const JpegSettings& settings = {});
// `pixels` are C, M, Y, K, inverted as in JPEG files.
std::vector<std::byte> encode_cmyk_jpeg(Size size, const std::vector<std::uint8_t>& pixels);

// Lossless.
std::vector<std::byte> encode_webp(const Picture& picture, int orientation = 1);

// A PNG of any colour type and depth; `pixels` are those of the file.
struct PngSettings {
  int colour_type = 0;
  int bits = 8;
  bool is_interlaced = false;
  int orientation = 1;
  std::vector<std::uint8_t> palette = {};  // R, G, B
};
std::vector<std::byte> encode_any_png(Size size, const PngSettings& settings,
                                      const std::vector<std::uint8_t>& pixels);

// A TIFF of any kind; `pixels` are those of the file.
struct TiffSettings {
  int samples = 1, bits = 8, photometric = 1, orientation = 1, packing = 1;
  int strip_rows = 0;                       // 0 = all in one strip
  bool is_tile = false;                     // one tile, whose sides are multiples of 16
  std::vector<std::uint16_t> palette = {};  // 2^bits times R, then G, then B
};
void write_any_tiff(const std::string& path, Size size, const TiffSettings& settings,
                    const std::vector<std::uint8_t>& pixels);

// Writes the format that the extension of the path names.
// \throws Error
void save(const std::string& path, const Picture& picture);

}  // namespace parallax::test
