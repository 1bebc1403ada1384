// SPDX-License-Identifier: Apache-2.0
#include "tools/picture_files.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include <jpeglib.h>
#include <spng.h>
#include <tiffio.h>
#include <webp/encode.h>

#include "tools/files/pictures/codecs.h"

namespace parallax::test {
namespace {

void append(std::vector<std::byte>& bytes, const void* from, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), first, first + count);
}

void append(std::vector<std::byte>& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// EXIF data with only an orientation, in big-endian order.
std::vector<std::byte> exif_of(int orientation) {
  const unsigned char exif[] = {'M', 'M',  0, 42, 0, 0, 0, 8, 0, 1,
                                1,   0x12, 0, 3,  0, 0, 0, 1, 0, static_cast<unsigned char>(orientation),
                                0,   0,    0, 0,  0, 0};
  std::vector<std::byte> bytes;
  append(bytes, exif, sizeof exif);
  return bytes;
}

template <class Configure, class Row>
std::vector<std::byte> compress_jpeg(Size size, const Configure& configure, const Row& row) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* encoded = nullptr;
  unsigned long length = 0;
  jpeg_mem_dest(&info, &encoded, &length);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  configure(info);
  while (info.next_scanline < info.image_height) {
    auto* pixels = const_cast<JSAMPLE*>(row(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &pixels, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<std::byte> bytes;
  append(bytes, encoded, length);
  std::free(encoded);
  return bytes;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("cannot ") + what);
}

}  // namespace

std::vector<std::byte> encode_netpbm(const Picture& picture) {
  const bool is_deep = picture.view().format.depth == BitDepth::bits16;
  const std::string head = std::string(picture.channels() == 1 ? "P5" : "P6") + "\n" +
                           std::to_string(picture.size().width) + " " +
                           std::to_string(picture.size().height) + "\n" + (is_deep ? "65535" : "255") + "\n";
  std::vector<std::byte> bytes;
  append(bytes, head.data(), head.size());
  for (int y = 0; y < picture.size().height; ++y) {
    for (int i = 0; i < picture.size().width * picture.channels(); ++i) {
      const unsigned value = value_at(picture, i / picture.channels(), y, i % picture.channels());
      if (is_deep) bytes.push_back(static_cast<std::byte>(value >> 8));
      bytes.push_back(static_cast<std::byte>(value));
    }
  }
  return bytes;
}

std::vector<std::byte> encode_jpeg(const Picture& picture, const JpegSettings& settings) {
  const auto configure = [&](jpeg_compress_struct& info) {
    info.input_components = picture.channels();
    info.in_color_space = picture.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 95, TRUE);
    if (settings.is_progressive) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    if (settings.orientation == 1) return;
    std::vector<std::byte> marker;
    append(marker, "Exif\0", 6);
    const std::vector<std::byte> exif = exif_of(settings.orientation);
    append(marker, exif.data(), exif.size());
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(marker.data()),
                      static_cast<unsigned>(marker.size()));
  };
  return compress_jpeg(picture.size(), configure,
                       [&](int y) { return reinterpret_cast<const JSAMPLE*>(picture.row(y)); });
}

std::vector<std::byte> encode_cmyk_jpeg(Size size, const std::vector<std::uint8_t>& pixels) {
  const auto configure = [](jpeg_compress_struct& info) {
    info.input_components = 4;
    info.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 95, TRUE);
    jpeg_start_compress(&info, TRUE);
  };
  return compress_jpeg(size, configure,
                       [&](int y) { return pixels.data() + static_cast<std::size_t>(4 * y * size.width); });
}

std::vector<std::byte> encode_webp(const Picture& picture, int orientation) {
  std::uint8_t* encoded = nullptr;
  const auto [width, height] = picture.size();
  const std::size_t length =
      ::WebPEncodeLosslessRGB(reinterpret_cast<const std::uint8_t*>(picture.row(0)), width, height,
                              static_cast<int>(picture.view().stride_bytes), &encoded);
  require(length > 0, "encode WebP");
  std::vector<std::byte> bytes;
  append(bytes, encoded, length);
  ::WebPFree(encoded);
  if (orientation == 1) return bytes;
  // The extended format: a chunk that announces EXIF data, the picture, the data.
  const std::vector<std::byte> exif = exif_of(orientation);
  std::vector<std::byte> extended(bytes.begin(), bytes.begin() + 12);
  append(extended, "VP8X", 4);
  append(extended, 10);
  append(extended, std::uint32_t{8});
  for (const int side : {width - 1, height - 1})
    for (int i = 0; i < 3; ++i) extended.push_back(static_cast<std::byte>(side >> (8 * i)));
  extended.insert(extended.end(), bytes.begin() + 12, bytes.end());
  append(extended, "EXIF", 4);
  append(extended, static_cast<std::uint32_t>(exif.size()));
  append(extended, exif.data(), exif.size());
  for (std::size_t i = 0; i < 4; ++i)
    extended[4 + i] = static_cast<std::byte>((extended.size() - 8) >> (8 * i));
  return extended;
}

