// SPDX-License-Identifier: Apache-2.0
#include "tools/files/tiff.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "parallax/error.h"

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
  // A new file in memory, whose descriptor becomes libtiff's.
  explicit TiffFile(int memory) : path_("memory") {
    const Options options = make_options();
    file_ = TIFFFdOpenExt(memory, "memory", "w", options.get());
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
  reader.file_ = std::make_shared<TiffFile>(path, "rm");
  TIFF* file = reader.file_->get();
  if (file == nullptr || (picture > 0 && TIFFSetDirectory(file, static_cast<tdir_t>(picture)) != 1) ||
      !reader.understand())
    return std::nullopt;
  return reader;
}

bool TiffReader::understand() {
  const auto width = file_->field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
  const auto height = file_->field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  const auto bits = file_->field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  const auto kind = file_->field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const auto samples = file_->field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  const auto colours = file_->field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  const auto packing = file_->field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  const bool compressed_colours = colours == PHOTOMETRIC_YCBCR && packing == COMPRESSION_JPEG;
  const int channels = colours == PHOTOMETRIC_MINISBLACK                  ? 1
                       : colours == PHOTOMETRIC_RGB || compressed_colours ? 3
                                                                          : 0;
  const bool whole_numbers = kind == SAMPLEFORMAT_UINT && (bits == 8 || bits == 16);
  const bool floats = kind == SAMPLEFORMAT_IEEEFP && bits == 32;
  if (!fits_int(width) || !fits_int(height) || channels == 0 || samples < channels ||
      samples > channels + 1 || !(whole_numbers || floats))
    return false;
  if (compressed_colours) TIFFSetField(file_->get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  format_ = {{static_cast<int>(width), static_cast<int>(height)}, channels, bits};
  const bool apart =
      samples > 1 && file_->field<std::uint16_t>(TIFFTAG_PLANARCONFIG, 0) == PLANARCONFIG_SEPARATE;
  samples_ = apart ? 1 : samples;
  planes_ = apart ? channels : 1;
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

std::size_t TiffReader::memory_bytes() const {
  return 2 * unit_.pixels() * static_cast<std::size_t>(samples_ * format_.bits / 8);
}

void TiffReader::read(const Rectangle& region, void* pixels, std::ptrdiff_t stride_bytes) {
  if (!decoded_) decoded_ = std::make_unique_for_overwrite<std::byte[]>(memory_bytes() / 2);
  const int first_column = region.x / unit_.width * unit_.width;
  const int first_row = region.y / unit_.height * unit_.height;
  for (int y = first_row; y < region.y + region.size.height; y += unit_.height) {
    for (int x = first_column; x < region.x + region.size.width; x += unit_.width) {
      for (int sample = 0; sample < planes_; ++sample) {
        decode(x, y, sample);
        copy_unit({x, y, unit_}, region, sample, static_cast<std::byte*>(pixels), stride_bytes);
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

}  // namespace

std::optional<Picture> read_converted_tiff(const std::string& path) {
  const TiffFile file(path, "rm");
  if (file.get() == nullptr) return std::nullopt;
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
  const auto rgba = std::make_unique_for_overwrite<std::uint32_t[]>(size.pixels());
  if (TIFFRGBAImageGet(&image, rgba.get(), image.width, image.height) == 0)
    fail_damaged(path, file.complaint());
  const bool is_gray =
      image.photometric == PHOTOMETRIC_MINISBLACK || image.photometric == PHOTOMETRIC_MINISWHITE;
  return upright(from_rgba(rgba.get(), size, is_gray), image.orientation);
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

TiffWriter::TiffWriter() : file_(std::make_shared<TiffFile>(::memfd_create("tiff", MFD_CLOEXEC))) {
  check(file_->get() != nullptr);
}

std::vector<std::byte> TiffWriter::bytes() const {
  const int memory = TIFFFileno(file_->get());
  std::vector<std::byte> bytes(length_of(file_->get()));
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
