// SPDX-License-Identifier: Apache-2.0
// Picture files: decoders, and the conventions of ground-truth files.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "parallax/image.h"

#include "tools/files/pictures/picture.h"
#include "tools/files/tiff.h"

namespace parallax::tool {

// Reads PNG, JPEG, WebP, PBM, PGM, PPM, and TIFFs of any size, upright as their EXIF data say. An alpha
// channel is left out.
// \throws Error (file)
Picture read_picture(const std::string& path);

// The same of a file in memory that is no TIFF; `name` appears in errors.
Picture decode_picture(Bytes file, const std::string& name);

// From the beginning of the file, before the picture is turned upright.
// \throws Error (file)
ImageFormat read_picture_format(const std::string& path);

// Empty unless this is a TIFF of 8 or 16 bits that can be read by regions.
std::optional<TiffReader> open_picture_tiff(const std::string& path);

// Memory that reading parts of a picture takes besides the parts.
struct PartsMemory {
  std::size_t opening = 0;  // at most, while the picture is being opened
  std::size_t held = 0;     // from then on
};

// A picture that is read in parts. Parts of a TIFF are read on demand. Other pictures are decoded completely,
// once: a PNG, whose header tells its size, in decode() or read(); all others in the constructor.
class PictureParts {
 public:
  // \throws Error (file)
  explicit PictureParts(const std::string& path);

  const ImageFormat& format() const { return format_; }
  int channels() const { return channels_; }
  PartsMemory memory() const;

  // Decodes the complete picture if it cannot be read in parts, which finds damage.
  // \throws Error (file)
  void decode();

  // Reuses the memory of `part` if it has this size.
  // \throws Error (file)
  void read(const Rectangle& region, Picture& part);

 private:
  std::string path_;
  std::optional<TiffReader> tiff_;
  Picture whole_;
  ImageFormat format_;
  int channels_ = 1;
};

// "640×480 with 8 bits"
std::string describe(const ImageFormat& format);

struct PicturePair {
  Picture left, right;
};

// \throws Error (file), also when sizes or depths differ
PicturePair read_pair(const std::string& left, const std::string& right);

// \throws Error (file), naming these files, when sizes or depths differ
void check_formats(const PicturePair& pair, const std::string& left, const std::string& right);
void check_formats(const ImageFormat& left_format, const ImageFormat& right_format, const std::string& left,
                   const std::string& right);

// The left and right halves, which share the pixels of the picture.
// \throws Error (file) for an odd width
PicturePair split_side_by_side(const Picture& both, const std::string& path);

// Extensions are given in lower case.
bool has_extension(const std::string& path, std::initializer_list<const char*> extensions);

bool is_picture_name(const std::string& path);

bool holds_picture(const std::string& path);

// Reads a disparity map: PFM, TIFF of 32-bit floats, 16-bit PNG as KITTI; with a scale, also 8-bit pictures
// of value = disparity · scale, 0 = none. A scale for any other file is an error.
// \throws Error (file)
Plane<float> read_disparity(const std::string& path, double scale = 0);

// Reads a mask: one 8-bit channel.
// \throws Error (file)
Plane<std::uint8_t> read_mask(const std::string& path);

// \throws UsageError when encode_disparity() does not know the extension.
void check_disparity_path(const std::string& path);

// By the extension: .pfm, .png (KITTI), .tif or .tiff (floats).
// \throws UsageError for another
std::vector<std::byte> encode_disparity(const std::string& path, View<const float> disparity);

// Up to `low` is blue, from `high` on is red, no value is black.
Picture colour(View<const float> disparity, double low, double high);

// A PNG: near is red, far is blue, no value is black.
std::vector<std::byte> encode_coloured(View<const float> disparity);

}  // namespace parallax::tool