std::vector<std::byte> encode_any_png(Size size, const PngSettings& settings,
                                      const std::vector<std::uint8_t>& pixels) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(::spng_ctx_new(SPNG_CTX_ENCODER),
                                                                    &spng_ctx_free);
  spng_ihdr header{};
  header.width = static_cast<std::uint32_t>(size.width);
  header.height = static_cast<std::uint32_t>(size.height);
  header.bit_depth = static_cast<std::uint8_t>(settings.bits);
  header.color_type = static_cast<std::uint8_t>(settings.colour_type);
  header.interlace_method = settings.is_interlaced ? SPNG_INTERLACE_ADAM7 : SPNG_INTERLACE_NONE;
  require(::spng_set_ihdr(context.get(), &header) == 0, "set a PNG's header");
  spng_plte palette{};
  palette.n_entries = static_cast<std::uint32_t>(settings.palette.size() / 3);
  for (std::size_t i = 0; i < palette.n_entries; ++i)
    palette.entries[i] = {settings.palette[3 * i], settings.palette[3 * i + 1], settings.palette[3 * i + 2],
                          0};
  if (palette.n_entries > 0) require(::spng_set_plte(context.get(), &palette) == 0, "set a palette");
  std::vector<std::byte> data = exif_of(settings.orientation);
  spng_exif exif{data.size(), reinterpret_cast<char*>(data.data())};
  if (settings.orientation != 1) require(::spng_set_exif(context.get(), &exif) == 0, "set EXIF data");
  ::spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  require(::spng_encode_image(context.get(), pixels.data(), pixels.size(), SPNG_FMT_PNG,
                              SPNG_ENCODE_FINALIZE) == 0,
          "encode a PNG");
  std::size_t length = 0;
  int error = 0;
  const std::unique_ptr<void, decltype(&std::free)> encoded(
      ::spng_get_png_buffer(context.get(), &length, &error), &std::free);
  std::vector<std::byte> bytes;
  append(bytes, encoded.get(), length);
  return bytes;
}

void write_any_tiff(const std::string& path, Size size, const TiffSettings& settings,
                    const std::vector<std::uint8_t>& pixels) {
  TIFF* file = TIFFOpen(path.c_str(), "w");
  require(file != nullptr, "open a TIFF");
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, size.width);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, size.height);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, settings.bits);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, settings.samples);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, settings.photometric);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_ORIENTATION, settings.orientation);
  TIFFSetField(file, TIFFTAG_COMPRESSION, settings.packing);
  if (settings.is_tile) {
    TIFFSetField(file, TIFFTAG_TILEWIDTH, size.width);
    TIFFSetField(file, TIFFTAG_TILELENGTH, size.height);
  } else {
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, settings.strip_rows > 0 ? settings.strip_rows : size.height);
  }
  if (settings.samples == 4) {
    std::uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &alpha);
  }
  if (!settings.palette.empty()) {
    std::vector<std::uint16_t> palette = settings.palette;
    const std::size_t entries = palette.size() / 3;
    TIFFSetField(file, TIFFTAG_COLORMAP, palette.data(), palette.data() + entries,
                 palette.data() + 2 * entries);
  }
  std::vector<std::uint8_t> copy = pixels;
  const std::size_t row = copy.size() / static_cast<std::size_t>(size.height);
  if (settings.is_tile)
    require(TIFFWriteEncodedTile(file, 0, copy.data(), static_cast<tmsize_t>(copy.size())) >= 0,
            "write a TIFF");
  for (std::size_t y = 0; !settings.is_tile && y < static_cast<std::size_t>(size.height); ++y)
    require(TIFFWriteScanline(file, copy.data() + y * row, static_cast<std::uint32_t>(y), 0) == 1,
            "write a TIFF");
  TIFFClose(file);
}

void save(const std::string& path, const Picture& picture) {
  if (tool::has_extension(path, {".tif", ".tiff"})) {
    const tool::TiffFormat format{picture.size(), picture.channels(),
                                  static_cast<int>(picture.view().format.depth)};
    tool::TiffWriter writer(path, format.size.pixels() * format.pixel_bytes());
    writer.begin(format);
    writer.write_rows(picture.view().data, picture.size().height, picture.view().stride_bytes);
    writer.end();
    writer.close();
    return;
  }
  if (tool::has_extension(path, {".png"}))
    write_file(path, tool::encode_png(picture.view()));
  else if (tool::has_extension(path, {".jpg"}))
    write_file(path, encode_jpeg(picture));
  else if (tool::has_extension(path, {".webp"}))
    write_file(path, encode_webp(picture));
  else
    write_file(path, encode_netpbm(picture));
}

}  // namespace parallax::test
