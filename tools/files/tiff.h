// SPDX-License-Identifier: Apache-2.0
// Reads and writes TIFF files in parts, by libtiff, for pictures and maps larger than memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/tiles.h"

#include "tools/files/pictures/picture.h"

namespace parallax::tool {

struct TiffFormat {
  Size size;
  int channels = 1;  // 1, or R, G, B interleaved
  int bits = 8;      // 8, 16, or 32 (floats)
  bool operator==(const TiffFormat&) const = default;

  std::size_t pixel_bytes() const { return static_cast<std::size_t>(channels * bits / 8); }
  std::size_t row_bytes() const { return static_cast<std::size_t>(size.width) * pixel_bytes(); }
};

class TiffFile;

class TiffReader {
 public:
  // Empty unless this is a TIFF that can be read in parts. `picture` is its index in the file.
  static std::optional<TiffReader> open(const std::string& path, int picture = 0);

  // Without an alpha channel. Whole numbers of 9 to 15 bits have 16; other numbers than whole ones of up to 16
  // bits are floats.
  const TiffFormat& format() const { return format_; }
  // What is added to values of signed integers of 16 bits.
  int offset() const { return kind_ == Kind::signed_number && format_.bits == 16 ? 32768 : 0; }
  bool has_alpha() const { return alpha_ >= 0; }
  // The values of black and of white that the file states.
  std::optional<ValueRange> range() const;
  // The value of pixels that are not valid, as GDAL writes it.
  std::optional<double> no_data() const;
  // What a float is in the file: "32-bit floating-point numbers".
  std::string numbers() const;
  // EXIF's orientation: 1 = upright. read() does not rotate.
  int orientation() const;
  std::string description() const;
  // Whether the file has all the bytes that its header announces.
  bool is_complete() const;
  // Memory that reading takes besides the requested pixels: a strip or tile, compressed and decompressed.
  std::size_t memory_bytes() const;

  // Reads a region, channels interleaved; rows are `stride_bytes` apart. `alpha`, if there is one and it is not
  // empty, becomes 0 where pixels are transparent.
  // \throws Error (file) for damage
  void read(const Rectangle& region, void* pixels, std::ptrdiff_t stride_bytes,
            View<std::uint8_t> alpha = {});

 private:
  enum class Kind { number, signed_number, floating_point };

  TiffReader() = default;
  bool understand();
  bool understand_samples();
  bool is_copied() const;
  std::size_t unit_row_bytes() const;
  void decode(int column, int row, int sample);
  void copy_unit(const Rectangle& unit, const Rectangle& region, int sample, std::byte* pixels,
                 std::ptrdiff_t stride_bytes) const;
  void convert_unit(const Rectangle& unit, const Rectangle& region, int first, int channel, std::byte* pixels,
                    std::ptrdiff_t stride_bytes) const;
  void take_alpha(const Rectangle& unit, const Rectangle& region, int sample, View<std::uint8_t> alpha) const;

  std::shared_ptr<TiffFile> file_;
  TiffFormat format_;
  Size unit_;  // size of a tile, or a strip
  bool tiled_ = false;
  int samples_ = 1;  // side by side in a unit
  int planes_ = 1;   // units of one sample each, one set after the other
  Kind kind_ = Kind::number;
  int stored_bits_ = 8;       // of a sample in the file
  bool is_inverted_ = false;  // 0 is white
  int alpha_ = -1;            // the sample that is alpha
  std::unique_ptr<std::byte[]> decoded_;
};

bool is_tiff(Bytes bytes);

// A TIFF with a palette, pixels of fewer than 8 bits, or other colours than gray and R, G, B, converted to 8
// bits, gray or R, G, B; nothing when libtiff cannot open the file.
// \throws Error (file)
std::optional<Picture> read_converted_tiff(const std::string& path);

std::vector<std::byte> encode_tiff(View<const float> values);

// Bytes of all tiles: those at the right and bottom edges are complete in the file.
std::size_t pixels_in_tiles(Size size);

// Writes one or more pictures to a file, row by row.
class TiffWriter {
 public:
  // Writes to memory.
  TiffWriter();
  // Replaces the file. `bytes`: of all strips or tiles; above 4 GB it is a BigTIFF.
  // \throws Error (file)
  TiffWriter(const std::string& path, std::size_t bytes);

  // Begins a picture in strips, or in tiles of 256×256.
  void begin(const TiffFormat& format, bool tiled = false, const std::string& description = "");
  void write_rows(const void* rows, int count, std::ptrdiff_t stride_bytes);
  void end();
  // Syncs everything to disk.
  void close();
  // Bytes of the file in memory, after end().
  std::vector<std::byte> bytes() const;

 private:
  void flush_band();
  void write_tiles();
  void check(bool written) const;

  std::shared_ptr<TiffFile> file_;
  TiffFormat format_;
  bool tiled_ = false;
  int band_rows_ = 0;  // rows of a strip, or tile
  int first_row_ = 0;  // first row of the band
  int filled_ = 0;     // rows of it
  std::vector<std::byte> band_, tile_;
};

}  // namespace parallax::tool
