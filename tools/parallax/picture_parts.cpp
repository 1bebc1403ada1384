#include "tools/parallax/picture_parts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tools/parallax/command.h"

namespace parallax::tool {
namespace {

struct PngFormat {
  ImageFormat format;
  int channels = 1;  // once the alpha channel is left out
};

// Of its first bytes; nothing when they are no PNG's.
std::optional<PngFormat> read_png_format(const std::string& path) {
  constexpr std::string_view beginning("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16);
  constexpr std::size_t width = 16, height = 20, bits = 24, kind = 25;  // where they are
  std::array<char, 26> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), head.size()) || !std::equal(beginning.begin(), beginning.end(), head.begin()))
    return std::nullopt;
  const auto number = [&](std::size_t at) {
    unsigned value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(head[i]);
    return static_cast<int>(value);
  };
  const Size size{number(width), number(height)};
  constexpr int longest = 1 << 20;  // OpenCV's
  if (std::min(size.width, size.height) < 1 || std::max(size.width, size.height) > longest)
    return std::nullopt;
  const bool is_gray = head[kind] == 0;
  return PngFormat{{size, head[bits] == 16 ? Depth::bits16 : Depth::bits8}, is_gray ? 1 : 3};
}

}  // namespace

PictureParts::PictureParts(const std::string& path) : path_(path), tiff_(open_picture_tiff(path)) {
  if (tiff_) {
    format_ = picture_format(*tiff_);
    channels_ = tiff_->format().channels;
  } else if (const std::optional<PngFormat> png = read_png_format(path)) {
    format_ = png->format;
    channels_ = png->channels;
  } else {
    decode();
  }
}

void PictureParts::decode() {
  if (tiff_ || !whole_.pixels.empty()) return;
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
  // The file, what is decoded of it, perhaps with an alpha channel, and that with its channels in our order.
  const std::size_t decoded = channels_ == 1 ? samples : 4 * samples;
  return {(unknown ? 0 : static_cast<std::size_t>(file)) + decoded + held, held};
}

ImageView PictureParts::part(const Rectangle& region) {
  if (tiff_) {
    read_region(*tiff_, region, part_);
    return part_.view();
  }
  decode();
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
