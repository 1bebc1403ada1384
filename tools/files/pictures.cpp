// SPDX-License-Identifier: Apache-2.0
#include "tools/files/pictures.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "parallax/formats.h"

#include "tools/command/command.h"
#include "tools/command/command_files.h"
#include "tools/files/pictures/codecs.h"

namespace parallax::tool {
namespace {

ImageFormat format_of(const TiffReader& tiff) {
  return {tiff.format().size, tiff.format().bits == 8 ? BitDepth::bits8 : BitDepth::bits16};
}

void read_region(TiffReader& tiff, const Rectangle& region, Picture& picture) {
  const ImageFormat format{region.size, format_of(tiff).depth};
  if (picture.view().format != format || picture.channels() != tiff.format().channels || picture.empty())
    picture = Picture(format, tiff.format().channels);
  tiff.read(region, picture.row(0), picture.view().stride_bytes);
}

Picture read_whole(TiffReader& tiff) {
  Picture picture;
  read_region(tiff, {0, 0, tiff.format().size}, picture);
  return upright(picture, tiff.orientation());
}

template <class T>
View<const T> values_of(const Picture& picture) {
  const ImageView& view = picture.view();
  return {static_cast<const T*>(view.data), view.format.size, view.stride_bytes};
}

template <class T>
Plane<T> copy(View<const T> view) {
  Plane<T> plane(view.size);
  for (int y = 0; y < view.size.height; ++y) std::copy_n(view.row(y), view.size.width, plane.row(y));
  return plane;
}

}  // namespace

bool has_extension(const std::string& path, std::initializer_list<const char*> extensions) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::optional<TiffReader> open_picture_tiff(const std::string& path) {
  std::optional<TiffReader> tiff = TiffReader::open(path);
  if (tiff && (tiff->format().bits == 32 || tiff->orientation() != 1)) return std::nullopt;
  return tiff;
}

PictureParts::PictureParts(const std::string& path) : path_(path), tiff_(open_picture_tiff(path)) {
  if (tiff_) {
    format_ = format_of(*tiff_);
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
  // The file, the decoded picture, possibly with an alpha channel, and the copy without it.
  std::size_t decoded = (static_cast<std::size_t>(channels_) + 1) * samples;
  // libtiff converts to four channels, and the picture may be rotated.
  if (has_extension(path_, {".tif", ".tiff"})) decoded += 4 * format_.size.pixels();
  return {(unknown ? 0 : static_cast<std::size_t>(file)) + decoded + held, held};
}

void PictureParts::read(const Rectangle& region, Picture& part) {
  if (tiff_) return read_region(*tiff_, region, part);
  decode();
  part = whole_.part(region);
}

Picture decode_picture(Bytes bytes, const std::string& path) {
  if (bytes.empty()) fail_picture(path, "is empty: give a picture");
  if (is_png(bytes)) return decode_png(bytes, path);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, path);
  if (is_webp(bytes)) return decode_webp(bytes, path);
  if (is_netpbm(bytes)) return decode_netpbm(bytes, path);
  fail_picture(path, "is damaged or not a picture: give PNG, PGM, PPM, JPEG, WebP or TIFF");
}

ImageFormat read_picture_format(const std::string& path) {
  const auto close = [](std::FILE* open) { std::fclose(open); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rbe"), close);
  if (!file) fail_file("read", path, errno);
  std::array<std::byte, 4096> bytes{};
  const Bytes head(bytes.data(), std::fread(bytes.data(), 1, bytes.size(), file.get()));
  try {
    if (is_png(head)) return read_png_head(path)->format;
    if (is_webp(head)) return webp_format(head, path);
    if (is_netpbm(head)) return netpbm_format(head, path);
    if (is_jpeg(head)) {
      std::rewind(file.get());
      return read_jpeg_format(file.get(), path);
    }
    if (is_tiff(head))
      if (const std::optional<TiffReader> tiff = TiffReader::open(path)) return format_of(*tiff);
  } catch (const Error& error) {
    if (error.category() != ErrorCategory::file) throw;
  }
  // Its beginning does not tell: finds out why.
  return read_picture(path).view().format;
}

Picture read_picture(const std::string& path) {
  if (std::optional<TiffReader> tiff = TiffReader::open(path)) {
    if (tiff->format().bits == 32) fail_picture(path, "has pixels of neither 8 nor 16 bits: convert it");
    return read_whole(*tiff);
  }
  if (std::optional<Picture> picture = read_converted_tiff(path)) return *picture;
  const std::vector<std::byte> bytes = read_file(path);
  return decode_picture(bytes, path);
}

std::string describe(const ImageFormat& format) {
  return text(format.size) + " with " + std::to_string(static_cast<int>(format.depth)) + " bits";
}

PicturePair read_pair(const std::string& left, const std::string& right) {
  PicturePair pair{read_picture(left), read_picture(right)};
  check_formats(pair, left, right);
  return pair;
}

void check_formats(const PicturePair& pair, const std::string& left, const std::string& right) {
  check_formats(pair.left.view().format, pair.right.view().format, left, right);
}

void check_formats(const ImageFormat& left_format, const ImageFormat& right_format, const std::string& left,
                   const std::string& right) {
  if (left_format != right_format)
    throw Error(ErrorCategory::file, left + " is " + describe(left_format) + ", " + right + " is " +
                                         describe(right_format) + ": give a pair of one size and depth");
}

PicturePair split_side_by_side(const Picture& both, const std::string& path) {
  const auto [width, height] = both.size();
  if (width % 2 != 0)
    fail_picture(
        path, "is " + std::to_string(width) + " pixels wide: two pictures side by side have an even width");
  return {both.part({0, 0, {width / 2, height}}), both.part({width / 2, 0, {width / 2, height}})};
}

bool is_picture_name(const std::string& path) {
  return has_extension(path,
                       {".png", ".pbm", ".pgm", ".ppm", ".pnm", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"});
}

bool holds_picture(const std::string& path) {
  std::array<std::byte, 16> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  const Bytes bytes(head.data(), static_cast<std::size_t>(file.gcount()));
  return is_png(bytes) || is_jpeg(bytes) || is_webp(bytes) || is_netpbm(bytes) || is_tiff(bytes);
}

[[noreturn]] static void fail_scaled(const std::string& path) {
  fail_picture(path, "holds disparities in pixels: leave out --truth-scale");
}

Plane<float> read_disparity(const std::string& path, double scale) {
  if (has_extension(path, {".pfm"})) {
    if (scale > 0) fail_scaled(path);
    return read_pfm(path);
  }
  std::optional<TiffReader> tiff = TiffReader::open(path);
  if (tiff && tiff->format().bits == 32) {
    if (scale > 0) fail_scaled(path);
    if (tiff->format().channels != 1 || tiff->orientation() != 1)
      fail_picture(path, "has several channels, or is rotated: give disparities as Parallax writes them");
    Plane<float> disparity(tiff->format().size);
    tiff->read({0, 0, disparity.size()}, disparity.row(0), disparity.view().stride_bytes);
    return disparity;
  }
  const Picture picture = read_picture(path);
  const bool is_deep = picture.view().format.depth == BitDepth::bits16;
  if (scale > 0 && is_deep) fail_scaled(path);
  if (picture.channels() != 1)
    fail_picture(path, "has " + std::to_string(picture.channels()) + " channels: disparities need one");
  if (is_deep) return decode_kitti(values_of<std::uint16_t>(picture));
  if (!(scale > 0))
    fail_picture(path, "has 8 bits: give its gray levels per pixel of disparity with --truth-scale");
  return decode_scaled_truth(values_of<std::uint8_t>(picture), scale);
}

Plane<std::uint8_t> read_mask(const std::string& path) {
  const Picture picture = read_picture(path);
  if (picture.view().format.depth != BitDepth::bits8 || picture.channels() != 1)
    fail_picture(path, "is not a mask: give an 8-bit gray picture");
  return copy(values_of<std::uint8_t>(picture));
}

void check_disparity_path(const std::string& path) {
  if (!has_extension(path, {".pfm", ".png", ".tif", ".tiff"}))
    throw UsageError(path + " has no known extension: name it .pfm, .png or .tiff");
}

std::vector<std::byte> encode_disparity(const std::string& path, View<const float> disparity) {
  check_disparity_path(path);
  if (has_extension(path, {".pfm"})) return encode_pfm(disparity);
  if (has_extension(path, {".png"})) return encode_png(encode_kitti(disparity).view());
  return encode_tiff(disparity);
}

Picture colour(View<const float> disparity, double low, double high) {
  Picture picture({disparity.size, BitDepth::bits8}, 3);
  parallax::colour(disparity, low, high, picture.samples());
  return picture;
}

std::vector<std::byte> encode_coloured(View<const float> disparity) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (int y = 0; y < disparity.size.height; ++y) {
    for (int x = 0; x < disparity.size.width; ++x) {
      const float value = disparity.at(x, y);
      if (!(value < std::numeric_limits<float>::max())) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) low = high = 0;
  return encode_png(colour(disparity, low, high).view());
}

}  // namespace parallax::tool
