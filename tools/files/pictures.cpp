// SPDX-License-Identifier: Apache-2.0
#include "tools/files/pictures.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
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

// Files that people give as pictures, by their first bytes: what they are.
std::string unread_kind(Bytes bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, const char*> kinds[] = {
      {"GIF8"sv, "a GIF"},
      {"\0\0\0\x0CjP"sv, "JPEG 2000"},
      {"\xFF\x4F\xFF\x51"sv, "JPEG 2000"},
      {"\0\0\0\x0CJXL "sv, "JPEG XL"},
      {"\xFF\x0A"sv, "JPEG XL"},
      {"v/1\x01"sv, "OpenEXR"},
      {"#?R"sv, "a Radiance picture"},
      {"8BPS"sv, "a Photoshop file"},
      {"\x93NUMPY"sv, "a NumPy array"},
      {"SIMPLE  ="sv, "a FITS file"},
      {"\x89HDF"sv, "an HDF5 file"},
      {"P7\n"sv, "PAM"},
      {"%PDF"sv, "a PDF"},
      {"PK\x03\x04"sv, "a ZIP archive"},
  };
  for (const auto& [start, kind] : kinds)
    if (begins_with(bytes, start) && bytes.size() >= start.size()) return kind;
  constexpr std::size_t brand = 4;
  if (bytes.size() >= 12)
    for (const char* name : {"ftypheic", "ftypheix", "ftypmif1", "ftypavif"})
      if (begins_with(bytes.subspan(brand), name)) return "HEIF or AVIF";
  return "";
}

// A PFM of one channel or of three.
bool is_pfm(Bytes bytes) {
  return bytes.size() > 2 && (begins_with(bytes, "Pf") || begins_with(bytes, "PF")) &&
         (bytes[2] == std::byte{'\n'} || bytes[2] == std::byte{'\r'} || bytes[2] == std::byte{' '});
}

int white_of(const Picture& picture) {
  return picture.view().format.depth == BitDepth::bits8 ? 255 : 65535;
}

// The range of values that need not be stretched.
ValueRange expected_range(const Picture& picture) {
  return {0, picture.view().format.depth == BitDepth::bits8 ? 255 : 255 * 256};
}

template <class Value>
void mask_value(Picture& picture, double no_data) {
  View<std::uint8_t> mask;
  const auto channels = static_cast<std::size_t>(picture.channels());
  for (int y = 0; y < picture.size().height; ++y) {
    const auto* values = reinterpret_cast<const Value*>(std::as_const(picture).row(y));
    for (int x = 0; x < picture.size().width; ++x, values += channels) {
      if (!std::all_of(values, values + channels, [&](Value value) { return value == no_data; })) continue;
      if (mask.empty()) mask = picture.changed_mask();
      mask.at(x, y) = 0;
    }
  }
}

// Masks the pixels all of whose channels have this value of the file.
void mask_no_data(Picture& picture, double no_data) {
  if (picture.view().format.depth == BitDepth::bits8)
    mask_value<std::uint8_t>(picture, no_data);
  else
    mask_value<std::uint16_t>(picture, no_data + picture.notes.offset);
}

// Floats as 16 bits: the range becomes all of them, and values that are not finite or have no data are masked.
Picture from_floats(const View<const float>& values, int channels, const PictureOptions::Values& range,
                    const std::optional<double>& no_data) {
  Picture picture({{values.size.width / channels, values.size.height}, BitDepth::bits16}, channels);
  View<std::uint8_t> mask;
  for (int y = 0; y < picture.size().height; ++y) {
    const float* from = values.row(y);
    auto* to = reinterpret_cast<std::uint16_t*>(picture.row(y));
    for (int i = 0; i < values.size.width; ++i) {
      const double share = (from[i] - range.low) / (range.high - range.low);
      to[i] = static_cast<std::uint16_t>(share >= 0 ? std::min(share, 1.0) * 65280 + 0.5 : 0);
      if (std::isfinite(from[i]) && !(no_data && from[i] == static_cast<float>(*no_data))) continue;
      if (mask.empty()) mask = picture.add_mask();
      mask.at(i / channels, y) = 0;
    }
  }
  picture.notes.range = expected_range(picture);
  return picture;
}

