// SPDX-License-Identifier: Apache-2.0
// Decoding every picture format: the values of pixels, and errors for damaged files.

#include "tools/files/pictures.h"

#include <array>

#include "support.h"
#include "tools/command_fixture.h"
#include "tools/files/pictures/codecs.h"
#include "tools/files/tiff.h"
#include "tools/picture_files.h"

namespace parallax::test {
namespace {

constexpr Size odd{37, 23};

class PicturesTest : public CommandTest {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Picture read(const std::vector<std::byte>& bytes, const std::string& name = "picture") const {
    write_file(path(name), bytes);
    return tool::read_picture(path(name));
  }
  void expect_damaged(const std::vector<std::byte>& bytes, const std::string& words) const {
    expect_error(error_of([&] { read(bytes); }), ErrorCategory::file, {words});
  }
};

TEST_F(PicturesTest, LosslessFilesGiveTheirPixels) {
  for (const Size size : {odd, Size{1, 1}, Size{64, 2}}) {
    for (const int channels : {1, 3}) {
      for (const BitDepth depth : {BitDepth::bits8, BitDepth::bits16}) {
        const Picture picture = noise(size, channels, depth);
        for (const char* name : {"a.png", "a.tiff", "a.ppm", "a.webp"}) {
          if (std::string(name) == "a.webp" && (channels == 1 || depth == BitDepth::bits16)) continue;
          save(path(name), picture);
          EXPECT_TRUE(are_equal(tool::read_picture(path(name)), picture)) << name << channels;
        }
      }
    }
  }
}

TEST_F(PicturesTest, PngsOfFewBitsAreScaledAndPalettesLookedUp) {
  const std::vector<std::uint8_t> row = {0b00011011, 0b11000000};  // 0, 1, 2, 3, 3
  const Picture gray = read(encode_any_png({5, 1}, {.colour_type = 0, .bits = 2}, row));
  EXPECT_TRUE(are_equal(gray, make_picture({5, 1}, 1, BitDepth::bits8, [](int x, int, int) {
                          return 85u * static_cast<unsigned>(std::min(x, 3));
                        })));
  const std::vector<std::uint8_t> palette = {9, 8, 7, 1, 2, 3, 255, 0, 4, 5, 6, 6};
  const Picture colour = read(encode_any_png({5, 1}, {.colour_type = 3, .bits = 2, .palette = palette}, row));
  EXPECT_TRUE(are_equal(colour, make_picture({5, 1}, 3, BitDepth::bits8, [&](int x, int, int channel) {
                          return palette[static_cast<std::size_t>(3 * std::min(x, 3) + channel)];
                        })));
  const Picture bits = read(encode_any_png({9, 1}, {.colour_type = 0, .bits = 1}, {0b10000000, 0b10000000}));
  EXPECT_EQ(value_at(bits, 0, 0), 255u);
  EXPECT_EQ(value_at(bits, 1, 0), 0u);
  EXPECT_EQ(value_at(bits, 8, 0), 255u);
}

TEST_F(PicturesTest, AlphaIsLeftOut) {
  for (const int bits : {8, 16}) {
    const BitDepth depth = bits == 8 ? BitDepth::bits8 : BitDepth::bits16;
    for (const int channels : {1, 3}) {
      const Picture with_alpha = noise({odd.width * (channels + 1), odd.height}, 1, depth);
      const auto* first = static_cast<const std::uint8_t*>(with_alpha.view().data);
      const std::vector<std::uint8_t> pixels(first,
                                             first + with_alpha.size().pixels() * with_alpha.pixel_bytes());
      const Picture expected = make_picture(odd, channels, depth, [&](int x, int y, int channel) {
        return value_at(with_alpha, x * (channels + 1) + channel, y);
      });
      for (const bool is_interlaced : {false, true})
        EXPECT_TRUE(are_equal(
            read(encode_any_png(
                odd, {.colour_type = channels == 1 ? 4 : 6, .bits = bits, .is_interlaced = is_interlaced},
                pixels)),
            expected));
      if (channels == 1) continue;
      write_any_tiff(path("alpha.tiff"), odd, {.samples = 4, .bits = bits, .photometric = 2}, pixels);
      EXPECT_TRUE(are_equal(tool::read_picture(path("alpha.tiff")), expected)) << bits;
    }
  }
}

TEST_F(PicturesTest, JpegsAreGrayOrColour) {
  const Picture smooth = make_picture(odd, 3, BitDepth::bits8, [](int x, int y, int channel) {
    return static_cast<unsigned>(4 * x + y + 9 * channel);
  });
  for (const bool is_progressive : {false, true}) {
    const Picture colour = read(encode_jpeg(smooth, {.is_progressive = is_progressive}));
    const Picture gray = read(encode_jpeg(green_of(smooth), {.is_progressive = is_progressive}));
    ASSERT_EQ(colour.channels(), 3);
    ASSERT_EQ(gray.channels(), 1);
    for (int y = 0; y < odd.height; ++y) {
      for (int x = 0; x < odd.width; ++x) {
        EXPECT_NEAR(value_at(gray, x, y), value_at(smooth, x, y, 1), 4);
        for (int channel = 0; channel < 3; ++channel)
          EXPECT_NEAR(value_at(colour, x, y, channel), value_at(smooth, x, y, channel), 12);
      }
    }
  }
  // First no ink at all, then one third cyan.
  const Picture printed = read(encode_cmyk_jpeg({8, 8}, std::vector<std::uint8_t>(4 * 64, 255)));
  EXPECT_EQ(value_at(printed, 3, 3, 0), 255u);
  std::vector<std::uint8_t> cyan(4 * 64, 255);
  for (std::size_t i = 0; i < 64; ++i) cyan[4 * i] = 170;
  EXPECT_NEAR(value_at(read(encode_cmyk_jpeg({8, 8}, cyan)), 3, 3, 0), 170, 2);
  EXPECT_NEAR(value_at(read(encode_cmyk_jpeg({8, 8}, cyan)), 3, 3, 1), 255, 2);
}

// The stored picture turned as its EXIF orientation demands.
Picture seen(const Picture& stored, int orientation) {
  const int w = stored.size().width, h = stored.size().height;
  const bool turned = orientation >= 5;
  return make_picture(turned ? Size{h, w} : Size{w, h}, stored.channels(), stored.view().format.depth,
                      [&](int x, int y, int channel) {
                        const std::pair<int, int> from[] = {
                            {x, y}, {w - 1 - x, y}, {w - 1 - x, h - 1 - y}, {x, h - 1 - y},
                            {y, x}, {y, h - 1 - x}, {w - 1 - y, h - 1 - x}, {w - 1 - y, x}};
                        const auto [column, row] = from[orientation - 1];
                        return value_at(stored, column, row, channel);
                      });
}

TEST_F(PicturesTest, ExifOrientationIsApplied) {
  const Picture stored = noise(odd, 3, BitDepth::bits8);
  const auto* first = static_cast<const std::uint8_t*>(stored.view().data);
  const std::vector<std::uint8_t> pixels(first, first + 3 * odd.pixels());
  const Picture jpeg = read(encode_jpeg(stored));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    EXPECT_TRUE(are_equal(read(encode_jpeg(stored, {.orientation = orientation})), seen(jpeg, orientation)));
    EXPECT_TRUE(are_equal(read(encode_webp(stored, orientation)), seen(stored, orientation)));
    const std::vector<std::byte> png =
        encode_any_png(odd, {.colour_type = 2, .orientation = orientation}, pixels);
    EXPECT_TRUE(are_equal(read(png), seen(stored, orientation)));
    EXPECT_EQ(tool::read_png_head(path("picture"))->format.size, seen(stored, orientation).size());
    write_any_tiff(path("a.tiff"), odd, {.samples = 3, .photometric = 2, .orientation = orientation}, pixels);
    EXPECT_TRUE(are_equal(tool::read_picture(path("a.tiff")), seen(stored, orientation))) << orientation;
    EXPECT_EQ(tool::open_picture_tiff(path("a.tiff")).has_value(), orientation == 1);
  }
}

TEST_F(PicturesTest, TiffsOfOtherKindsAreConverted) {
  const std::vector<std::uint8_t> bits = {0b10100000, 0b01000000};
  for (const bool zero_is_white : {false, true}) {
    write_any_tiff(path("bits.tiff"), {3, 2}, {.bits = 1, .photometric = zero_is_white ? 0 : 1}, bits);
    const Picture picture = tool::read_picture(path("bits.tiff"));
    ASSERT_EQ(picture.channels(), 1);
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x)
        EXPECT_EQ(value_at(picture, x, y) == 255, ((x + y) % 2 == 0) != zero_is_white) << x << y;
  }
  std::vector<std::uint16_t> palette(3 * 256);
  for (std::size_t i = 0; i < palette.size(); ++i)
    palette[i] = static_cast<std::uint16_t>(257 * (i % 256 * (i / 256 + 1) % 256));
  write_any_tiff(path("palette.tiff"), {4, 1}, {.photometric = 3, .palette = palette}, {0, 1, 100, 200});
  const Picture picture = tool::read_picture(path("palette.tiff"));
  ASSERT_EQ(picture.channels(), 3);
  EXPECT_EQ(value_at(picture, 3, 0, 0), 200u);
  EXPECT_EQ(value_at(picture, 3, 0, 1), 200u * 2 % 256);
  EXPECT_EQ(value_at(picture, 3, 0, 2), 200u * 3 % 256);
}

