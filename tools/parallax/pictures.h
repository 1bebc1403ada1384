// SPDX-License-Identifier: Apache-2.0
// Files of pictures: decoding what users have, and the conventions of truth files.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "parallax/image.h"

#include "tools/parallax/pictures/picture.h"
#include "tools/parallax/tiff.h"

namespace parallax::tool {

// Reads PNG, JPEG, WebP, PBM, PGM, PPM, and TIFFs of any size, upright as their EXIF data say. An alpha
// channel is left out. \throws Error (file)
Picture read_picture(const std::string& path);

// The same of a file in memory that is no TIFF; `name` appears in errors.
Picture decode_picture(Bytes file, const std::string& name);

// Nothing when this is no TIFF of 8 or 16 bits that can be read by regions.
std::optional<TiffReader> open_picture_tiff(const std::string& path);

// What reading parts of a picture holds, besides the parts.
struct PartsMemory {
  std::size_t opening = 0;  // at most, until the picture is open
  std::size_t held = 0;     // from then on
};

// A picture of which parts are wanted. Of a TIFF, they are read as they are wanted. Other pictures are
// decoded whole, once: a PNG, which says in its first bytes how large it is, when decode() or read() is
// called; the rest at once.
class PictureParts {
 public:
  // \throws Error (file)
  explicit PictureParts(const std::string& path);

  const ImageFormat& format() const { return format_; }
  int channels() const { return channels_; }
  PartsMemory memory() const;

  // What has to be decoded whole is now, so that damage is found. \throws Error (file)
  void decode();

  // Into memory that `part` has already, where it is of this size. \throws Error (file)
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

// Rectified, left and right.
struct PicturePair {
  Picture left, right;
};

// \throws Error (file) also when they are not of one size and depth
PicturePair read_pair(const std::string& left, const std::string& right);

// \throws Error (file) when the two, read from these files, are not of one size and depth
void check_formats(const PicturePair& pair, const std::string& left, const std::string& right);
void check_formats(const ImageFormat& left_format, const ImageFormat& right_format, const std::string& left,
                   const std::string& right);

// The left and the right half, which share the pixels of the whole. \throws Error (file) for an odd width
PicturePair split_side_by_side(const Picture& both, const std::string& path);

// Extensions are given in lower case.
bool has_extension(const std::string& path, std::initializer_list<const char*> extensions);

// Does the extension say that this is a picture?
bool is_picture_name(const std::string& path);

// Do the first bytes of the file say so?
bool holds_picture(const std::string& path);

// Reads a disparity map: PFM, TIFF of 32-bit floats, 16-bit PNG as KITTI; with a scale, also 8-bit pictures
// of value = disparity · scale, 0 = none. A scale
// for any other file is an error. \throws Error (file)
Plane<float> read_disparity(const std::string& path, double scale = 0);

// Reads a mask: one 8-bit channel. \throws Error (file)
Plane<std::uint8_t> read_mask(const std::string& path);

// \throws UsageError when encode_disparity() does not know the extension.
void check_disparity_path(const std::string& path);

// The bytes of a disparity file, by the extension of its path: .pfm, .png (KITTI), .tif or .tiff (32-bit
// floats). \throws UsageError for another extension
std::vector<std::byte> encode_disparity(const std::string& path, View<const float> disparity);

}  // namespace parallax::tool
