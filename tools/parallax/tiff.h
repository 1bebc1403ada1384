// SPDX-License-Identifier: Apache-2.0
// TIFF files part by part, by libtiff: pictures and maps that need not fit into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallax/partition.h"

#include "tools/parallax/pictures/picture.h"

namespace parallax::tool {

// The pixels of a picture.
struct TiffFormat {
  Size size;
  int channels = 1;  // 1, or R, G, B side by side
  int bits = 8;      // 8, 16, or 32, which are floats
  bool operator==(const TiffFormat&) const = default;

  std::size_t pixel_bytes() const { return static_cast<std::size_t>(channels * bits / 8); }
  std::size_t bytes() const { return size.pixels() * pixel_bytes(); }
};

class TiffFile;
struct TiffMemory;

// A picture of a file, of which parts are read.
class TiffReader {
 public:
  // Nothing when this is no TIFF, or one of a kind that read_converted_tiff() is for. `picture` counts those
  // of a file.
  static std::optional<TiffReader> open(const std::string& path, int picture = 0);
  TiffReader(TiffReader&&) noexcept;
  TiffReader& operator=(TiffReader&&) noexcept;
  ~TiffReader();

  // Without an alpha channel, which is left out.
  const TiffFormat& format() const { return format_; }
  // As EXIF counts them: 1 = rows and columns are as they are to be seen. read() does not turn them.
  int orientation() const;
  std::string description() const;
  // Does the file reach as far as it says?
  bool is_complete() const;
  // What reading holds besides the pixels asked for: a strip or tile of the file, packed and unpacked.
  std::size_t memory_bytes() const;

  // Pixels of the region, channels side by side; from one row to the next there are `stride_bytes`.
  // \throws Error (file) when the file is damaged
  void read(const Rectangle& region, void* pixels, std::ptrdiff_t stride_bytes);

 private:
  explicit TiffReader(std::unique_ptr<TiffFile> file);
  bool understand();
  void decode(int column, int row, int sample);
  void copy_unit(const Rectangle& unit, const Rectangle& region, int sample, std::byte* pixels,
                 std::ptrdiff_t stride_bytes) const;

  std::unique_ptr<TiffFile> file_;
  TiffFormat format_;
  Size unit_;  // of a tile, or a strip
  bool tiled_ = false;
  int samples_ = 1;  // side by side in a unit
  int planes_ = 1;   // units of one sample each, one set after the other
  std::unique_ptr<std::byte[]> decoded_;
};

bool is_tiff(Bytes bytes);

// A TIFF with a palette, pixels of fewer than 8 bits, or other colours than gray and R, G, B, converted to 8
// bits, gray or R, G, B, and turned upright; nothing when libtiff cannot open the file. \throws Error (file)
std::optional<Picture> read_converted_tiff(const std::string& path);

// The bytes of a TIFF of 32-bit floats.
std::vector<std::byte> encode_tiff(View<const float> values);

// Of all tiles: those at the right and the bottom are whole in the file.
std::size_t pixels_in_tiles(Size size);

// Writes pictures, each from its first row to its last, one after the other into a file.
class TiffWriter {
 public:
  // Writes to memory, which must outlive this.
  explicit TiffWriter(std::vector<std::byte>& memory);
  // Replaces the file. `bytes`: of all strips, or tiles, that will come; a file above 4 GB is a BigTIFF.
  // \throws Error (file)
  TiffWriter(const std::string& path, std::size_t bytes);
  ~TiffWriter();

  // A picture begins, in strips or in tiles of 256×256.
  void begin(const TiffFormat& format, bool tiled = false, const std::string& description = "");
  void write_rows(const void* rows, int count, std::ptrdiff_t stride_bytes);
  // After the last row: the picture ends.
  void end();
  // Everything is on the disk.
  void close();

 private:
  void flush_band();
  void write_tiles();
  void check(bool written) const;

  std::unique_ptr<TiffMemory> memory_;  // null = to a file
  std::unique_ptr<TiffFile> file_;
  TiffFormat format_;
  bool tiled_ = false;
  int band_rows_ = 0;  // of a strip, or tile
  int first_row_ = 0;  // of the band
  int filled_ = 0;     // rows of it
  std::vector<std::byte> band_, tile_;
};

}  // namespace parallax::tool
