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

// Reads PNG, JPEG, WebP, BMP, PBM, PGM, PPM, and TIFFs of any size; with a range, also floats. Transparent pixels and
// those without data are masked. Values are those of the file, unless the options have a range; the notes say which of
// them are black and white, if the file does.
// \throws Error (file)
Picture read_picture(const std::string& path, const PictureOptions& options = {});

// Decodes a file in memory that is no TIFF, as it is stored; `name` appears in errors.
Picture decode_picture(Bytes file, const std::string& name);
// A decoded picture, as the options ask; `name` appears in errors.
Picture as_asked(Picture picture, const std::string& name, const PictureOptions& options);
// A file in memory, as the options ask.
Picture picture_in(Bytes file, const std::string& name, const PictureOptions& options);

// Stretches the values of a picture to those that matchers expect.
// \throws Error (argument)
Picture stretched(const Picture& picture, const ValueRange& range);

// From the beginning of the file, before the picture is turned upright.
// \throws Error (file)
ImageFormat read_picture_format(const std::string& path);

// Empty unless this is a TIFF that can be read by regions as these options ask.
std::optional<TiffReader> open_picture_tiff(const std::string& path, const PictureOptions& options = {});

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
  explicit PictureParts(const std::string& path, const PictureOptions& options = {});

  const ImageFormat& format() const { return format_; }
  int channels() const { return channels_; }
  PartsMemory memory() const;

  // Decodes the complete picture if it cannot be read in parts, which finds damage.
  // \throws Error (file)
  void decode();

  // From now on, read() stretches values of this range to those that matchers expect.
  void stretch_from(const ValueRange& range);
  // Values are as read_picture() gives them. Reuses the memory of `part` if it has this size.
  // \throws Error (file)
  void read(const Rectangle& region, Picture& part);

 private:
  std::string path_;
  PictureOptions options_;
  std::optional<TiffReader> tiff_;
  Picture whole_;
  std::optional<ValueRange> range_;
  ImageFormat format_;
  int channels_ = 1;
};

// "640×480 with 8 bits"
std::string describe(const ImageFormat& format);

struct PicturePair {
  Picture left, right;
};

// The values of black and of white of two pictures of one depth: those that both files state, unless there are others;
// else, of 16 bits, those of both pictures together.
ValueRange value_range(const PicturePair& pair);
// The same of a pair that is read in parts; reads all of it where the files state no range.
// \throws Error (file)
ValueRange value_range(PictureParts& left, PictureParts& right);

// Stretches the values of both pictures alike to those that all that follows expects.
PicturePair with_expected_values(const PicturePair& pair);

// Reads both, with these values.
// \throws Error (file), also when sizes or depths differ
PicturePair read_pair(const std::string& left, const std::string& right, const PictureOptions& options = {});
// The same of pictures that may differ.
PicturePair read_any_pair(const std::string& left, const std::string& right,
                          const PictureOptions& options = {});

// \throws Error (file), naming these files, when sizes or depths differ
void check_formats(const PicturePair& pair, const std::string& left, const std::string& right);
void check_formats(const ImageFormat& left_format, const ImageFormat& right_format, const std::string& left,
                   const std::string& right);

// Extensions are given in lower case.
bool has_extension(const std::string& path, std::initializer_list<const char*> extensions);

bool is_picture_name(const std::string& path);

// By its first bytes.
bool holds_picture(const std::string& path);
bool begins_as_picture(Bytes bytes);

// A map of floats, from a PFM or a TIFF of one channel; nothing for other files.
// \throws Error (file)
std::optional<Plane<float>> read_float_map(const std::string& path);

// Reads a disparity map: PFM, TIFF of 32-bit floats, 16-bit PNG as KITTI; with a scale, also 8-bit pictures
// of value = disparity · scale, 0 = none. A scale for any other file is an error.
// \throws Error (file)
Plane<float> read_disparity(const std::string& path, double scale = 0);

// Reads a mask: one 8-bit channel.
// \throws Error (file)
Plane<std::uint8_t> read_mask(const std::string& path);

// \throws UsageError when encode_disparity() does not know the extension.
void check_disparity_path(const std::string& path);
// \throws UsageError for a PNG that could hold none of these disparities
void check_disparities_fit(const std::string& path, int lowest, int highest);

// Tells how many of the values that a file should hold it cannot hold, if there are any: the first five files each,
// and that there may be more.
void tell_lost(const std::string& path, std::size_t lost, std::size_t all, const std::string& why);

// Whether this looks like the raw mosaic of a sensor, whose neighbouring pixels have different colours: they differ more
// than pixels two apart.
bool looks_like_mosaic(const Picture& picture);

// By the extension: .pfm, .png (KITTI), .tif or .tiff (floats). Tells how many disparities do not fit a PNG.
// \throws UsageError for another
std::vector<std::byte> encode_disparity(const std::string& path, View<const float> disparity);

// Up to `low` is blue, from `high` on is red, no value is black.
Picture colour(View<const float> disparity, double low, double high);

// A PNG: near is red, far is blue, no value is black.
std::vector<std::byte> encode_coloured(View<const float> disparity);

}  // namespace parallax::tool
