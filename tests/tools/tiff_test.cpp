// SPDX-License-Identifier: Apache-2.0
// Reading and writing parts of TIFFs.

#include "tools/files/tiff.h"

#include <cstring>

#include "parallax/error.h"

#include "tools/command_fixture.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

using tool::TiffFormat;
using tool::TiffReader;
using tool::TiffWriter;

// Pixels that depend on their position.
std::vector<std::byte> pixels_of(const TiffFormat& format, int picture = 0) {
  std::vector<std::byte> pixels(format.size.pixels() * format.pixel_bytes());
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::byte>((i * 2654435761u + static_cast<std::size_t>(picture)) >> 13);
  return pixels;
}

std::vector<std::byte> part_of(const std::vector<std::byte>& pixels, const TiffFormat& format,
                               const Rectangle& region) {
  const std::size_t pixel = format.pixel_bytes();
  std::vector<std::byte> part;
  for (int y = region.y; y < region.y + region.size.height; ++y) {
    const auto first =
        pixels.begin() +
        static_cast<std::ptrdiff_t>((static_cast<std::size_t>(y) * format.size.width + region.x) * pixel);
    part.insert(part.end(), first, first + static_cast<std::ptrdiff_t>(region.size.width * pixel));
  }
  return part;
}

std::vector<std::byte> read(TiffReader& file, const Rectangle& region) {
  const std::size_t row = static_cast<std::size_t>(region.size.width) * file.format().pixel_bytes();
  std::vector<std::byte> pixels(row * static_cast<std::size_t>(region.size.height));
  file.read(region, pixels.data(), static_cast<std::ptrdiff_t>(row));
  return pixels;
}

// The complete image, single pixels at corners, and regions across the edges of tiles.
std::vector<Rectangle> regions_of(Size size) {
  const int w = size.width, h = size.height;
  return {{0, 0, size},       {0, 0, {1, 1}},    {w - 1, h - 1, {1, 1}}, {w / 3, h / 4, {w / 2, h / 2}},
          {0, h - 1, {w, 1}}, {w - 1, 0, {1, h}}};
}

class TiffTest : public CommandTest {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
};

TEST_F(TiffTest, EveryPartIsReadAsItWasWritten) {
  for (const bool tiled : {false, true}) {
    for (const TiffFormat& format :
         {TiffFormat{{600, 530}, 1, 8}, TiffFormat{{300, 257}, 3, 8}, TiffFormat{{256, 512}, 1, 16},
          TiffFormat{{257, 300}, 3, 16}, TiffFormat{{1, 1}, 1, 8}, TiffFormat{{700, 300}, 1, 32}}) {
      const std::vector<std::byte> pixels = pixels_of(format);
      const auto row = static_cast<std::ptrdiff_t>(format.row_bytes());
      TiffWriter writer(path("a.tiff"), format.size.pixels() * format.pixel_bytes());
      writer.begin(format, tiled);
      for (int y = 0; y < format.size.height; y += 37)
        writer.write_rows(pixels.data() + y * row, std::min(37, format.size.height - y), row);
      writer.end();
      writer.close();
      std::optional<TiffReader> reader = TiffReader::open(path("a.tiff"));
      ASSERT_TRUE(reader);
      EXPECT_EQ(reader->format(), format);
      EXPECT_TRUE(reader->is_complete());
      for (const Rectangle& region : regions_of(format.size))
        EXPECT_EQ(read(*reader, region), part_of(pixels, format, region)) << tiled << format.bits;
    }
  }
}

TEST_F(TiffTest, SeveralPicturesLieInAFile) {
  const TiffFormat formats[] = {{{90, 40}, 1, 32}, {{90, 40}, 1, 8}};
  TiffWriter writer(path("a.tiff"), 0);
  for (int i = 0; i < 2; ++i) {
    writer.begin(formats[i], false, "number " + std::to_string(i));
    writer.write_rows(pixels_of(formats[i], i).data(), 40, 90 * formats[i].bits / 8);
    writer.end();
  }
  writer.close();
  for (int i = 0; i < 2; ++i) {
    std::optional<TiffReader> reader = TiffReader::open(path("a.tiff"), i);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->format(), formats[i]);
    EXPECT_EQ(reader->description(), "number " + std::to_string(i));
    EXPECT_EQ(read(*reader, {0, 0, {90, 40}}), pixels_of(formats[i], i));
  }
  EXPECT_FALSE(TiffReader::open(path("a.tiff"), 2));
}

TEST_F(TiffTest, FilesAboveFourGigabytesAreBigTiffs) {
  for (const bool big : {false, true}) {
    TiffWriter writer(path("a.tiff"), big ? std::size_t{5} << 30 : 100);
    writer.begin({{2, 1}, 1, 8});
    writer.write_rows("ab", 1, 2);
    writer.end();
    writer.close();
    EXPECT_EQ(contents(folder_ / "a.tiff")[2], big ? 43 : 42);
    EXPECT_TRUE(TiffReader::open(path("a.tiff")));
  }
}

TEST_F(TiffTest, ReadsWhatIsCompressed) {
  const Size size{310, 200};
  for (const int packing : {1, 5, 8, 32773}) {  // none, LZW, deflate, PackBits
    for (const int samples : {1, 3}) {
      for (const int bits : {8, 16}) {
        std::vector<std::uint8_t> pixels(size.pixels() * static_cast<std::size_t>(samples * bits / 8));
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i / 7 % 11);
        write_any_tiff(
            path("a.tiff"), size,
            {.samples = samples, .bits = bits, .photometric = samples == 1 ? 1 : 2, .packing = packing},
            pixels);
        std::optional<TiffReader> reader = TiffReader::open(path("a.tiff"));
        ASSERT_TRUE(reader) << packing;
        const std::vector<std::byte> all = read(*reader, {0, 0, size});
        ASSERT_EQ(all.size(), pixels.size());
        EXPECT_EQ(std::memcmp(all.data(), pixels.data(), all.size()), 0) << packing << bits;
        const TiffFormat& format = reader->format();
        EXPECT_EQ(read(*reader, {17, 60, {100, 99}}), part_of(all, format, {17, 60, {100, 99}}));
      }
    }
  }
}

TEST_F(TiffTest, WhatIsCutShortIsFoundOut) {
  const TiffFormat format{{600, 530}, 3, 8};
  const std::vector<std::byte> pixels = pixels_of(format);
  TiffWriter writer(path("a.tiff"), format.size.pixels() * format.pixel_bytes());
  writer.begin(format, true);
  writer.write_rows(pixels.data(), 530, 1800);
  writer.end();
  writer.close();
  const std::string file = contents(folder_ / "a.tiff");
  // The directory is at the end of the file.
  write(folder_ / "cut.tiff", file.substr(0, file.size() - 10));
  EXPECT_FALSE(TiffReader::open(path("cut.tiff")));
  write(folder_ / "none.tiff", "II");
  EXPECT_FALSE(TiffReader::open(path("none.tiff")));
  EXPECT_FALSE(TiffReader::open(path("missing.tiff")));
}

}  // namespace
}  // namespace parallax::test