Plane<float> read_floats(TiffReader& tiff, const Rectangle& region) {
  Plane<float> values({region.size.width * tiff.format().channels, region.size.height});
  tiff.read(region, values.row(0), values.view().stride_bytes);
  return values;
}

// Values as the options ask.
void settle_range(const std::string& path, const PictureOptions& options, Picture& picture) {
  if (!options.range) return;
  const auto [low, high] = *options.range;
  const double first = std::round(low) + picture.notes.offset, last = std::round(high) + picture.notes.offset;
  const int white = white_of(picture);
  if (first < 0 || last > white || first >= last)
    fail_picture(path, "has values from " + std::to_string(-picture.notes.offset) + " to " +
                           std::to_string(white - picture.notes.offset) + ": " + options.range_text +
                           " is not within them");
  picture = stretched(picture, {static_cast<int>(first), static_cast<int>(last)});
}

// Of a picture that shares its pixels with no other.
void stretch_in_place(Picture& picture, const ValueRange& range) {
  if (range != expected_range(picture)) stretch(picture.view(), range, picture.output());
  picture.notes.range = expected_range(picture);
}

void read_region(const std::string& path, const PictureOptions& options, TiffReader& tiff,
                 const Rectangle& region, Picture& picture) {
  const std::optional<double> no_data = options.no_data ? options.no_data : tiff.no_data();
  const int channels = tiff.format().channels;
  if (tiff.format().bits == 32) {
    picture = from_floats(read_floats(tiff, region).view(), channels, *options.range, no_data);
    return;
  }
  const ImageFormat format{region.size, format_of(tiff).depth};
  if (picture.view().format != format || picture.channels() != channels || !picture.mask().empty() ||
      picture.empty())
    picture = Picture(format, channels);
  View<std::uint8_t> alpha;
  if (tiff.has_alpha()) alpha = picture.add_mask();
  tiff.read(region, picture.row(0), picture.view().stride_bytes, alpha);
  picture.notes = {tiff.range(), tiff.offset(), tiff.orientation()};
  if (no_data) mask_no_data(picture, *no_data);
  settle_range(path, options, picture);
}

[[noreturn]] void fail_floats(const std::string& path, const std::string& numbers) {
  fail_picture(path,
               "has " + numbers + ": say with --value-range LOW:HIGH which of them are black and white");
}

// Colours of a mosaic of a sensor: those that a pixel lacks are means of its neighbours.
template <class Value>
void demosaic(const Picture& mosaic, PictureOptions::Bayer bayer, Picture& colours) {
  const auto [width, height] = mosaic.size();
  const int pattern = static_cast<int>(bayer) - 1;  // rggb, grbg, gbrg, bggr
  const int red_x = pattern % 2, red_y = pattern / 2;
  const auto channel_at = [&](int x, int y) { return ((x ^ red_x) & 1) + ((y ^ red_y) & 1); };
  for (int y = 0; y < height; ++y) {
    auto* to = reinterpret_cast<Value*>(colours.row(y));
    for (int x = 0; x < width; ++x, to += 3) {
      unsigned sums[3] = {}, counts[3] = {};
      for (int v = std::max(y - 1, 0); v <= std::min(y + 1, height - 1); ++v)
        for (int u = std::max(x - 1, 0); u <= std::min(x + 1, width - 1); ++u) {
          const int channel = channel_at(u, v);
          // A green pixel has green neighbours at its corners, which are not needed.
          if (channel == channel_at(x, y) && (u != x || v != y)) continue;
          sums[channel] += reinterpret_cast<const Value*>(mosaic.row(v))[u];
          ++counts[channel];
        }
      for (int channel = 0; channel < 3; ++channel)
        to[channel] = static_cast<Value>(
            counts[channel] > 0 ? (sums[channel] + counts[channel] / 2) / counts[channel] : 0);
    }
  }
}

Picture with_colours(const Picture& mosaic, PictureOptions::Bayer bayer, const std::string& path) {
  if (mosaic.channels() != 1) fail_picture(path, "has colours: leave out --bayer, which is for raw mosaics");
  Picture colours(mosaic.view().format, 3);
  if (mosaic.view().format.depth == BitDepth::bits8)
    demosaic<std::uint8_t>(mosaic, bayer, colours);
  else
    demosaic<std::uint16_t>(mosaic, bayer, colours);
  colours.describe_as(mosaic);
  return colours;
}

