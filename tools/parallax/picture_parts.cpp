// SPDX-License-Identifier: Apache-2.0
#include "tools/parallax/picture_parts.h"

#include <filesystem>

#include "tools/parallax/command.h"
#include "tools/parallax/pictures.h"
#include "tools/parallax/pictures/codecs.h"

namespace parallax::tool {
PictureParts::PictureParts(const std::string& path) : path_(path), tiff_(open_picture_tiff(path)) {
  if (tiff_) {
    format_ = picture_format(*tiff_);
    channels_ = tiff_->format().channels;
  } else if (const std::optional<PictureHead> png = read_png_head(path)) {
    format_ = png->format;
    channels_ = png->channels;
  } else {
    decode();
  }
}

void PictureParts::decode() {
  if (tiff_ || !whole_.empty()) return;
  whole_ = read_picture(path_);
  format_ = whole_.view().format;
  channels_ = whole_.view().channels;
}

PartsMemory PictureParts::memory() const {
  if (tiff_) return {0, tiff_->memory_bytes()};
  const std::size_t samples = format_.size.pixels() * static_cast<std::size_t>(format_.depth) / 8;
  const std::size_t held = samples * static_cast<std::size_t>(channels_);
  std::error_code unknown;
  const std::uintmax_t file = std::filesystem::file_size(path_, unknown);
  // The file, what is decoded of it, perhaps with an alpha channel, and that without it.
  std::size_t decoded = (static_cast<std::size_t>(channels_) + 1) * samples;
  // libtiff converts to four channels; and a picture may be turned.
  if (has_extension(path_, {".tif", ".tiff"})) decoded += 4 * format_.size.pixels();
  return {(unknown ? 0 : static_cast<std::size_t>(file)) + decoded + held, held};
}

ImageView PictureParts::part(const Rectangle& region) {
  if (tiff_) {
    read_region(*tiff_, region, part_);
    return part_.view();
  }
  decode();
  return whole_.part(region).view();
}

void check_mask(const PictureParts& mask, const std::string& path, Size size) {
  if (mask.format().depth != Depth::bits8 || mask.channels() != 1)
    throw Error(ErrorCategory::file, path + ": is no mask: give a gray picture of 8 bits");
  if (mask.format().size != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.format().size) + ", the pair is " +
                                         text(size) + ": give a mask of the size of the pair");
}

}  // namespace parallax::tool
