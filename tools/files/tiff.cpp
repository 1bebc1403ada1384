// SPDX-License-Identifier: Apache-2.0
#include "tools/files/tiff.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "parallax/error.h"

#include "src/core/cpp20.h"
#include "tools/command/command_files.h"

namespace parallax::tool {

// An open file and the last message of libtiff about it.
class TiffFile {
 public:
  TiffFile(const std::string& path, const char* mode) : path_(path) {
    const Options options = make_options();
    errno = 0;
    file_ = TIFFOpenExt(path.c_str(), mode, options.get());
  }
  // An open file, whose descriptor becomes libtiff's; none if that is negative.
  TiffFile(int descriptor, const std::string& path, const char* mode) : path_(path) {
    const Options options = make_options();
    if (descriptor >= 0) file_ = TIFFFdOpenExt(descriptor, path.c_str(), mode, options.get());
    if (file_ == nullptr && descriptor >= 0) ::close(descriptor);
  }
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;
  ~TiffFile() { close(); }

  TIFF* get() const { return file_; }
  const std::string& path() const { return path_; }
  const std::string& complaint() const { return complaint_; }
  void close() {
    if (file_ != nullptr) TIFFClose(std::exchange(file_, nullptr));
  }

  template <class Value>
  Value field(std::uint32_t tag, Value value) const {
    TIFFGetFieldDefaulted(file_, tag, &value);
    return value;
  }

 private:
  using Options = std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)>;
  Options make_options() {
    Options options(TIFFOpenOptionsAlloc(), &TIFFOpenOptionsFree);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &TiffFile::hear, this);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &TiffFile::ignore, nullptr);
    return options;
  }
  static int hear(TIFF*, void* self, const char*, const char* format, va_list values) {
    char text[256];
    std::vsnprintf(text, sizeof text, format, values);
    static_cast<TiffFile*>(self)->complaint_ = text;
    return 1;
  }
  static int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

  std::string path_, complaint_;
  TIFF* file_ = nullptr;
};