void settle_values(const std::string& path, const PictureOptions& options, Picture& picture) {
  if (options.no_data) mask_no_data(picture, *options.no_data);
  settle_range(path, options, picture);
}

Picture read_stored(const std::string& path, const PictureOptions& options) {
  if (std::optional<TiffReader> tiff = TiffReader::open(path)) {
    if (tiff->format().bits == 32 && !options.range) fail_floats(path, tiff->numbers());
    Picture picture;
    read_region(path, options, *tiff, {0, 0, tiff->format().size}, picture);
    picture.notes.orientation = tiff->orientation();
    return picture;
  }
  std::optional<Picture> picture = read_converted_tiff(path);
  if (!picture) {
    const std::vector<std::byte> bytes = read_file(path);
    if (is_pfm(bytes)) {
      if (!options.range) fail_floats(path, "32-bit floating-point numbers");
      return from_floats(read_pfm(path).view(), 1, *options.range, options.no_data);
    }
    picture = decode_picture(bytes, path);
  }
  settle_values(path, options, *picture);
  return *picture;
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

std::optional<TiffReader> open_picture_tiff(const std::string& path, const PictureOptions& options) {
  if (options.bayer != PictureOptions::Bayer::none) return std::nullopt;
  std::optional<TiffReader> tiff = TiffReader::open(path);
  const bool as_stored = options.ignore_orientation || (tiff && tiff->orientation() == 1);
  if (tiff && ((tiff->format().bits == 32 && !options.range) || !as_stored)) return std::nullopt;
  return tiff;
}

PictureParts::PictureParts(const std::string& path, const PictureOptions& options)
    : path_(path), options_(options), tiff_(open_picture_tiff(path, options)) {
  if (tiff_) {
    format_ = format_of(*tiff_);
    channels_ = tiff_->format().channels;
  } else if (const std::optional<PictureHead> png = read_png_head(path, options.ignore_orientation)) {
    format_ = png->format;
    channels_ = options.bayer == PictureOptions::Bayer::none ? png->channels : 3;
  } else {
    decode();
  }
}

void PictureParts::decode() {
  if (tiff_ || !whole_.empty()) return;
  whole_ = read_picture(path_, options_);
  if (range_) stretch_in_place(whole_, *range_);
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

void PictureParts::stretch_from(const ValueRange& range) {
  range_ = range;
  if (!whole_.empty()) stretch_in_place(whole_, range);
}

void PictureParts::read(const Rectangle& region, Picture& part) {
  if (tiff_) {
    read_region(path_, options_, *tiff_, region, part);
    if (range_) stretch_in_place(part, *range_);
    return;
  }
  decode();
  part = whole_.part(region);
}

Picture decode_picture(Bytes bytes, const std::string& path) {
  if (bytes.empty()) fail_picture(path, "is empty: give a picture");
  if (is_png(bytes)) return decode_png(bytes, path);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, path);
  if (is_webp(bytes)) return decode_webp(bytes, path);
  if (is_bmp(bytes)) return decode_bmp(bytes, path);
  if (is_netpbm(bytes)) return decode_netpbm(bytes, path);
  const std::string kind = unread_kind(bytes);
  fail_picture(path, kind.empty() ? "is damaged or not a picture: give PNG, PGM, PPM, JPEG, WebP, BMP or TIFF"
                                  : "is " + kind + ", which is not read as a picture: convert it to PNG");
}

Picture stretched(const Picture& picture, const ValueRange& range) {
  Picture result(picture.view().format, picture.channels());
  stretch(picture.view(), range, result.output());
  result.describe_as(picture);
  result.notes.range = expected_range(result);
  return result;
}

ImageFormat read_picture_format(const std::string& path) {
  const InputFile file = open_input_file(path);
  if (!file) fail_file("read", path, errno);
  std::array<std::byte, 4096> bytes{};
  const Bytes head(bytes.data(), std::fread(bytes.data(), 1, bytes.size(), file.get()));
  try {
    if (is_png(head)) return read_png_head(path)->format;
    if (is_webp(head)) return webp_format(head, path);
    if (is_bmp(head)) return bmp_format(head, path);
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

static Picture settled(Picture picture, const std::string& path, const PictureOptions& options) {
  if (options.bayer != PictureOptions::Bayer::none) picture = with_colours(picture, options.bayer, path);
  if (!options.ignore_orientation) return upright(picture, picture.notes.orientation);
  picture.notes.orientation = 1;
  return picture;
}

Picture read_picture(const std::string& path, const PictureOptions& options) {
  return settled(read_stored(path, options), path, options);
}

Picture as_asked(Picture picture, const std::string& name, const PictureOptions& options) {
  settle_values(name, options, picture);
  return settled(std::move(picture), name, options);
}

Picture picture_in(Bytes file, const std::string& name, const PictureOptions& options) {
  return as_asked(decode_picture(file, name), name, options);
}

namespace {

// The range that two ranges of files make; empty unless both state one.
std::optional<ValueRange> together(const std::optional<ValueRange>& a, const std::optional<ValueRange>& b) {
  if (!a || !b) return std::nullopt;
  return ValueRange{std::min(a->low, b->low), std::max(a->high, b->high)};
}

bool holds(const ValueRange& whole, const ValueRange& part) {
  return whole.low <= part.low && part.high <= whole.high;
}

}  // namespace

ValueRange value_range(const PicturePair& pair) {
  const auto& [left, right] = pair;
  const std::optional<ValueRange> stated = together(left.notes.range, right.notes.range);
  const ValueRange expected = expected_range(left);
  if (expected.high == 255) return stated.value_or(expected);
  if (stated == expected) return expected;
  ValueHistogram histogram;
  histogram.add(left.view(), left.mask());
  histogram.add(right.view(), right.mask());
  const ValueRange seen = histogram.range(left.notes.offset);
  return stated && holds(*stated, seen) ? *stated : seen;
}

ValueRange value_range(PictureParts& left, PictureParts& right) {
  constexpr int rows = 256;
  ValueHistogram histogram;
  std::optional<ValueRange> stated[2];
  Picture part;
  for (PictureParts* parts : {&left, &right}) {
    const auto [width, height] = parts->format().size;
    for (int y = 0; y < height; y += rows) {
      parts->read({0, y, {width, std::min(rows, height - y)}}, part);
      std::optional<ValueRange>& range = stated[parts == &left ? 0 : 1];
      range = part.notes.range;
      if (part.view().format.depth == BitDepth::bits8 || range == expected_range(part)) break;
      histogram.add(part.view(), part.mask());
    }
  }
  const std::optional<ValueRange> both = together(stated[0], stated[1]);
  const ValueRange expected = expected_range(part);
  if (both == expected || expected.high == 255) return both.value_or(expected);
  const ValueRange seen = histogram.range(part.notes.offset);
  return both && holds(*both, seen) ? *both : seen;
}

PicturePair with_expected_values(const PicturePair& pair) {
  if (pair.left.view().format.depth != pair.right.view().format.depth) return pair;
  const ValueRange range = value_range(pair);
  if (range == expected_range(pair.left)) return pair;
  return {stretched(pair.left, range), stretched(pair.right, range)};
}

std::string describe(const ImageFormat& format) {
  return text(format.size) + " with " + std::to_string(static_cast<int>(format.depth)) + " bits";
}

PicturePair read_any_pair(const std::string& left, const std::string& right, const PictureOptions& options) {
  return with_expected_values({read_picture(left, options), read_picture(right, options)});
}

PicturePair read_pair(const std::string& left, const std::string& right, const PictureOptions& options) {
  PicturePair pair = read_any_pair(left, right, options);
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

bool is_picture_name(const std::string& path) {
  return has_extension(path, {".png", ".pbm", ".pgm", ".ppm", ".pnm", ".jpg", ".jpeg", ".tif", ".tiff",
                              ".webp", ".bmp", ".dib", ".mpo", ".jps"});
}

bool begins_as_picture(Bytes bytes) {
  return is_png(bytes) || is_jpeg(bytes) || is_webp(bytes) || is_netpbm(bytes) || is_tiff(bytes) ||
         is_bmp(bytes) || is_pfm(bytes) || !unread_kind(bytes).empty();
}

bool holds_picture(const std::string& path) {
  const InputFile file = open_input_file(path);
  std::array<std::byte, 16> head{};
  return file && begins_as_picture({head.data(), std::fread(head.data(), 1, head.size(), file.get())});
}

[[noreturn]] static void fail_scaled(const std::string& path) {
  fail_picture(path, "holds disparities in pixels: leave out --truth-scale");
}

std::optional<Plane<float>> read_float_map(const std::string& path) {
  if (has_extension(path, {".pfm"})) {
    check_readable_twice(path);
    return read_pfm(path);
  }
  std::optional<TiffReader> tiff = TiffReader::open(path);
  if (!tiff || tiff->format().bits != 32) return std::nullopt;
  if (tiff->format().channels != 1 || tiff->orientation() != 1)
    fail_picture(path, "has several channels, or is rotated: give disparities as Parallax writes them");
  return read_floats(*tiff, {0, 0, tiff->format().size});
}

Plane<float> read_disparity(const std::string& path, double scale) {
  if (std::optional<Plane<float>> floats = read_float_map(path)) {
    if (scale > 0) fail_scaled(path);
    return std::move(*floats);
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

namespace {

// Sums of the differences between neighbours, and between pixels two apart, along rows and down columns.
template <class Value>
bool differs_more_from_neighbours(const Picture& picture) {
  const auto [width, height] = picture.size();
  std::uint64_t next[2] = {}, second[2] = {};
  for (int y = 2; y < height; ++y) {
    const auto row = [&](int v) { return reinterpret_cast<const Value*>(picture.row(v)); };
    for (int x = 2; x < width; ++x) {
      const int here = row(y)[x];
      next[0] += static_cast<std::uint64_t>(std::abs(here - row(y)[x - 1]));
      next[1] += static_cast<std::uint64_t>(std::abs(here - row(y - 1)[x]));
      second[0] += static_cast<std::uint64_t>(std::abs(here - row(y)[x - 2]));
      second[1] += static_cast<std::uint64_t>(std::abs(here - row(y - 2)[x]));
    }
  }
  return 10 * next[0] > 11 * second[0] && 10 * next[1] > 11 * second[1];
}

}  // namespace

bool looks_like_mosaic(const Picture& picture) {
  if (picture.channels() != 1) return false;
  return picture.view().format.depth == BitDepth::bits8
             ? differs_more_from_neighbours<std::uint8_t>(picture)
             : differs_more_from_neighbours<std::uint16_t>(picture);
}

void check_disparities_fit(const std::string& path, int lowest, int highest) {
  if (!has_extension(path, {".png"}) || (highest > 0 && lowest < 256)) return;
  throw UsageError(path + " cannot hold disparities from " + std::to_string(lowest) + " to " +
                   std::to_string(highest) +
                   ", a PNG has those from 1/256 to 255.996: name it .tiff or .pfm");
}

void tell_lost(const std::string& path, std::size_t lost, std::size_t all, const std::string& why) {
  constexpr int most = 5;
  static std::atomic<int> told{0};
  if (lost == 0 || told >= most) return;
  const int now = ++told;
  if (now <= most)
    complain(path + ": " + std::to_string(lost) + " of " + std::to_string(all) + " " + why +
             (now == most ? "; more such files are not told" : ""));
}

namespace {

void tell_lost_disparities(const std::string& path, const View<const float>& disparity) {
  std::size_t lost = 0, all = 0;
  for (int y = 0; y < disparity.size.height; ++y)
    for (int x = 0; x < disparity.size.width; ++x) {
      const float d = disparity.at(x, y);
      if (!std::isfinite(d)) continue;
      ++all;
      if (!(d * 256 >= 0.5f && d * 256 < 65535.5f)) ++lost;
    }
  tell_lost(path, lost, all,
            "disparities become 1/256 or 255.996, the limits of a PNG: name it .tiff or .pfm to keep them");
}

}  // namespace

std::vector<std::byte> encode_disparity(const std::string& path, View<const float> disparity) {
  check_disparity_path(path);
  if (has_extension(path, {".pfm"})) return encode_pfm(disparity);
  if (has_extension(path, {".png"})) {
    tell_lost_disparities(path, disparity);
    return encode_png(encode_kitti(disparity).view());
  }
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
