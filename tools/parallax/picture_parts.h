// SPDX-License-Identifier: Apache-2.0
// Pictures of which parts are wanted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "parallax/partition.h"

#include "tools/parallax/pictures.h"
#include "tools/parallax/tiff.h"

namespace parallax::tool {

// What reading parts of a picture holds, besides the parts.
struct PartsMemory {
  std::size_t opening = 0;  // at most, until the picture is open
  std::size_t held = 0;     // from then on
};

// Of a TIFF, parts are read as they are wanted. Other pictures are decoded whole, once: a PNG, which says in
// its first bytes how large it is, when a part is wanted; the rest at once.
class PictureParts {
 public:
  // \throws Error (file)
  explicit PictureParts(const std::string& path);

  const ImageFormat& format() const { return format_; }
  int channels() const { return channels_; }
  PartsMemory memory() const;

  // What has to be decoded whole is now, so that damage is found. \throws Error (file)
  void decode();

  // Good until the next call. \throws Error (file)
  ImageView part(const Rectangle& region);

 private:
  std::string path_;
  std::optional<TiffReader> tiff_;
  Picture whole_, part_;
  ImageFormat format_;
  int channels_ = 1;
};

// \throws Error (file) unless this is a mask for images of this size
void check_mask(const PictureParts& mask, const std::string& path, Size size);

}  // namespace parallax::tool