namespace {

constexpr int tile_side = 256;

Rectangle overlap(const Rectangle& a, const Rectangle& b) {
  const int x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return {x,
          y,
          {std::min(a.x + a.size.width, b.x + b.size.width) - x,
           std::min(a.y + a.size.height, b.y + b.size.height) - y}};
}

// Size of an open file in bytes; 0 = unknown.
std::uint64_t length_of(TIFF* file) {
  struct stat about {};
  return ::fstat(TIFFFileno(file), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

bool fits_int(std::uint32_t value) {
  return value >= 1 && value <= static_cast<std::uint32_t>(std::numeric_limits<int>::max());
}

}  // namespace

std::optional<TiffReader> TiffReader::open(const std::string& path, int picture) {
  // Not memory-mapped: pages read would count as memory of this process.
  TiffReader reader;
  reader.file_ = std::make_shared<TiffFile>(open_input(path), path, "rm");
  TIFF* file = reader.file_->get();
  if (file == nullptr || (picture > 0 && TIFFSetDirectory(file, static_cast<tdir_t>(picture)) != 1) ||
      !reader.understand())
    return std::nullopt;
  return reader;
}

// What the samples are, and what they become.
bool TiffReader::understand_samples() {
  const auto samples = file_->field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  const auto colours = file_->field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  const auto packing = file_->field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  const auto format = file_->field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const bool compressed_colours = colours == PHOTOMETRIC_YCBCR && packing == COMPRESSION_JPEG;
  const bool gray = colours == PHOTOMETRIC_MINISBLACK || colours == PHOTOMETRIC_MINISWHITE;
  format_.channels = gray ? 1 : colours == PHOTOMETRIC_RGB || compressed_colours ? 3 : 0;
  std::uint16_t extra_count = 0;
  const std::uint16_t* extra = nullptr;
  if (TIFFGetField(file_->get(), TIFFTAG_EXTRASAMPLES, &extra_count, &extra) != 1) extra_count = 0;
  for (int i = extra_count - 1; i >= 0; --i)
    if (extra[i] != EXTRASAMPLE_UNSPECIFIED) alpha_ = samples - extra_count + i;
  // Bands besides gray may be anything; those besides R, G and B are not colours.
  if (format_.channels == 0 || samples < format_.channels || (gray && samples > (alpha_ == 1 ? 2 : 1)))
    return false;
  stored_bits_ = file_->field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  is_inverted_ = colours == PHOTOMETRIC_MINISWHITE;
  kind_ = format == SAMPLEFORMAT_INT      ? Kind::signed_number
          : format == SAMPLEFORMAT_IEEEFP ? Kind::floating_point
                                          : Kind::number;
  if (format > SAMPLEFORMAT_VOID) return false;
  if (compressed_colours) TIFFSetField(file_->get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  if (kind_ == Kind::floating_point) {
    format_.bits = 32;
    return stored_bits_ == 32 || stored_bits_ == 64;
  }
  format_.bits = stored_bits_ == 8 && kind_ == Kind::number ? 8 : stored_bits_ <= 16 ? 16 : 32;
  return kind_ == Kind::number ? (stored_bits_ >= 8 && stored_bits_ <= 16) || stored_bits_ == 32
                               : stored_bits_ == 8 || stored_bits_ == 16 || stored_bits_ == 32;
}

bool TiffReader::understand() {
  if (TIFFIsCODECConfigured(file_->field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE)) == 0)
    fail_picture(file_->path(),
                 "is compressed in a way that is not read here: convert it, for example with "
                 "gdal_translate -co COMPRESS=DEFLATE");
  const auto width = file_->field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
  const auto height = file_->field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  if (!fits_int(width) || !fits_int(height) || !understand_samples()) return false;
  format_.size = {static_cast<int>(width), static_cast<int>(height)};
  const int samples = file_->field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  const bool apart =
      samples > 1 && file_->field<std::uint16_t>(TIFFTAG_PLANARCONFIG, 0) == PLANARCONFIG_SEPARATE;
  samples_ = apart ? 1 : samples;
  planes_ = apart ? samples : 1;
  tiled_ = TIFFIsTiled(file_->get()) != 0;
  const auto rows = file_->field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, height);
  const auto unit_width = tiled_ ? file_->field<std::uint32_t>(TIFFTAG_TILEWIDTH, 0) : width;
  const auto unit_height =
      tiled_ ? file_->field<std::uint32_t>(TIFFTAG_TILELENGTH, 0) : std::min(rows, height);
  if (!fits_int(unit_width) || !fits_int(unit_height)) return false;
  unit_ = {static_cast<int>(unit_width), static_cast<int>(unit_height)};
  // A tile is allocated before it is read: a damaged header must not exhaust memory.
  constexpr std::size_t usual_pixels = 1 << 24;
  return !tiled_ || unit_.pixels() <= std::max(usual_pixels, format_.size.pixels());
}

std::optional<ValueRange> TiffReader::range() const {
  if (format_.bits != 16) return std::nullopt;
  if (kind_ == Kind::number && stored_bits_ < 16) return ValueRange{0, (1 << stored_bits_) - 1};
  if (is_inverted_) return std::nullopt;
  double low = 0, high = 0;
  if (TIFFGetField(file_->get(), TIFFTAG_SMINSAMPLEVALUE, &low) != 1 ||
      TIFFGetField(file_->get(), TIFFTAG_SMAXSAMPLEVALUE, &high) != 1) {
    std::uint16_t least = 0, most = 0;
    if (kind_ != Kind::number || TIFFGetField(file_->get(), TIFFTAG_MAXSAMPLEVALUE, &most) != 1)
      return std::nullopt;
    TIFFGetField(file_->get(), TIFFTAG_MINSAMPLEVALUE, &least);
    low = least;
    high = most;
  }
  low += offset();
  high += offset();
  if (!(low >= 0 && high <= 65535 && low < high)) return std::nullopt;
  return ValueRange{static_cast<int>(low), static_cast<int>(high)};
}

std::optional<double> TiffReader::no_data() const {
  constexpr std::uint32_t gdal_nodata = 42113;
  std::uint32_t count = 0;
  const char* text = nullptr;
  if (TIFFGetField(file_->get(), gdal_nodata, &count, &text) != 1 || text == nullptr) return std::nullopt;
  const std::string value(text, ::strnlen(text, count));
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  return end == value.c_str() ? std::nullopt : std::optional(number);
}

std::string TiffReader::numbers() const {
  return std::to_string(stored_bits_) + "-bit " +
         (kind_ == Kind::floating_point  ? "floating-point"
          : kind_ == Kind::signed_number ? "signed"
                                         : "whole") +
         " numbers";
}

int TiffReader::orientation() const {
  return file_->field<std::uint16_t>(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
}

std::string TiffReader::description() const {
  const char* text = nullptr;
  return TIFFGetField(file_->get(), TIFFTAG_IMAGEDESCRIPTION, &text) == 1 ? text : "";
}

bool TiffReader::is_complete() const {
  const std::uint64_t length = length_of(file_->get());
  const std::uint32_t units = tiled_ ? TIFFNumberOfTiles(file_->get()) : TIFFNumberOfStrips(file_->get());
  for (std::uint32_t i = 0; i < units; ++i) {
    const std::uint64_t bytes = TIFFGetStrileByteCount(file_->get(), i);
    if (bytes == 0 || bytes > length || TIFFGetStrileOffset(file_->get(), i) > length - bytes) return false;
  }
  return true;
}

// Rows of samples of fewer than 8 bits, or between 8 and 16, end with a whole byte.
std::size_t TiffReader::unit_row_bytes() const {
  return (static_cast<std::size_t>(unit_.width) * static_cast<std::size_t>(samples_ * stored_bits_) + 7) / 8;
}

std::size_t TiffReader::memory_bytes() const {
  return 2 * unit_row_bytes() * static_cast<std::size_t>(unit_.height);
}

// Whether samples become values as they are.
bool TiffReader::is_copied() const {
  return stored_bits_ == format_.bits && !is_inverted_ &&
         kind_ == (format_.bits == 32 ? Kind::floating_point : Kind::number);
}

void TiffReader::read(const Rectangle& region, void* pixels, std::ptrdiff_t stride_bytes,
                      View<std::uint8_t> alpha) {
  if (!decoded_) decoded_.reset(new std::byte[memory_bytes() / 2]);
  const int first_column = region.x / unit_.width * unit_.width;
  const int first_row = region.y / unit_.height * unit_.height;
  for (int y = first_row; y < region.y + region.size.height; y += unit_.height) {
    for (int x = first_column; x < region.x + region.size.width; x += unit_.width) {
      const Rectangle unit{x, y, unit_};
      for (int sample = 0; sample < planes_; ++sample) {
        const bool is_alpha = planes_ > 1 && sample == alpha_ && !alpha.empty();
        if (planes_ > 1 && sample >= format_.channels && !is_alpha) continue;
        decode(x, y, sample);
        if (!alpha.empty() && (planes_ == 1 || is_alpha))
          take_alpha(unit, region, planes_ == 1 ? alpha_ : 0, alpha);
        if (is_alpha) continue;
        auto* to = static_cast<std::byte*>(pixels);
        if (is_copied())
          copy_unit(unit, region, sample, to, stride_bytes);
        else if (planes_ > 1)
          convert_unit(unit, region, 0, sample, to, stride_bytes);
        else
          for (int channel = 0; channel < format_.channels; ++channel)
            convert_unit(unit, region, channel, channel, to, stride_bytes);
      }
    }
  }
}

void TiffReader::decode(int column, int row, int sample) {
  const auto x = static_cast<std::uint32_t>(column), y = static_cast<std::uint32_t>(row);
  const auto plane = static_cast<std::uint16_t>(sample);
  TIFF* file = file_->get();
  errno = 0;
  const tmsize_t expected =
      tiled_ ? TIFFTileSize(file)
             : TIFFVStripSize(file,
                              static_cast<std::uint32_t>(std::min(unit_.height, format_.size.height - row)));
  const tmsize_t read =
      expected > static_cast<tmsize_t>(memory_bytes() / 2) ? -1
      : tiled_ ? TIFFReadEncodedTile(file, TIFFComputeTile(file, x, y, 0, plane), decoded_.get(), expected)
               : TIFFReadEncodedStrip(file, TIFFComputeStrip(file, y, plane), decoded_.get(), expected);
  if (read == expected) return;
  if (is_transient(errno)) fail_file("read", file_->path(), errno);
  throw Error(ErrorCategory::file, file_->path() + " is damaged at row " + std::to_string(row) + " (" +
                                       file_->complaint() + "): copy the file again");
}

void TiffReader::copy_unit(const Rectangle& unit, const Rectangle& region, int sample, std::byte* pixels,
                           std::ptrdiff_t stride_bytes) const {
  const Rectangle shared = overlap(unit, region);
  const std::size_t bytes = static_cast<std::size_t>(format_.bits / 8);
  const std::size_t from_step = bytes * static_cast<std::size_t>(samples_);
  const std::size_t to_step = format_.pixel_bytes();
  const std::size_t copied = planes_ > 1 ? bytes : to_step;
  for (int y = shared.y; y < shared.y + shared.size.height; ++y) {
    const std::size_t first =
        static_cast<std::size_t>(y - unit.y) * static_cast<std::size_t>(unit.size.width) +
        static_cast<std::size_t>(shared.x - unit.x);
    const std::byte* from = decoded_.get() + first * from_step;
    std::byte* to = pixels + static_cast<std::ptrdiff_t>(y - region.y) * stride_bytes +
                    static_cast<std::size_t>(shared.x - region.x) * to_step +
                    static_cast<std::size_t>(sample) * bytes;
    if (from_step == copied && to_step == copied) {
      std::memcpy(to, from, static_cast<std::size_t>(shared.size.width) * copied);
      continue;
    }
    for (int x = 0; x < shared.size.width; ++x, from += from_step, to += to_step)
      std::memcpy(to, from, copied);
  }
}

namespace {

// Sample number `index` of a row, of 8 to 16 bits packed without gaps, or of bytes in the order of this machine.
std::uint32_t sample_at(const std::byte* row, std::size_t index, int bits) {
  if (bits == 32) {
    std::uint32_t value = 0;
    std::memcpy(&value, row + 4 * index, sizeof value);
    return value;
  }
  if (bits == 16) {
    std::uint16_t value = 0;
    std::memcpy(&value, row + 2 * index, sizeof value);
    return value;
  }
  std::uint32_t value = 0;
  for (std::size_t bit = index * static_cast<std::size_t>(bits), end = bit + static_cast<std::size_t>(bits);
       bit < end; ++bit)
    value = value << 1 | (std::to_integer<std::uint32_t>(row[bit / 8]) >> (7 - bit % 8) & 1);
  return value;
}

std::int32_t as_signed(std::uint32_t value, int bits) {
  return bits == 32  ? static_cast<std::int32_t>(value)
         : bits == 8 ? static_cast<std::int8_t>(value)
                     : static_cast<std::int16_t>(value);
}

}  // namespace

// One channel from sample `first` of each pixel.
void TiffReader::convert_unit(const Rectangle& unit, const Rectangle& region, int first, int channel,
                              std::byte* pixels, std::ptrdiff_t stride_bytes) const {
  const Rectangle shared = overlap(unit, region);
  const std::uint32_t white = stored_bits_ == 32 ? 0xFFFFFFFF : (1u << stored_bits_) - 1;
  for (int y = shared.y; y < shared.y + shared.size.height; ++y) {
    const std::byte* row = decoded_.get() + static_cast<std::size_t>(y - unit.y) * unit_row_bytes();
    std::byte* to = pixels + static_cast<std::ptrdiff_t>(y - region.y) * stride_bytes +
                    static_cast<std::size_t>(shared.x - region.x) * format_.pixel_bytes() +
                    static_cast<std::size_t>(channel * format_.bits / 8);
    for (int x = shared.x; x < shared.x + shared.size.width; ++x, to += format_.pixel_bytes()) {
      const std::size_t index = static_cast<std::size_t>(x - unit.x) * static_cast<std::size_t>(samples_) +
                                static_cast<std::size_t>(first);
      if (kind_ == Kind::floating_point) {
        double value = 0;
        if (stored_bits_ == 64)
          std::memcpy(&value, row + 8 * index, sizeof value);
        else
          value = bit_cast<float>(sample_at(row, index, 32));
        const auto rounded = static_cast<float>(value);
        std::memcpy(to, &rounded, sizeof rounded);
        continue;
      }
      const std::uint32_t stored = sample_at(row, index, stored_bits_);
      const std::uint32_t sample = is_inverted_ ? white - stored : stored;
      if (format_.bits == 32) {
        const auto value = kind_ == Kind::number ? static_cast<float>(sample)
                                                 : static_cast<float>(as_signed(sample, stored_bits_));
        std::memcpy(to, &value, sizeof value);
      } else if (format_.bits == 16) {
        const auto value = static_cast<std::uint16_t>(
            kind_ == Kind::number ? static_cast<int>(sample) : as_signed(sample, stored_bits_) + offset());
        std::memcpy(to, &value, sizeof value);
      } else {
        *to = static_cast<std::byte>(sample);
      }
    }
  }
}

void TiffReader::take_alpha(const Rectangle& unit, const Rectangle& region, int sample,
                            View<std::uint8_t> alpha) const {
  const Rectangle shared = overlap(unit, region);
  const std::size_t bytes = static_cast<std::size_t>(stored_bits_) / 8;
  for (int y = shared.y; y < shared.y + shared.size.height; ++y) {
    const std::byte* row = decoded_.get() + static_cast<std::size_t>(y - unit.y) * unit_row_bytes();
    for (int x = shared.x; x < shared.x + shared.size.width; ++x) {
      const std::size_t index = static_cast<std::size_t>(x - unit.x) * static_cast<std::size_t>(samples_) +
                                static_cast<std::size_t>(sample);
      const std::byte* value = row + index * bytes;
      const bool transparent =
          stored_bits_ % 8 != 0
              ? sample_at(row, index, stored_bits_) == 0
              : std::all_of(value, value + bytes, [](std::byte part) { return part == std::byte{0}; });
      alpha.at(x - region.x, y - region.y) = transparent ? 0 : 255;
    }
  }
}

bool is_tiff(Bytes bytes) {
  const auto begins = [&](const char* magic) { return begins_with(bytes, {magic, 4}); };
  return begins("II*\0") || begins("MM\0*") || begins("II+\0") || begins("MM\0+");
}

namespace {

// libtiff's converter returns R, G, B and alpha in one integer.
Picture from_rgba(const std::uint32_t* from, Size size, bool is_gray) {
  Picture picture({size, BitDepth::bits8}, is_gray ? 1 : 3);
  for (int y = 0; y < size.height; ++y) {
    std::byte* to = picture.row(y);
    for (int x = 0; x < size.width; ++x, ++from) {
      *to++ = static_cast<std::byte>(TIFFGetR(*from));
      if (is_gray) continue;
      *to++ = static_cast<std::byte>(TIFFGetG(*from));
      *to++ = static_cast<std::byte>(TIFFGetB(*from));
    }
  }
  return picture;
}

// Refuses what libtiff would convert with a loss, or wrongly.
void refuse_kind(const TiffFile& file) {
  const auto bits = file.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  const auto samples = file.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  const auto colours = file.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  if ((colours == PHOTOMETRIC_MINISBLACK || colours == PHOTOMETRIC_MINISWHITE) && samples > 1)
    fail_picture(file.path(),
                 "has " + std::to_string(samples) +
                     " bands, which it does not call red, green and blue: choose one, for example "
                     "with gdal_translate -b 1");
  if (bits > 8)
    fail_picture(file.path(),
                 "has " + std::to_string(bits) +
                     " bits per sample in a kind of numbers or colours that is not read: convert it to "
                     "gray or RGB of 16 bits");
}

// An empty file in memory.
int open_memory() {
#ifdef __linux__
  return ::memfd_create("tiff", MFD_CLOEXEC);
#else
  // In WebAssembly, all files are in memory.
  char name[] = "/tmp/tiffXXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  return file;
#endif
}

// Opens a TIFF for libtiff's converter; null if it is none. Unless a file is mapped, that refuses uncompressed
// tiles whose bytes are no multiple of 1,024. Such files are copied to memory, because a map of a file that
// another process shortens ends this one.
std::unique_ptr<TiffFile> open_for_conversion(const std::string& path) {
  auto file = std::make_unique<TiffFile>(open_input(path), path, "rm");
  if (file->get() == nullptr) return nullptr;
  if (TIFFIsTiled(file->get()) == 0 ||
      file->field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE) != COMPRESSION_NONE)
    return file;
  const int from = TIFFFileno(file->get()), memory = open_memory();
  const auto length = static_cast<off_t>(length_of(file->get()));
  std::byte part[1 << 16];
  for (off_t done = 0; done < length;) {
    const ssize_t count = ::pread(from, part, sizeof part, done);
    if (count <= 0 || ::write(memory, part, static_cast<std::size_t>(count)) != count) break;
    done += count;
  }
  ::lseek(memory, 0, SEEK_SET);
  auto copy = std::make_unique<TiffFile>(memory, path, "r");
  return copy->get() == nullptr ? std::move(file) : std::move(copy);
}

}  // namespace

std::optional<Picture> read_converted_tiff(const std::string& path) {
  const std::unique_ptr<TiffFile> opened = open_for_conversion(path);
  if (!opened) return std::nullopt;
  const TiffFile& file = *opened;
  refuse_kind(file);
  TIFFRGBAImage image{};
  char why[1024] = "";
  if (TIFFRGBAImageOK(file.get(), why) == 0 || TIFFRGBAImageBegin(&image, file.get(), 1, why) == 0)
    fail_picture(path, std::string("is an unsupported kind of TIFF (") + why +
                           "): give one of 8 or 16 bits, gray or colour");
  const std::unique_ptr<TIFFRGBAImage, decltype(&TIFFRGBAImageEnd)> end(&image, &TIFFRGBAImageEnd);
  check_picture_size(image.width, image.height, path, "convert it to 8 bits, gray or RGB");
  const Size size{static_cast<int>(image.width), static_cast<int>(image.height)};
  // libtiff allocates a strip or tile before reading it; no compression reaches this ratio.
  constexpr std::uint64_t usual_bytes = 1 << 26, max_of_a_byte = 1 << 16;
  const std::uint64_t unit_bytes =
      TIFFIsTiled(file.get()) != 0 ? TIFFTileSize64(file.get()) : TIFFStripSize64(file.get());
  if (unit_bytes > std::max(usual_bytes, max_of_a_byte * length_of(file.get())))
    fail_damaged(path, "a strip or tile of " + std::to_string(unit_bytes) + " bytes");
  // Rows are read as stored: upright() rotates them.
  image.req_orientation = image.orientation;
  // Not touched before pixels are read: a damaged header must not fill all memory. The same in read().
  const std::unique_ptr<std::uint32_t[]> rgba(new std::uint32_t[size.pixels()]);
  if (TIFFRGBAImageGet(&image, rgba.get(), image.width, image.height) == 0)
    fail_damaged(path, file.complaint());
  const bool is_gray =
      image.photometric == PHOTOMETRIC_MINISBLACK || image.photometric == PHOTOMETRIC_MINISWHITE;
  Picture picture = from_rgba(rgba.get(), size, is_gray);
  picture.notes.orientation = image.orientation;
  return picture;
}

std::vector<std::byte> encode_tiff(View<const float> values) {
  TiffWriter writer;
  writer.begin({values.size, 1, 32});
  writer.write_rows(values.data, values.size.height, values.stride_bytes);
  writer.end();
  return writer.bytes();
}

std::size_t pixels_in_tiles(Size size) {
  const auto whole = [](int length) { return (length + tile_side - 1) / tile_side * tile_side; };
  return Size{whole(size.width), whole(size.height)}.pixels();
}

TiffWriter::TiffWriter(const std::string& path, std::size_t bytes) {
  // A classic TIFF has 32-bit offsets; everything but pixels takes far less than the margin.
  constexpr std::size_t most = 4'000'000'000;
  file_ = std::make_shared<TiffFile>(path, bytes > most ? "w8" : "w");
  check(file_->get() != nullptr);
}

TiffWriter::TiffWriter() : file_(std::make_shared<TiffFile>(open_memory(), "memory", "w")) {
  check(file_->get() != nullptr);
}

std::vector<std::byte> TiffWriter::bytes() const {
  const int memory = TIFFFileno(file_->get());
  // WebAssembly's fstat() does not know files without a name.
  std::vector<std::byte> bytes(static_cast<std::size_t>(::lseek(memory, 0, SEEK_END)));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(memory, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    check(count > 0);
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

void TiffWriter::begin(const TiffFormat& format, bool tiled, const std::string& description) {
  format_ = format;
  tiled_ = tiled;
  const std::size_t row_bytes = format.row_bytes();
  constexpr std::size_t strip_bytes = 1 << 18;
  const auto rows = static_cast<int>(std::max<std::size_t>(1, strip_bytes / row_bytes));
  band_rows_ = tiled ? tile_side : std::min(format.size.height, rows);
  first_row_ = filled_ = 0;
  band_.resize(row_bytes * static_cast<std::size_t>(band_rows_));
  TIFF* file = file_->get();
  const auto set = [&](std::uint32_t tag, auto value) { check(TIFFSetField(file, tag, value) == 1); };
  set(TIFFTAG_IMAGEWIDTH, format.size.width);
  set(TIFFTAG_IMAGELENGTH, format.size.height);
  set(TIFFTAG_BITSPERSAMPLE, format.bits);
  set(TIFFTAG_SAMPLEFORMAT, format.bits == 32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
  set(TIFFTAG_SAMPLESPERPIXEL, format.channels);
  set(TIFFTAG_PHOTOMETRIC, format.channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  set(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  set(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (!description.empty()) set(TIFFTAG_IMAGEDESCRIPTION, description.c_str());
  if (!tiled) return set(TIFFTAG_ROWSPERSTRIP, band_rows_);
  set(TIFFTAG_TILEWIDTH, tile_side);
  set(TIFFTAG_TILELENGTH, tile_side);
  tile_.resize(static_cast<std::size_t>(tile_side * tile_side) * format.pixel_bytes());
}

void TiffWriter::write_rows(const void* rows, int count, std::ptrdiff_t stride_bytes) {
  const std::size_t row_bytes = format_.row_bytes();
  const auto* from = static_cast<const std::byte*>(rows);
  for (int y = 0; y < count; ++y, from += stride_bytes) {
    std::memcpy(band_.data() + static_cast<std::size_t>(filled_) * row_bytes, from, row_bytes);
    if (++filled_ == band_rows_) flush_band();
  }
}

void TiffWriter::flush_band() {
  if (filled_ == 0) return;
  const std::size_t row_bytes = format_.row_bytes();
  const auto bytes = static_cast<tmsize_t>(static_cast<std::size_t>(filled_) * row_bytes);
  errno = 0;
  if (tiled_)
    write_tiles();
  else
    check(TIFFWriteEncodedStrip(file_->get(), static_cast<std::uint32_t>(first_row_ / band_rows_),
                                band_.data(), bytes) == bytes);
  first_row_ += filled_;
  filled_ = 0;
}

void TiffWriter::write_tiles() {
  const std::size_t pixel = format_.pixel_bytes(), row_bytes = format_.row_bytes();
  for (int x = 0; x < format_.size.width; x += tile_side) {
    const auto columns = static_cast<std::size_t>(std::min(tile_side, format_.size.width - x));
    std::fill(tile_.begin(), tile_.end(), std::byte{0});
    for (int y = 0; y < filled_; ++y)
      std::memcpy(
          tile_.data() + static_cast<std::size_t>(y * tile_side) * pixel,
          band_.data() + static_cast<std::size_t>(y) * row_bytes + static_cast<std::size_t>(x) * pixel,
          columns * pixel);
    const auto tile = TIFFComputeTile(file_->get(), static_cast<std::uint32_t>(x),
                                      static_cast<std::uint32_t>(first_row_), 0, 0);
    const auto bytes = static_cast<tmsize_t>(tile_.size());
    check(TIFFWriteEncodedTile(file_->get(), tile, tile_.data(), bytes) == bytes);
  }
}

void TiffWriter::end() {
  flush_band();
  errno = 0;
  check(TIFFWriteDirectory(file_->get()) == 1);
}

void TiffWriter::close() {
  errno = 0;
  check(::fsync(TIFFFileno(file_->get())) == 0);
  file_->close();
}

void TiffWriter::check(bool written) const {
  if (!written) fail_file("write", file_->path(), errno != 0 ? errno : EIO);
}

}  // namespace parallax::tool