// A chunk of a PNG whose checksum is not looked at.
std::string chunk(const std::string& name, const std::string& content) {
  std::string length(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) length[i] = static_cast<char>(content.size() >> (24 - 8 * i) & 255);
  return length + name + content + "sums";
}

TEST_F(PicturesTest, PngsMayHoldAnyAmountOfText) {
  const Picture picture = noise(odd, 3, BitDepth::bits16);
  const std::vector<std::byte> bytes = tool::encode_png(picture.view());
  const std::string plain(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string many;
  for (int i = 0; i < 1500; ++i) many += chunk("tEXt", "Title" + std::string(1, '\0') + std::to_string(i));
  const std::size_t after_header = 8 + 25;
  for (const std::string& text :
       {many, chunk("tEXt", "a" + std::string(17'000'000, '\0')), chunk("iTXt", std::string(9'000'000, 'x')),
        chunk("iCCP", "broken"), chunk("prVt", "")}) {
    const std::string whole = plain.substr(0, after_header) + text + plain.substr(after_header);
    write(folder_ / "a.png", whole);
    EXPECT_TRUE(are_equal(tool::read_picture(path("a.png")), picture)) << text.substr(0, 8);
    EXPECT_EQ(tool::read_picture_format(path("a.png")), picture.view().format) << text.substr(0, 8);
    // Nor is a file read beyond its end.
    write(folder_ / "a.png", whole.substr(0, after_header + text.size() - 1));
    EXPECT_THROW(tool::read_picture(path("a.png")), Error);
    write(folder_ / "a.png", whole.substr(0, whole.size() - 30));
    EXPECT_THROW(tool::read_picture(path("a.png")), Error);
  }
}

// They were refused as damaged unless a tile had a multiple of 1,024 bytes.
TEST_F(PicturesTest, UncompressedTilesOfAnySizeAreConverted) {
  std::vector<std::uint16_t> palette(3 * 256);
  for (std::size_t i = 0; i < palette.size(); ++i)
    palette[i] = static_cast<std::uint16_t>(257 * (i * 7 % 256));
  for (const int bits : {1, 2, 4, 8})
    for (const int photometric : {0, 1, 3, 5})
      for (const Size size : {Size{16, 16}, Size{48, 16}, Size{80, 64}}) {
        if (photometric == 5 && bits != 8) continue;
        const int samples = photometric == 5 ? 4 : 1;
        std::vector<std::uint8_t> pixels(size.pixels() * static_cast<std::size_t>(samples * bits) / 8);
        for (std::size_t i = 0; i < pixels.size(); ++i)
          pixels[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
        TiffSettings settings{.samples = samples, .bits = bits, .photometric = photometric};
        if (photometric == 3) {
          const std::size_t entries = std::size_t{1} << bits;
          settings.palette.assign(palette.begin(),
                                  palette.begin() + static_cast<std::ptrdiff_t>(3 * entries));
        }
        write_any_tiff(path("strip.tiff"), size, settings, pixels);
        settings.is_tile = true;
        write_any_tiff(path("tile.tiff"), size, settings, pixels);
        EXPECT_TRUE(are_equal(tool::read_picture(path("tile.tiff")), tool::read_picture(path("strip.tiff"))))
            << bits << " bits, " << photometric;
      }
}

TEST_F(PicturesTest, TilesFarLargerThanTheirPictureTakeNoMemory) {
  std::vector<std::byte> bytes;
  {
    tool::TiffWriter writer;
    const Picture picture = noise({40, 24}, 1, BitDepth::bits8);
    writer.begin({picture.size(), 1, 8}, true);
    writer.write_rows(picture.row(0), 24, picture.view().stride_bytes);
    writer.end();
    bytes = writer.bytes();
  }
  EXPECT_NO_THROW(read(bytes));
  const std::array<std::uint16_t, 2> entry{322, 3};  // the width of a tile, as 16 bits
  const auto raw = std::as_bytes(std::span(entry));
  const auto found = std::search(bytes.begin(), bytes.end(), raw.begin(), raw.end());
  ASSERT_NE(found, bytes.end());
  const std::array<std::uint32_t, 3> huge{322 | 4 << 16, 1, 1 << 26};
  std::copy_n(std::as_bytes(std::span(huge)).begin(), sizeof huge, found);
  write_file(path("huge.tiff"), bytes);
  EXPECT_FALSE(tool::TiffReader::open(path("huge.tiff")));
}

TEST_F(PicturesTest, NetpbmMayBeTextAndHaveComments) {
  EXPECT_TRUE(are_equal(
      read(bytes_of("P2 # gray\n2 1\n#of\n1000\n7 1000\n")),
      make_picture({2, 1}, 1, BitDepth::bits16, [](int x, int, int) { return x == 0 ? 7u : 1000u; })));
  EXPECT_TRUE(are_equal(read(bytes_of("P3 1 1 255 1 2 3")),
                        make_picture({1, 1}, 3, BitDepth::bits8,
                                     [](int, int, int c) { return static_cast<unsigned>(c + 1); })));
  EXPECT_TRUE(are_equal(
      read(bytes_of("P1 2 1 01")),
      make_picture({2, 1}, 1, BitDepth::bits8, [](int x, int, int) { return x == 0 ? 255u : 0u; })));
  EXPECT_TRUE(are_equal(
      read(bytes_of("P4\n9 1\n\x80\x80")),
      make_picture({9, 1}, 1, BitDepth::bits8, [](int x, int, int) { return x % 8 == 0 ? 0u : 255u; })));
  expect_damaged(bytes_of("P5 2 2 255 abc"), "cut short");
  expect_damaged(bytes_of("P5 2 2 0 abcd"), "maximum value of 0");
  expect_damaged(bytes_of("P5 2 2 70000 abcd"), "maximum value of 70000");
  expect_damaged(bytes_of("P2 2 1 255 7"), "a number is missing");
  expect_damaged(bytes_of("P5 -2 1 255 ab"), "a number is missing");
  expect_damaged(bytes_of("P1 2 1 02"), "neither 0 nor 1");
  expect_damaged(bytes_of("P5 0 1 255 "), "no pixels");
  expect_damaged(bytes_of("P5 99999999999999 99999999999999 255 a"), "give a TIFF");
  expect_damaged(bytes_of("P5 4294967298 2 255 abcd"), "give a TIFF");  // 2 in 32 bits
}

TEST_F(PicturesTest, DamageIsFoundInEveryKindOfFile) {
  const Picture picture = noise({64, 48}, 3, BitDepth::bits8);
  for (const char* name : {"a.png", "a.jpg", "a.ppm", "a.webp", "a.tiff"}) {
    save(path(name), picture);
    const std::vector<std::byte> whole = read_file(path(name));
    for (const std::size_t kept : {whole.size() / 2, whole.size() - 20, std::size_t{30}}) {
      write_file(path(name), {whole.data(), kept});
      EXPECT_THROW(tool::read_picture(path(name)), Error) << name << " " << kept;
    }
  }
  std::vector<std::byte> png = tool::encode_png(picture.view());
  png[png.size() / 2] ^= std::byte{1};
  expect_damaged(png, "damaged");
  std::vector<std::byte> jpeg = encode_jpeg(picture);
  jpeg[jpeg.size() / 2] = std::byte{0xFF};  // an end marker, too early
  jpeg[jpeg.size() / 2 + 1] = std::byte{0xD9};
  expect_damaged(jpeg, "damaged");
}

// Phones append videos to pictures.
TEST_F(PicturesTest, WhatFollowsAPictureDoesNotMatter) {
  const Picture picture = noise({64, 48}, 3, BitDepth::bits8);
  for (const char* name : {"a.png", "a.jpg", "a.ppm"}) {
    save(path(name), picture);
    const Picture alone = tool::read_picture(path(name));
    write(path(name), contents(path(name)) + "\xFF\xDA and more");
    EXPECT_TRUE(are_equal(tool::read_picture(path(name)), alone)) << name;
  }
}

TEST_F(PicturesTest, DisparitiesHaveColours) {
  Plane<float> disparity({4, 1}, std::numeric_limits<float>::infinity());
  for (int x = 0; x < 3; ++x) disparity.at(x, 0) = static_cast<float>(10 * x - 5);
  const Picture picture = tool::colour(disparity.view(), -5, 15);
  const auto colour_at = [&](int x) {
    return value_at(picture, x, 0, 0) << 16 | value_at(picture, x, 0, 1) << 8 | value_at(picture, x, 0, 2);
  };
  EXPECT_EQ(colour_at(0), 0x30123Bu);  // the ends of the scale, and its middle
  EXPECT_EQ(colour_at(1), 0xA4FC3Cu);
  EXPECT_EQ(colour_at(2), 0x7A0403u);
  EXPECT_EQ(colour_at(3), 0u);
  const Picture of_one_value = tool::colour(Plane<float>({1, 1}, 3.0f).view(), 3, 3);
  EXPECT_EQ(value_at(of_one_value, 0, 0, 0), 0x30u);
}

}  // namespace
}  // namespace parallax::test
