#include "tools/parallax/picture_parts.h"

#include <filesystem>

#include "tools/parallax/command.h"

namespace parallax::tool {

PictureParts::PictureParts(const std::string& path) : path_(path), tiff_(open_picture_tiff(path)) {
  if (tiff_) {
    format_ = picture_format(*tiff_);
    channels_ = tiff_->format().channels;
    return;
  }
  whole_ = read_picture(path);
  format_ = whole_.view().format;
  channels_ = whole_.view().channels;
}

PartsMemory PictureParts::memory() const {
  if (tiff_) return {0, tiff_->memory_bytes()};
  const std::size_t pixels = format_.size.pixels() * static_cast<std::size_t>(channels_) *
                             static_cast<std::size_t>(format_.depth) / 8;
  std::error_code unknown;
  const std::uintmax_t file = std::filesystem::file_size(path_, unknown);
  // The file, what is decoded of it, and that with its channels in our order.
  return {(unknown ? 0 : static_cast<std::size_t>(file)) + 2 * pixels, pixels};
}

ImageView PictureParts::part(const Rectangle& region) {
  if (tiff_) {
    read_region(*tiff_, region, part_);
    return part_.view();
  }
  part_.pixels = whole_.pixels(cv::Rect(region.x, region.y, region.size.width, region.size.height));
  return part_.view();
}

void check_mask(const PictureParts& mask, const std::string& path, Size size) {
  if (mask.format().depth != Depth::bits8 || mask.channels() != 1)
    throw Error(ErrorCategory::file, path + ": is no mask: give a gray picture of 8 bits");
  if (mask.format().size != size)
    throw Error(ErrorCategory::file, path + " is " + text(mask.format().size) + ", the pair is " +
                                         text(size) + ": give a mask of the size of the pair");
}

}  // namespace parallax::tool
